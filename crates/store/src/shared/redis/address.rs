//! The address of Redis: a single server, a master behind Sentinels, or a cluster.

use std::fmt;
use std::net::IpAddr;

use redis::{Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _, RedisResult, TlsCertificates};

/// An invalid address. The error does not repeat the address, which may contain a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid address of Redis: {0}")]
pub(super) struct BadAddress(&'static str);

pub(super) struct RedisAddress {
    pub(super) topology: Topology,
    /// The hosts for log messages, without credentials.
    shown: String,
    /// The CA certificates to trust, in PEM. Without them, the system's certificates are trusted.
    roots: Option<Vec<u8>>,
}

pub(super) enum Topology {
    Single(ConnectionInfo),
    Sentinel {
        /// Each Sentinel without and with credentials. Most need no password; the others get the master's.
        sentinels: Vec<[ConnectionInfo; 2]>,
        /// The master's name among the Sentinels.
        name: String,
        /// The connection settings for the master, wherever it runs.
        master: ConnectionInfo,
    },
    Cluster(Vec<ConnectionInfo>),
}

impl RedisAddress {
    /// Parses `redis://`, `redis-sentinel://`, `redis-cluster://` and their encrypted variants `rediss…://`.
    pub(super) fn parse(url: &str, roots: Option<Vec<u8>>) -> Result<Self, BadAddress> {
        let (scheme, rest) = url.split_once("://").ok_or(BadAddress("it has no scheme"))?;
        if rest.contains(['?', '#']) {
            return Err(BadAddress("it must not have a query or a fragment"));
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = authority.rsplit_once('@').map_or(("", authority), |(user, hosts)| (user, hosts));
        let plain = if scheme.starts_with("rediss") { "rediss" } else { "redis" };
        let server = |user: &str, host: &str, path: &str| {
            let at = if user.is_empty() { "" } else { "@" };
            let info = format!("{plain}://{user}{at}{host}/{path}").into_connection_info();
            info.map_err(|_| BadAddress("expected redis://[user:password@]host[:port][/database]"))
        };
        let each = |path| hosts.split(',').map(|host| server(user, host, path)).collect::<Result<Vec<_>, _>>();
        let topology = match scheme {
            "redis" | "rediss" => Topology::Single(server(user, hosts, path)?),
            "redis-cluster" | "rediss-cluster" => Topology::Cluster(each(path)?),
            "redis-sentinel" | "rediss-sentinel" => {
                let (name, database) = path.split_once('/').unwrap_or((path, ""));
                let host = hosts.split(',').next().unwrap_or_default();
                if name.is_empty() {
                    return Err(BadAddress("the master's name is missing: redis-sentinel://host:port,host:port/NAME"));
                }
                let ported = |host: &str| if has_port(host) { host.to_owned() } else { format!("{host}:26379") };
                let sentinels = hosts.split(',').map(ported);
                let sentinels = sentinels.map(|host| Ok([server("", &host, "")?, server(user, &host, "")?]));
                let master = server(user, host, database)?;
                Topology::Sentinel { sentinels: sentinels.collect::<Result<_, _>>()?, name: name.to_owned(), master }
            }
            _ => return Err(BadAddress("it must begin with redis://, redis-sentinel://, redis-cluster:// or rediss…")),
        };
        Ok(Self { topology, shown: hosts.to_owned(), roots })
    }

    /// Returns whether the traffic leaves this machine unencrypted, judging by the address.
    pub(super) fn is_plaintext_remote(&self) -> bool {
        let plaintext = |info: &ConnectionInfo| match info.addr() {
            ConnectionAddr::Tcp(host, _) => !is_loopback(host),
            _ => false,
        };
        match &self.topology {
            Topology::Single(server) => plaintext(server),
            Topology::Sentinel { sentinels, .. } => sentinels.iter().flatten().any(plaintext),
            Topology::Cluster(servers) => servers.iter().any(plaintext),
        }
    }

    pub(super) fn client(&self, info: ConnectionInfo) -> RedisResult<Client> {
        match (info.addr(), self.certificates()) {
            (ConnectionAddr::TcpTls { .. }, Some(certificates)) => Client::build_with_tls(info, certificates),
            _ => Client::open(info),
        }
    }

    pub(super) fn certificates(&self) -> Option<TlsCertificates> {
        self.roots.clone().map(|roots| TlsCertificates { client_tls: None, root_cert: Some(roots) })
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    address.map_or(host.eq_ignore_ascii_case("localhost"), |address| address.to_canonical().is_loopback())
}

fn has_port(host: &str) -> bool {
    host.rsplit_once(']').map_or(host, |(_, rest)| rest).contains(':')
}

/// Returns the same connection settings for another server.
pub(super) fn with_address(info: &ConnectionInfo, host: String, port: u16) -> ConnectionInfo {
    let addr = match info.addr() {
        ConnectionAddr::TcpTls { .. } => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
        _ => ConnectionAddr::Tcp(host, port),
    };
    info.clone().set_addr(addr)
}

impl fmt::Display for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisAddress({self})")
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn parts(info: &ConnectionInfo) -> (String, Option<&str>, Option<&str>, i64) {
        let settings = info.redis_settings();
        (info.addr().to_string(), settings.username(), settings.password(), settings.db())
    }

    #[test]
    fn every_kind_of_address_parses() {
        let parse = |url: &str| RedisAddress::parse(url, None).unwrap().topology;
        let Topology::Single(one) = parse("redis://me:p%40ss@host:7000/3") else { unreachable!("it is one server") };
        assert_eq!(parts(&one), ("host:7000".into(), Some("me"), Some("p@ss"), 3));
        let Topology::Single(one) = parse("rediss://[::1]") else { unreachable!("it is one server") };
        assert!(matches!(one.addr(), ConnectionAddr::TcpTls { port: 6379, insecure: false, .. }));
        let Topology::Sentinel { sentinels, name, master } = parse("redis-sentinel://:secret@a:1,b/main/2") else {
            unreachable!("Sentinels are asked")
        };
        let (plain, known): (Vec<_>, Vec<_>) = sentinels.iter().map(|[a, b]| (parts(a), parts(b))).unzip();
        assert_eq!(plain, [("a:1".into(), None, None, 0), ("b:26379".into(), None, None, 0)]);
        assert_eq!(known, [("a:1".into(), None, Some("secret"), 0), ("b:26379".into(), None, Some("secret"), 0)]);
        assert_eq!(
            (name.as_str(), parts(&with_address(&master, "c".into(), 9))),
            ("main", ("c:9".into(), None, Some("secret"), 2))
        );
        let Topology::Cluster(nodes) = parse("rediss-cluster://u:p@a:1,b:2") else { unreachable!("it is a cluster") };
        assert!(nodes.iter().all(|node| matches!(node.addr(), ConnectionAddr::TcpTls { .. })));
        assert_eq!(nodes.len(), 2);
    }

    #[test]
    fn unencrypted_remote_addresses_are_reported() {
        for (url, plaintext) in [
            ("redis://127.0.0.1", false),
            ("redis://:secret@127.1.2.3:7000/1", false),
            ("redis://[::1]:6379", false),
            ("redis://LocalHost", false),
            ("redis-cluster://localhost:1,127.0.0.1:2", false),
            ("rediss://redis.example.com", false),
            ("rediss-sentinel://a,b/main", false),
            ("redis://redis.example.com", true),
            ("redis://10.0.0.1", true),
            ("redis://[2001:db8::1]", true),
            ("redis-cluster://localhost:1,b:2", true),
            ("redis-sentinel://localhost,b/main", true),
        ] {
            assert_eq!(RedisAddress::parse(url, None).unwrap().is_plaintext_remote(), plaintext, "{url}");
        }
    }

    #[test]
    fn an_invalid_address_is_not_repeated_in_the_error() {
        for url in [
            "",
            "host:6379",
            "http://me:hunter2@host",
            "redis://me:hunter2@host:port",
            "redis://me:hunter2@host/x",
            "rediss://me:hunter2@host#insecure",
            "redis-sentinel://me:hunter2@host:1",
            "redis-cluster://me:hunter2@host:1,:x",
        ] {
            let error = RedisAddress::parse(url, None).unwrap_err().to_string();
            assert!(!error.contains("hunter2") && !error.contains("me:"), "{error}");
        }
        let address = RedisAddress::parse("redis://me:hunter2@host", None).unwrap();
        assert_eq!((address.to_string(), format!("{address:?}")), ("host".into(), "RedisAddress(host)".into()));
    }
}
