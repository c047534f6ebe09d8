//! The rules for a request's head beyond those of the HTTP library: what proxies and servers read in different ways is refused, never
//! repaired.

use deskpass_core::Host;
use hyper::header::HOST;
use hyper::http::uri::{Authority, Scheme};
use hyper::{Method, Request, StatusCode, Uri, Version};

/// The most bytes of a request's target.
const MAX_TARGET_BYTES: usize = 8 * 1024;

/// What is wrong with the head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MalformedHead {
    /// The target is not a path, nor an address of this service.
    Target,
    /// The target is too long.
    TargetTooLong,
    /// There is no host.
    HostMissing,
    /// There are several hosts.
    HostRepeated,
    /// The host is not valid.
    HostInvalid,
    /// An absolute target and the header name different hosts.
    HostMismatch,
}

impl MalformedHead {
    /// The status of the response.
    pub(crate) fn status(self) -> StatusCode {
        if self == Self::TargetTooLong { StatusCode::URI_TOO_LONG } else { StatusCode::BAD_REQUEST }
    }

    /// What is wrong, in English and Chinese.
    pub(crate) fn message(self) -> [&'static str; 2] {
        match self {
            Self::Target => ["the request target is not a valid path", "请求目标不是有效路径"],
            Self::TargetTooLong => ["the request target is too long", "请求目标过长"],
            Self::HostMissing => ["send a Host header", "缺少 Host 头"],
            Self::HostRepeated => ["send one Host header", "只能发送一个 Host 头"],
            Self::HostInvalid => {
                ["the Host header is not a host with an optional port", "Host 头不是主机名或主机名加端口"]
            }
            Self::HostMismatch => {
                ["the Host header and the request target name different hosts", "Host 头与请求目标的主机不一致"]
            }
        }
    }
}

/// Checks the head of a request.
pub(crate) fn check<B>(request: &Request<B>) -> Result<(), MalformedHead> {
    let uri = request.uri();
    check_target(request.method(), uri)?;
    let authority = uri.authority().map(Authority::as_str);
    let mut hosts = request.headers().get_all(HOST).iter();
    let Some(host) = hosts.next() else {
        // Health checks of load balancers use HTTP/1.0 without a host.
        let is_needed = request.version() != Version::HTTP_10 || authority.is_some();
        return if is_needed { Err(MalformedHead::HostMissing) } else { Ok(()) };
    };
    if hosts.next().is_some() {
        return Err(MalformedHead::HostRepeated);
    }
    let host = str::from_utf8(host.as_bytes()).ok().filter(|host| Host::is_valid(host));
    let host = host.ok_or(MalformedHead::HostInvalid)?;
    let is_other = authority.is_some_and(|authority| !authority.eq_ignore_ascii_case(host));
    if is_other { Err(MalformedHead::HostMismatch) } else { Ok(()) }
}

fn check_target(method: &Method, uri: &Uri) -> Result<(), MalformedHead> {
    let authority = uri.authority().map_or(0, |authority| authority.as_str().len());
    let path_and_query = uri.path_and_query().map_or(0, |target| target.as_str().len());
    if authority + path_and_query > MAX_TARGET_BYTES {
        return Err(MalformedHead::TargetTooLong);
    }
    let is_usual = match uri.scheme() {
        Some(scheme) => *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS,
        // An authority alone is the target of a tunnel.
        None if authority > 0 => false,
        None => uri.path().starts_with('/') || (uri.path() == "*" && *method == Method::OPTIONS),
    };
    // The service tunnels nothing.
    if is_usual && *method != Method::CONNECT { Ok(()) } else { Err(MalformedHead::Target) }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn checked(method: &str, target: &str, hosts: &[&str]) -> Result<(), MalformedHead> {
        let mut request = Request::builder().method(method).uri(target);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        check(&request.body(()).unwrap())
    }

    #[test]
    fn one_host_is_named() {
        for (hosts, expected) in [
            (&["desk:80"][..], Ok(())),
            (&["[::1]:8080"], Ok(())),
            (&[], Err(MalformedHead::HostMissing)),
            (&["desk", "desk"], Err(MalformedHead::HostRepeated)),
            (&[""], Err(MalformedHead::HostInvalid)),
            (&["a b"], Err(MalformedHead::HostInvalid)),
            (&["x@desk"], Err(MalformedHead::HostInvalid)),
            (&["desk, other"], Err(MalformedHead::HostInvalid)),
        ] {
            assert_eq!(checked("GET", "/a?b=c", hosts), expected, "{hosts:?}");
        }
        let mut old = Request::new(());
        *old.version_mut() = Version::HTTP_10;
        assert_eq!(check(&old), Ok(()));
        *old.uri_mut() = Uri::from_static("http://desk/");
        assert_eq!(check(&old), Err(MalformedHead::HostMissing));
    }

    #[test]
    fn a_target_is_a_path_or_an_address_of_the_host() {
        for (method, target, expected) in [
            ("GET", "http://DESK/a", Ok(())),
            ("GET", "https://desk", Ok(())),
            ("OPTIONS", "*", Ok(())),
            ("GET", "*", Err(MalformedHead::Target)),
            ("GET", "desk", Err(MalformedHead::Target)),
            ("CONNECT", "desk", Err(MalformedHead::Target)),
            ("CONNECT", "/a", Err(MalformedHead::Target)),
            ("GET", "ftp://desk/a", Err(MalformedHead::Target)),
            ("GET", "http://other/a", Err(MalformedHead::HostMismatch)),
            ("GET", "http://x@desk/a", Err(MalformedHead::HostMismatch)),
        ] {
            assert_eq!(checked(method, target, &["desk"]), expected, "{method} {target}");
        }
        let long = format!("/{}", "x".repeat(MAX_TARGET_BYTES));
        assert_eq!(checked("GET", &long, &["desk"]), Err(MalformedHead::TargetTooLong));
        assert_eq!(checked("GET", long.strip_suffix('x').unwrap(), &["desk"]), Ok(()));
    }
}
