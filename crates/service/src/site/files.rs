//! The embedded files. The build compresses them: the program is smaller, and most are served as
//! they are embedded.
//!
//! In `web/` the files stand in folders. A browser finds each by its name alone: the page of one
//! version then also finds the files that another version keeps elsewhere. The build writes imports
//! of scripts accordingly.

use std::sync::LazyLock;

use bytes::Bytes;
use deskpass_store::AuditEvent;
use serde_json::{Value, json};

use crate::static_file::{StaticFile, decompress};

/// The name of each file in `web/`, and its compressed content.
static EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/web.rs"));

/// The path of each page, and the file with its template in both languages.
pub(super) const PAGES: &[(&str, &str)] = &[
    ("/", "sign-in.html"),
    ("/h5/", "sign-in.html"),
    ("/itagent/", "sign-in.html"),
    ("/itadmin/", "sign-in.html"),
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

/// The assets: the files of known types in `web/`, and the module of audit events.
pub(super) fn assets() -> impl Iterator<Item = Asset> {
    let files = EMBEDDED.iter().filter(|(name, _)| kind(name) != OTHER_TYPE);
    let files = files.map(|&(name, gzip)| Asset { name, plain: decompress(gzip).into(), gzip: Some(gzip) });
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
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::{Path, PathBuf};

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

    /// The files in a folder and below it, by their names.
    fn files(folder: &Path) -> BTreeMap<String, PathBuf> {
        let mut found = BTreeMap::new();
        for path in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                found.extend(files(&path));
            } else {
                found.insert(path.file_name().unwrap().to_str().unwrap().to_owned(), path);
            }
        }
        found
    }

    fn web() -> BTreeMap<String, PathBuf> {
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web"))
    }

    #[test]
    fn every_file_is_a_page_or_an_asset_of_a_known_type() {
        let pages = PAGES.iter().map(|(_, file)| (*file).to_owned());
        let made_here = assets().map(|asset| asset.name.to_owned()).filter(|name| name != "audit-events.js");
        assert_eq!(made_here.chain(pages).collect::<BTreeSet<_>>(), web().into_keys().collect());
    }

    #[test]
    fn every_file_is_embedded_as_it_is_but_for_the_paths_of_imports() {
        let web = web();
        for (name, gzip) in EMBEDDED {
            let embedded = String::from_utf8(decompress(gzip)).unwrap();
            let file = std::fs::read_to_string(web.get(*name).unwrap()).unwrap();
            assert!(!kind(name).starts_with("text/javascript") || !embedded.contains("'../"), "{name}");
            assert_eq!(embedded.lines().count(), file.lines().count(), "{name}");
            for (served, written) in embedded.lines().zip(file.lines()).filter(|(served, written)| served != written) {
                let (before, after) = served.split_once("'./").unwrap();
                assert!(
                    written.starts_with(&format!("{before}'../")) && written.ends_with(&format!("/{after}")),
                    "{name}: {served}"
                );
            }
        }
        for (path, file) in PAGES {
            assert!(!page_template(file).is_empty(), "{path}: {file}");
        }
    }
}
