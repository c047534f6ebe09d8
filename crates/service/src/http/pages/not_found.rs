//! Content negotiation for addresses that do not exist: a page for browsers, an error for programs.

use deskpass_core::preferences;
use hyper::HeaderMap;
use hyper::header::ACCEPT;

/// Whether the client shows pages: it lists HTML, and prefers it to JSON. `*/*` alone is what programs send.
pub(crate) fn prefers_html(headers: &HeaderMap) -> bool {
    let (mut html, mut json) = (0, 0);
    let lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    for (kind, weight) in preferences(lines) {
        match kind.to_ascii_lowercase().as_str() {
            "text/html" => html = weight,
            "application/json" => json = weight,
            _ => {}
        }
    }
    html > 0 && html >= json
}
