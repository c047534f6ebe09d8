//! The configuration of the simulated platform: the corporation, its app, and the app's trusted domains.

use std::fmt;

use url::Url;

use crate::kind::Kind;

/// The path to which a platform that compares whole addresses may redirect.
const CALLBACK_PATH: &str = "/api/auth/oauth2/callback";

/// A corporation with one app.
#[derive(Clone)]
pub struct SimulatorConfig {
    /// The platform.
    pub kind: Kind,
    /// The corporation: WeCom's corpid, DingTalk's corpId, Feishu's tenant key.
    pub corp_id: String,
    /// The app's identifier: DingTalk's client id, Feishu's app id; WeCom has none.
    pub client_id: String,
    /// The app's secret.
    pub secret: String,
    /// The app's agent id, on WeCom and DingTalk.
    pub agent_id: String,
    /// The domains to which the app may redirect.
    pub domains: Domains,
    /// The prefix of every path: empty, or for example `/sim`.
    pub base: String,
}

impl fmt::Debug for SimulatorConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, corp_id, client_id, agent_id, domains, base, .. } = self;
        f.debug_struct("SimulatorConfig")
            .field("kind", kind)
            .field("corp_id", corp_id)
            .field("client_id", client_id)
            .field("agent_id", agent_id)
            .field("domains", domains)
            .field("base", base)
            .finish_non_exhaustive()
    }
}

/// The trusted domains of the app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domains {
    /// This machine, at any port.
    Loopback,
    /// Exactly these hosts, each with its port if it has one.
    Listed(Vec<String>),
    /// Both.
    LoopbackAnd(Vec<String>),
}

impl Domains {
    /// The URL, if redirects to it are allowed. The platform compares host and port as they are written, so a spelling that two
    /// parsers could read differently is rejected.
    pub(crate) fn admit(&self, address: &str) -> Option<Url> {
        let authority = authority(address)?.to_ascii_lowercase();
        let url = Url::parse(address).ok()?;
        let (host, port) = (url.host_str()?, url.port_or_known_default()?);
        if authority != host && authority != format!("{host}:{port}") {
            return None;
        }
        let listed = |domains: &[String]| domains.iter().any(|domain| domain.eq_ignore_ascii_case(&authority));
        let trusted = match self {
            Self::Loopback => is_loopback(host),
            Self::Listed(domains) => listed(domains),
            Self::LoopbackAnd(domains) => is_loopback(host) || listed(domains),
        };
        trusted.then_some(url)
    }

    /// The URL, if it is registered in full: the service's callback at a trusted domain, without parameters.
    pub(crate) fn admit_exact(&self, address: &str) -> Option<Url> {
        let (_, host) = address.strip_suffix(CALLBACK_PATH)?.split_once("://")?;
        self.admit(address).filter(|_| !host.contains(['/', '?', '#']))
    }

    /// The domain that the platform shows for the app.
    pub(crate) fn first(&self) -> &str {
        match self {
            Self::Loopback => None,
            Self::Listed(domains) | Self::LoopbackAnd(domains) => domains.first(),
        }
        .map_or("localhost", String::as_str)
    }
}

/// Host and port as written, if all parsers read them alike.
fn authority(address: &str) -> Option<&str> {
    let plain = address.bytes().all(|byte| byte > b' ' && byte != b'\\' && byte != 0x7f);
    let (scheme, rest) = address.split_once("://").filter(|_| plain)?;
    let web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    rest.split(['/', '?', '#']).next().filter(|_| web)
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(domains: &Domains, address: &str) -> bool {
        domains.admit(address).is_some()
    }

    #[test]
    fn loopback_is_this_machine_at_any_port() {
        let good = ["http://localhost", "http://127.0.0.1:8080/a?b#c", "https://[::1]:1/", "HTTP://LocalHost:80/"];
        for address in good {
            assert!(admits(&Domains::Loopback, address), "{address}");
        }
    }

    #[test]
    fn hostile_spellings_are_no_trusted_domain() {
        let listed = Domains::LoopbackAnd(vec!["desk.example.com".to_owned()]);
        let bad = [
            "http://localhost@evil.example",
            "http://user:pass@localhost/",
            "http://@localhost/",
            "http://localhost\\@evil.example/",
            "http:\\\\localhost/",
            "http://localhost/a\\b",
            "http:/localhost/",
            "//localhost/",
            "http:///localhost/",
            "http://local\thost/",
            " http://localhost/",
            "http://localhost.evil.example/",
            "http://localhost./",
            "http://localhost:/",
            "http://localhost:080/",
            "http://localhost:99999/",
            "http://evil.example/localhost",
            "http://evil.example?localhost",
            "http://evil.example#@localhost",
            "http://desk.example.com.evil.example/",
            "http://evildesk.example.com/",
            "http://sub.desk.example.com/",
            "http://desk.example.com:8443/",
            "https://desk.example.com:443/",
            "http://127.1/",
            "http://0x7f000001/",
            "http://loc%61lhost/",
            "http://ⓛocalhost/",
            "javascript://localhost/%0aalert(1)",
            "ftp://localhost/",
            "data:text/html,x",
            "localhost",
            "",
        ];
        for address in bad {
            assert!(!admits(&listed, address), "{address}");
        }
    }

    #[test]
    fn an_address_registered_in_full_has_nothing_more() {
        let exact = |address: &str| Domains::Loopback.admit_exact(address).is_some();
        assert!(exact("http://localhost:8080/api/auth/oauth2/callback"));
        for address in [
            "http://localhost:8080/api/auth/oauth2/callback?",
            "http://localhost:8080/api/auth/oauth2/callback?sid=1",
            "http://localhost:8080/api/auth/oauth2/callback#a",
            "http://localhost:8080/api/auth/oauth2/callback/",
            "http://localhost:8080/x/../api/auth/oauth2/callback",
            "http://localhost:8080?/api/auth/oauth2/callback",
            "http://localhost:8080/x/api/auth/oauth2/callback",
            "http://localhost:8080/",
            "http://evil.example/api/auth/oauth2/callback",
        ] {
            assert!(!exact(address), "{address}");
        }
    }

    #[test]
    fn a_listed_domain_is_host_and_port_exactly() {
        let listed = Domains::Listed(vec!["Desk.example.com".to_owned(), "desk.example.com:8443".to_owned()]);
        for address in ["http://desk.example.com/", "https://DESK.example.com/x", "https://desk.example.com:8443/"] {
            assert!(admits(&listed, address), "{address}");
        }
        for address in ["http://desk.example.com:8080/", "http://localhost/", "https://desk.example.com:443/"] {
            assert!(!admits(&listed, address), "{address}");
        }
    }
}
