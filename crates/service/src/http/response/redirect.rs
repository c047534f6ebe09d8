//! The destinations to which users may be redirected after signing in.

use deskpass_core::{AuthorizationRequestId, LoginSource, Secret};
use url::Url;

use crate::App;

/// The path of the callback. As a destination it means that the role decides.
pub(crate) const CALLBACK_PATH: &str = "/api/auth/oauth2/callback";

/// The path at which a scanned QR code begins, where the platform compares whole addresses.
pub(crate) const SCAN_PATH: &str = "/api/auth/qrcode/open";

/// The `state` that the platform returns. It is the same for everyone: a cookie binds a callback to its browser.
pub(crate) const OAUTH_STATE: &str = "auth_login";

/// The pages of the three clients.
const CLIENT_PAGES: [&str; 3] = ["/h5/", "/itagent/", "/itadmin/"];

/// The operator's own pages.
const OWN_PAGES: &str = "/app/";

/// The longest destination.
const MAX_ADDRESS_BYTES: usize = 2048;

/// The address of the callback, as it is registered at a platform that compares whole addresses.
pub(crate) fn callback_url(app: &App) -> String {
    format!("{}{CALLBACK_PATH}", app.settings.public_url)
}

/// Whether an address is an allowed destination. In production the rule is so narrow that no two programs can parse an accepted
/// address differently: it must be spelled as a browser normalizes it, in plain characters.
pub(crate) fn is_allowed(app: &App, address: &str) -> bool {
    if address.len() > MAX_ADDRESS_BYTES || address.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return false;
    }
    let Ok(url) = Url::parse(address) else { return false };
    if app.settings.development.enabled {
        return matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none();
    }
    let origin = url.origin().ascii_serialization();
    let own = origin == *app.settings.public_url;
    url.as_str() == address
        && (own || app.settings.redirect_origins.iter().any(|listed| **listed == origin))
        && url.fragment().is_none()
        && match address.strip_prefix(&origin) {
            Some(CALLBACK_PATH) => own,
            Some(rest) if is_authorization_page(rest) => own,
            Some(rest) => is_page(rest, own && app.settings.pages.directory.is_some()),
            None => false,
        }
}

/// Whether this is the path of a client's page, or of the operator's own where there are any, with an optional query that cannot
/// hide another address.
fn is_page(rest: &str, has_own_pages: bool) -> bool {
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let plain = |text: &str, extra: &[u8]| text.bytes().all(|c| c.is_ascii_alphanumeric() || extra.contains(&c));
    (CLIENT_PAGES.iter().any(|page| path.starts_with(page)) || (has_own_pages && path.starts_with(OWN_PAGES)))
        && plain(path, b"/_.-~")
        && !path.contains("//")
        && !path.contains("..")
        && plain(query, b"=&_.-~")
        // The page forwards these parameters, and must not take those of a link for the platform's.
        && !query.split('&').any(|pair| ["code", "state", "sid", "ticket"].contains(&pair.split('=').next().unwrap_or_default()))
}

/// Whether this is the page that signs a user in for an authorization request of an OpenID Connect client. Its query names the
/// request and nothing else.
fn is_authorization_page(rest: &str) -> bool {
    let request = rest.strip_prefix("/?request=");
    request.is_some_and(|request| Secret::<AuthorizationRequestId>::parse(request).is_ok())
}

/// The destination of a flow, and its client. For the callback itself, under any of our host names, the role decides.
pub(crate) fn destination(address: String) -> (Option<String>, Option<LoginSource>) {
    let Ok(url) = Url::parse(&address) else { return (Some(address), None) };
    if url.path() == CALLBACK_PATH {
        return (None, None);
    }
    if url.as_str().strip_prefix(&url.origin().ascii_serialization()).is_some_and(is_authorization_page) {
        return (Some(address), Some(LoginSource::Oidc));
    }
    let source = url.path_segments().and_then(|mut segments| LoginSource::from_name(segments.next()?));
    // A path of this name is no page.
    (Some(address), source.filter(|source| *source != LoginSource::Oidc))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_its_clients() {
        let to = |address: &str| destination(address.to_owned());
        for (name, source) in
            [("h5", LoginSource::H5), ("itagent", LoginSource::ItAgent), ("itadmin", LoginSource::ItAdmin)]
        {
            for rest in ["", "/", "/a/b?c=d", "?c=d", "#e"] {
                let address = format!("https://desk.example/{name}{rest}");
                assert_eq!(to(&address), (Some(address.clone()), Some(source)), "{address}");
            }
        }
        for address in ["https://desk.example", "https://desk.example/x/h5/", "https://h5/"] {
            assert_eq!(to(address), (Some(address.to_owned()), None), "{address}");
        }
        assert_eq!(to("https://desk.example/api/auth/oauth2/callback"), (None, None));
    }

    #[test]
    fn the_page_of_an_authorization_request_names_it_and_nothing_else() {
        let request = Secret::<AuthorizationRequestId>::generate(&deskpass_core::Entropy::system());
        let request = request.map(|request| request.expose().to_owned()).unwrap_or_default();
        let address = format!("https://desk.example/?request={request}");
        assert_eq!(destination(address.clone()), (Some(address), Some(LoginSource::Oidc)));
        assert!(is_authorization_page(&format!("/?request={request}")));
        for other in [
            format!("/?request={request}&a=b"),
            format!("/?a=b&request={request}"),
            format!("/h5/?request={request}"),
            format!("//?request={request}"),
            format!("/?request={request}#x"),
            format!("/?request={request}x"),
            "/?request=".to_owned(),
            "/?request=dpq_x".to_owned(),
            "/".to_owned(),
        ] {
            assert!(!is_authorization_page(&other), "{other}");
            let address = format!("https://desk.example{other}");
            assert_ne!(destination(address).1, Some(LoginSource::Oidc), "{other}");
        }
        assert_eq!(destination("https://desk.example/oidc/".to_owned()).1, None);
    }
}
