//! The embedded files. The build compresses them: the program is smaller, and most are served as they are embedded.

use std::sync::LazyLock;

use bytes::Bytes;
use deskpass_store::AuditEvent;
use serde_json::{Value, json};

use crate::static_file::{StaticFile, decompress};

/// The name of each file in `web/`, and its compressed content.
static EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/web.rs"));

/// The path of each page, and the file with its template in both languages.
pub(super) const PAGES: &[(&str, &str)] = &[
    ("/", "index.html"),
    ("/h5/", "index.html"),
    ("/itagent/", "index.html"),
    ("/itadmin/", "index.html"),
    ("/scan/", "scan.html"),
    ("/continue/", "continue.html"),
    ("/approve/", "approve.html"),
    ("/verify/", "verify.html"),
    ("/open/", "open.html"),
    ("/api/docs", "docs.html"),
    ("/not-found/", "not-found.html"),
    ("/oidc-error/unknown_client", "oidc-error.html"),
    ("/oidc-error/bad_redirect_uri", "oidc-error.html"),
    ("/oidc-error/invalid_request", "oidc-error.html"),
    ("/oidc-error/request_gone", "oidc-error.html"),
    ("/oidc-error/invalid_logout", "oidc-error.html"),
    ("/oidc-error/try_later", "oidc-error.html"),
];

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

/// An asset before it is prepared.
pub(super) struct Asset {
    pub(super) name: &'static str,
    pub(super) plain: Bytes,
    /// The compressed content, where it is known already.
    gzip: Option<&'static [u8]>,
}

impl Asset {
    pub(super) fn new(name: &'static str, plain: Bytes) -> Self {
        Self { name, plain, gzip: None }
    }

    pub(super) fn prepare(self) -> (&'static str, StaticFile) {
        let Self { name, plain, gzip } = self;
        let file = match gzip {
            Some(gzip) => StaticFile::compressed(kind(name), plain, gzip.into()),
            None => StaticFile::new(kind(name), plain),
        };
        (name, file)
    }
}

/// The assets: the files of known types in `web/assets`, and the module of audit events.
pub(super) fn assets() -> impl Iterator<Item = Asset> {
    let files = EMBEDDED.iter().filter_map(|(path, gzip)| Some((path.strip_prefix("assets/")?, *gzip)));
    let files = files.filter(|(name, _)| kind(name) != OTHER_TYPE);
    let files = files.map(|(name, gzip)| Asset { name, plain: decompress(gzip).into(), gzip: Some(gzip) });
    files.chain([Asset::new("audit-events.js", Bytes::from_static(AUDIT_EVENTS.as_bytes()))])
}

/// The template of a page.
pub(super) fn page_template(file: &str) -> String {
    let found = EMBEDDED.iter().find(|(name, _)| *name == file);
    found.and_then(|(_, gzip)| String::from_utf8(decompress(gzip)).ok()).unwrap_or_default()
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
fn kind(name: &str) -> &'static str {
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
        assert_eq!(assets().map(|asset| asset.name.to_owned()).collect::<BTreeSet<_>>(), files);
    }

    #[test]
    fn every_file_is_embedded_as_it_is() {
        let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
        for (name, gzip) in EMBEDDED {
            assert!(decompress(gzip) == std::fs::read(web.join(name)).unwrap(), "{name}");
        }
        for (path, file) in PAGES {
            assert!(!page_template(file).is_empty(), "{path}: {file}");
        }
    }
}
