//! Redirect URIs: what may be registered, and what matches. A match is byte by byte; nothing is normalised.

use url::{Host, Url};

use super::client_choice::ClientKind;

/// Why an address cannot be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRedirectUri {
    /// It is not an absolute web address in its normal form.
    #[error("not an absolute http or https address in its normal form")]
    NotAnAddress,
    /// It has a fragment.
    #[error("must not have a fragment")]
    Fragment,
    /// It has a user name or a password.
    #[error("must not contain a user name or a password")]
    UserInfo,
    /// It is too long.
    #[error("longer than 2048 characters")]
    TooLong,
    /// Plain HTTP is permitted on the loopback address only.
    #[error("must begin with https://, except on 127.0.0.1, [::1] and localhost")]
    PlainHttp,
    /// A program cannot be told of a logout there.
    #[error("must not be a link-local, unspecified, multicast or cloud metadata address")]
    NoProgram,
    /// An origin has a path.
    #[error("must be an origin: scheme, host and port alone, without a slash at its end")]
    NotAnOrigin,
}

/// The longest address.
const MAX_ADDRESS_BYTES: usize = 2048;

/// Checks an address that is to be registered.
pub(super) fn check_web_address(address: &str, production: bool) -> Result<(), InvalidRedirectUri> {
    if address.len() > MAX_ADDRESS_BYTES {
        return Err(InvalidRedirectUri::TooLong);
    }
    let plain = |c: char| c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c);
    if !address.chars().all(plain) {
        return Err(InvalidRedirectUri::NotAnAddress);
    }
    let url = Url::parse(address).map_err(|_| InvalidRedirectUri::NotAnAddress)?;
    if url.fragment().is_some() {
        return Err(InvalidRedirectUri::Fragment);
    }
    if !url.username().is_empty() || url.password().is_some() || address.contains('@') && url.path().is_empty() {
        return Err(InvalidRedirectUri::UserInfo);
    }
    match url.scheme() {
        // An origin without a path has no slash at its end.
        "https" | "http" if url.as_str() != address && url.as_str() != format!("{address}/") => {
            Err(InvalidRedirectUri::NotAnAddress)
        }
        "https" => Ok(()),
        "http" if !production || is_loopback(&url) => Ok(()),
        "http" => Err(InvalidRedirectUri::PlainHttp),
        _ => Err(InvalidRedirectUri::NotAnAddress),
    }
}

/// Checks an origin that is to be registered. It is compared with what browsers send, byte by byte.
pub(super) fn check_origin(address: &str, production: bool) -> Result<(), InvalidRedirectUri> {
    check_web_address(address, production)?;
    let origin = Url::parse(address).map(|url| url.origin().ascii_serialization());
    if origin.is_ok_and(|origin| origin == address) { Ok(()) } else { Err(InvalidRedirectUri::NotAnOrigin) }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// Whether an address is on the computer of the user who follows it.
#[must_use]
pub fn is_on_loopback(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| is_loopback(&url))
}

/// Whether an address is one of the registered ones. Of a native client, addresses on loopback match with any port (RFC 8252 §7.3).
#[must_use]
pub fn is_registered(registered: &[String], kind: ClientKind, address: &str) -> bool {
    registered.iter().any(|known| {
        known == address
            || (kind == ClientKind::Native
                && split_loopback_port(known).is_some_and(|known| split_loopback_port(address) == Some(known)))
    })
}

/// The parts of a loopback address before and after its port.
fn split_loopback_port(address: &str) -> Option<(&'static str, &str)> {
    let (host, rest) = ["http://127.0.0.1", "http://[::1]", "http://localhost"]
        .into_iter()
        .find_map(|host| address.strip_prefix(host).map(|rest| (host, rest)))?;
    let (port, path) = rest.split_at(rest.find('/')?);
    let has_port = match port.strip_prefix(':') {
        Some(port) => is_port(port),
        None => port.is_empty(),
    };
    has_port.then_some((host, path))
}

/// Whether a text is a port as browsers write it: the address is sent back as it came.
fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0') && text.parse::<u16>().is_ok()
}

