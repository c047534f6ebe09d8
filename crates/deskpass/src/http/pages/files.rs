//! The embedded files.

macro_rules! pages {
    ($($path:literal => $name:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../../web/", $name)))),*]
    };
}

macro_rules! assets {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_bytes!(concat!("../../../../../web/assets/", $name)))),*]
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
    "/api/docs" => "docs.html",
};

/// The assets of the pages, by name.
pub(super) const ASSETS: &[(&str, &[u8])] = assets! {
    "access.js",
    "account.js",
    "admin-words.js",
    "admin.css",
    "agents.js",
    "api.js",
    "ask-words.js",
    "ask.js",
    "chart.js",
    "clients.js",
    "content.js",
    "continue.js",
    "desk-words.js",
    "desk.css",
    "desk.js",
    "deskpass.js",
    "device-panel.js",
    "device-words.js",
    "device.js",
    "dialog.js",
    "docs-words.js",
    "docs.css",
    "docs.js",
    "dom.js",
    "dress.js",
    "export.js",
    "filters.js",
    "guard.js",
    "health.js",
    "holders.js",
    "inbox.js",
    "inside.css",
    "keys.js",
    "links.js",
    "listing.js",
    "live.js",
    "log-words.js",
    "log.js",
    "login-words.js",
    "mark.svg",
    "matrix.js",
    "message.js",
    "messages.js",
    "nav.js",
    "network-list.js",
    "network-trial.js",
    "networks.js",
    "overview.js",
    "own-password.js",
    "page.js",
    "password-step.js",
    "password-words.js",
    "password.js",
    "people.js",
    "person.js",
    "places.js",
    "qr.js",
    "recovery-codes.js",
    "refusals.js",
    "save-file.js",
    "scan.js",
    "security-words.js",
    "security.js",
    "sessions.js",
    "sign-in-again-words.js",
    "sign-in-again.js",
    "sign-in.js",
    "sign-ins.js",
    "signed-in.js",
    "socket.js",
    "suspended.js",
    "typewriter.js",
    "views.js",
    "watching.js",
    "words.js",
    "wrong-role.js",
};

/// The media type of an asset, by its extension.
pub(super) fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.') {
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        Some((_, "png")) => "image/png",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_asset_is_carried_along_under_a_known_type() {
        let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/assets");
        for asset in std::fs::read_dir(assets).unwrap() {
            let name = asset.unwrap().file_name().into_string().unwrap();
            assert!(ASSETS.iter().any(|(known, _)| *known == name), "{name}");
            assert_ne!(kind(&name), "application/octet-stream", "{name}");
        }
    }
}
