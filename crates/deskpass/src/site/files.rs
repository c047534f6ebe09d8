//! The embedded files.

use std::sync::LazyLock;

use deskpass_store::AuditEvent;
use include_dir::{Dir, include_dir};
use serde_json::{Value, json};

macro_rules! pages {
    ($($path:literal => $name:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../web/", $name)))),*]
    };
}

/// The path of each page, and its template in both languages.
pub(super) const PAGES: &[(&str, &str)] = pages! {
    "/" => "index.html",
    "/h5/" => "index.html",
    "/itagent/" => "index.html",
    "/itadmin/" => "index.html",
    "/scan/" => "scan.html",
    "/continue/" => "continue.html",
    "/approve/" => "approve.html",
    "/verify/" => "verify.html",
    "/open/" => "open.html",
    "/api/docs" => "docs.html",
    "/not-found/" => "not-found.html",
    "/oidc-error/unknown_client" => "oidc-error.html",
    "/oidc-error/bad_redirect_uri" => "oidc-error.html",
    "/oidc-error/invalid_request" => "oidc-error.html",
    "/oidc-error/request_gone" => "oidc-error.html",
    "/oidc-error/invalid_logout" => "oidc-error.html",
    "/oidc-error/try_later" => "oidc-error.html",
};

/// The page for addresses that do not exist. No route leads to it by this name.
pub(crate) const NOT_FOUND_PAGE: &str = "/not-found/";

/// What the pages for requests of OpenID Connect clients that lead nowhere have before their reason.
pub(super) const OIDC_ERROR_PAGES: &str = "/oidc-error/";

/// The page for a request of an OpenID Connect client that leads nowhere else. No route leads to it by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OidcErrorPage {
    /// The client is not registered, or disabled.
    UnknownClient,
    /// The redirect URI is not registered.
    BadRedirectUri,
    /// The request cannot be read.
    InvalidRequest,
    /// The request is over, or belongs to another browser.
    RequestGone,
    /// The logout cannot be carried out.
    InvalidLogout,
    /// The service cannot answer now.
    TryLater,
}

impl OidcErrorPage {
    /// The path of the page, whose last part is the reason.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::UnknownClient => "/oidc-error/unknown_client",
            Self::BadRedirectUri => "/oidc-error/bad_redirect_uri",
            Self::InvalidRequest => "/oidc-error/invalid_request",
            Self::RequestGone => "/oidc-error/request_gone",
            Self::InvalidLogout => "/oidc-error/invalid_logout",
            Self::TryLater => "/oidc-error/try_later",
        }
    }

    /// The reason, for the service log.
    pub(crate) fn reason(self) -> &'static str {
        self.path().strip_prefix(OIDC_ERROR_PAGES).unwrap_or_default()
    }
}

static ASSETS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../web/assets");

/// The name and the content of each asset: the files of known types in `web/assets`, and the module of audit events.
pub(super) fn assets() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    let files = ASSETS.files().filter_map(|file| Some((file.path().to_str()?, file.contents())));
    let files = files.filter(|(name, _)| !name.starts_with('.') && kind(name) != OTHER_TYPE);
    files.chain([("audit-events.js", AUDIT_EVENTS.as_bytes())])
}

/// The module of the names and labels of all audit events, which are declared with the events.
static AUDIT_EVENTS: LazyLock<String> = LazyLock::new(|| {
    let labels = AuditEvent::ALL.iter().map(|event| (format!("event_{}", event.name()), json!(event.label())));
    let (names, labels) = (json!(AuditEvent::NAMES), Value::Object(labels.collect()));
    format!("import {{ learn }} from './words.js';\n\nexport const EVENTS = {names};\n\nlearn({labels});\n")
});

/// The media type of files that are no assets.
const OTHER_TYPE: &str = "application/octet-stream";

/// The media type of an asset, by its extension.
pub(super) fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.') {
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        Some((_, "png")) => "image/png",
        // Types for TypeScript, which browsers do not load.
        Some((_, "ts")) => "text/plain; charset=utf-8",
        _ => OTHER_TYPE,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_error_of_a_client_has_its_page() {
        for page in [
            OidcErrorPage::UnknownClient,
            OidcErrorPage::BadRedirectUri,
            OidcErrorPage::InvalidRequest,
            OidcErrorPage::RequestGone,
            OidcErrorPage::InvalidLogout,
        ] {
            assert!(page.path().starts_with(OIDC_ERROR_PAGES), "{page:?}");
            assert!(PAGES.iter().any(|(path, _)| *path == page.path()), "{page:?}");
        }
    }

    #[test]
    fn every_asset_is_carried_along_under_a_known_type() {
        let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/assets").read_dir().unwrap();
        let mut files: BTreeSet<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        files.insert("audit-events.js".to_owned());
        assert_eq!(assets().map(|(name, _)| name.to_owned()).collect::<BTreeSet<_>>(), files);
    }
}
