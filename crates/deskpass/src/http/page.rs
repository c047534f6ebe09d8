//! The pages, which the binary carries with it.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH, LOCATION};
use hyper::{HeaderMap, StatusCode, Uri};

use super::failure::Failure;
use crate::Desk;

/// Nothing from elsewhere, nothing inline, and nobody puts our pages into a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

macro_rules! web {
    ($name:literal) => {
        include_str!(concat!("../../../../web/", $name))
    };
}

/// Path, type, text.
const FILES: &[(&str, &str, &str)] = &[
    ("/", HTML, web!("index.html")),
    ("/h5/", HTML, web!("index.html")),
    ("/itagent/", HTML, web!("index.html")),
    ("/itadmin/", HTML, web!("index.html")),
    ("/scan/", HTML, web!("scan.html")),
    ("/continue/", HTML, web!("continue.html")),
    ("/api/docs", HTML, web!("docs.html")),
    ("/assets/desk.css", STYLE, web!("assets/desk.css")),
    ("/assets/mark.svg", "image/svg+xml", web!("assets/mark.svg")),
    ("/assets/account.js", SCRIPT, web!("assets/account.js")),
    ("/assets/api.js", SCRIPT, web!("assets/api.js")),
    ("/assets/ask.js", SCRIPT, web!("assets/ask.js")),
    ("/assets/ask-words.js", SCRIPT, web!("assets/ask-words.js")),
    ("/assets/page.js", SCRIPT, web!("assets/page.js")),
    ("/assets/qr.js", SCRIPT, web!("assets/qr.js")),
    ("/assets/words.js", SCRIPT, web!("assets/words.js")),
    ("/assets/sign-in.js", SCRIPT, web!("assets/sign-in.js")),
    ("/assets/scan.js", SCRIPT, web!("assets/scan.js")),
    ("/assets/continue.js", SCRIPT, web!("assets/continue.js")),
    ("/assets/deskpass.js", SCRIPT, web!("assets/deskpass.js")),
    ("/assets/socket.js", SCRIPT, web!("assets/socket.js")),
    ("/assets/typewriter.js", SCRIPT, web!("assets/typewriter.js")),
    ("/assets/live.js", SCRIPT, web!("assets/live.js")),
    ("/assets/docs.js", SCRIPT, web!("assets/docs.js")),
    ("/assets/docs-words.js", SCRIPT, web!("assets/docs-words.js")),
    ("/assets/docs.css", STYLE, web!("assets/docs.css")),
];

/// Hands out a page, or what it needs.
pub(super) async fn page(uri: Uri, headers: HeaderMap) -> Result<Response, Failure> {
    let found = FILES.iter().find(|(path, ..)| *path == uri.path());
    let (_, kind, text) = found.ok_or(Failure::NoSuchPath)?;
    let tag = format!("\"{:x}\"", crc32fast::hash(text.as_bytes()));
    let known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let (status, text) = if known { (StatusCode::NOT_MODIFIED, "") } else { (StatusCode::OK, *text) };
    let frames = (HeaderName::from_static("x-frame-options"), "DENY");
    let policy = (CONTENT_SECURITY_POLICY, POLICY);
    let head = [(CONTENT_TYPE, *kind), (CACHE_CONTROL, "no-cache"), (ETAG, &tag), policy, frames];
    // Also with nothing new: the browser takes the policy from this answer, not from the one it has kept.
    Ok((status, head, text).into_response())
}

/// Sends whoever left out the slash to the page.
pub(super) async fn slash(uri: Uri) -> Response {
    (StatusCode::PERMANENT_REDIRECT, [(LOCATION, format!("{}/", uri.path()))]).into_response()
}

/// Hands out the file by which the platform verifies that the domain is ours.
pub(super) async fn verify_file(State(desk): State<Desk>, uri: Uri) -> Result<Response, Failure> {
    let asked = uri.path().trim_start_matches('/');
    let (_, text) = desk.verify_file.as_ref().filter(|(name, _)| name == asked).ok_or(Failure::NoSuchPath)?;
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], text.clone()).into_response())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::http::routes;

    #[test]
    fn every_asset_is_carried_along() {
        let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/assets");
        for asset in std::fs::read_dir(assets).unwrap() {
            let path = format!("/assets/{}", asset.unwrap().file_name().to_str().unwrap());
            assert!(FILES.iter().any(|(known, ..)| *known == path), "{path}");
        }
    }

    #[test]
    fn pages_bring_their_script_and_style_from_here() {
        for (path, _, text) in FILES.iter().filter(|(_, kind, _)| *kind == HTML) {
            for attribute in ["src=\"", "href=\""] {
                for link in text.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()) {
                    let ours = FILES.iter().any(|(known, ..)| *known == link) || link.is_empty();
                    let ours = ours || routes().iter().any(|route| route.path == link);
                    assert!(ours, "{path}: {link}");
                }
            }
            assert!(!text.contains("<style") && !text.contains(" style=") && !text.contains("<script>"), "{path}");
        }
    }
}