/// The address with parameters added to its query. A registered query stays.
#[must_use]
pub fn with_parameters(address: &str, parameters: &[(&str, &str)]) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(parameters);
    let separator = match address.split_once('?') {
        None => "?",
        Some((_, "")) => "",
        Some(_) => "&",
    };
    format!("{address}{separator}{}", query.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_addresses_can_be_registered() {
        let check = |address: &str| check_web_address(address, true);
        for good in [
            "https://help.example.com/auth/callback",
            "https://help.example.com",
            "https://help.example.com/cb?tenant=1",
            "http://127.0.0.1:3000/cb",
            "http://[::1]/cb",
            "http://localhost:3000/cb",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            "javascript:alert(1)",
            "data:text/html,x",
            "https://help.example.com/cb#x",
            "https://user@help.example.com/cb",
            "https://help.example.com/a/../b",
            "https://HELP.example.com/",
            "https://help.example.com:443/",
            "//help.example.com/",
            "http://help.example.com/",
            "https://help.example.com/ x",
            "https:\\\\help.example.com/",
            "com.example.app:/cb",
            "",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_origin_is_as_browsers_send_it() {
        for good in ["https://app.example.com", "https://app.example.com:8443", "http://localhost:3000"] {
            assert_eq!(check_origin(good, true), Ok(()), "{good}");
        }
        for bad in ["https://app.example.com/", "https://app.example.com/app", "https://app.example.com/?x"] {
            assert_eq!(check_origin(bad, true), Err(InvalidRedirectUri::NotAnOrigin), "{bad}");
        }
        assert_eq!(check_origin("http://app.example.com", true), Err(InvalidRedirectUri::PlainHttp));
        assert_eq!(check_origin("https://app.example.com:443", true), Err(InvalidRedirectUri::NotAnAddress));
    }

    #[test]
    fn a_match_is_byte_by_byte_except_for_the_port_of_a_native_client() {
        let registered = ["https://a.example/cb".to_owned(), "http://127.0.0.1/cb".to_owned()];
        for kind in ClientKind::ALL {
            assert!(is_registered(&registered, kind, "https://a.example/cb"));
            for bad in
                ["https://a.example/cb/", "https://a.example/cb?x", "https://A.example/cb", "https://a.example/c%62"]
            {
                assert!(!is_registered(&registered, kind, bad), "{bad}");
            }
            let native = kind == ClientKind::Native;
            assert_eq!(is_registered(&registered, kind, "http://127.0.0.1:5000/cb"), native);
            for bad in [
                "http://127.0.0.1:5000/other",
                "http://127.0.0.1:5000@evil.example/cb",
                "http://127.0.0.1:0/cb",
                "http://127.0.0.1:99999/cb",
                "http://127.0.0.1:/cb",
                "http://127.0.0.1:+500/cb",
                "http://127.0.0.1:0500/cb",
                "http://localhost:5000/cb",
                "http://127.0.0.1.evil.example/cb",
                "http://[::1]:5000/cb",
            ] {
                assert!(!is_registered(&registered, kind, bad), "{bad}");
            }
        }
    }

    #[test]
    fn localhost_is_a_loopback_address_like_the_others() {
        let registered = ["http://localhost/cb".to_owned()];
        assert!(is_registered(&registered, ClientKind::Native, "http://localhost:5000/cb"));
        assert!(!is_registered(&registered, ClientKind::Public, "http://localhost:5000/cb"));
        for bad in ["http://127.0.0.1:5000/cb", "http://localhost.evil.example/cb", "http://localhost:+5/cb"] {
            assert!(!is_registered(&registered, ClientKind::Native, bad), "{bad}");
        }
        assert!(is_on_loopback("http://localhost:5000/cb") && is_on_loopback("https://[::1]/cb"));
        assert!(!is_on_loopback("https://localhost.example/cb"));
    }

    #[test]
    fn a_registered_query_stays() {
        assert_eq!(with_parameters("https://a/cb", &[("code", "x y")]), "https://a/cb?code=x+y");
        assert_eq!(with_parameters("https://a/cb?t=1", &[("code", "x")]), "https://a/cb?t=1&code=x");
    }
}
