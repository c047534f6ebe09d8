//! The links that lead a browser to the platform.

use deskpass_core::{Flow, ScanId, Secret};
use deskpass_platform::{EntryPoint, LinkLanguage, LinkRequest, RedirectRule};
use url::{Url, form_urlencoded};

use super::login_state::LoginState;
use super::pkce;
use crate::App;
use crate::config::Language;
use crate::http::response::{OAUTH_STATE, SCAN_PATH, redirect};

/// The path of the page that obtains a code by the platform's own script.
const SCRIPT_PAGE: &str = "/open/";

/// A browser that goes to the platform.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkBrowser<'a> {
    /// Where it begins.
    pub(super) entry: EntryPoint,
    /// Its flow cookie, if it has one.
    pub(super) flow: Option<&'a Secret<Flow>>,
    /// Its language.
    pub(super) language: Language,
}

/// The link for a browser that ends at `destination`; `None` if the settings do not allow this entry point.
pub(super) fn sign_in_link(app: &App, browser: LinkBrowser<'_>, destination: &str) -> Option<String> {
    if browser.entry == EntryPoint::Script {
        return Some(script_page(app, &[("to", destination)]));
    }
    match app.auth.platform.redirect_rule() {
        RedirectRule::Domain => link_to(app, browser, destination, OAUTH_STATE, None),
        // Under another name of this service, the browser would come back without its cookie.
        RedirectRule::Exact if !is_own(app, destination) => {
            exact_link(app, LinkBrowser { flow: None, ..browser }, None)
        }
        RedirectRule::Exact => exact_link(app, browser, None),
    }
}

/// The link for a phone that scanned a code; `None` if the settings do not allow this entry point.
pub(super) fn phone_link(app: &App, phone: LinkBrowser<'_>, scan_id: &Secret<ScanId>) -> Option<String> {
    if phone.entry == EntryPoint::Script {
        return Some(script_page(app, &[("sid", scan_id.expose())]));
    }
    match app.auth.platform.redirect_rule() {
        RedirectRule::Domain => {
            // A secret has no character that needs encoding.
            let callback = format!("{}?sid={}", redirect::callback_url(app), scan_id.expose());
            link_to(app, phone, &callback, OAUTH_STATE, None)
        }
        RedirectRule::Exact => exact_link(app, phone, Some(scan_id)),
    }
}

/// The address in a QR code. Where the platform compares whole addresses it is ours: only the phone that opens it decides where the
/// sign-in begins.
pub(crate) fn scan_link(app: &App, language: Language, scan_id: &Secret<ScanId>) -> Option<String> {
    match app.auth.platform.redirect_rule() {
        RedirectRule::Domain => {
            phone_link(app, LinkBrowser { entry: EntryPoint::Client, flow: None, language }, scan_id)
        }
        RedirectRule::Exact => Some(format!("{}{SCAN_PATH}?sid={}", app.settings.public_url, scan_id.expose())),
    }
}

/// A link that returns to the registered address; the rest is in the state.
fn exact_link(app: &App, browser: LinkBrowser<'_>, scan_id: Option<&Secret<ScanId>>) -> Option<String> {
    let flow = browser.flow.filter(|_| app.auth.platform.supports_pkce());
    let challenge = flow.map(|flow| pkce::challenge(&pkce::verifier(flow)));
    let state = LoginState::new(challenge.is_some(), browser.flow, scan_id).sealed(app).to_string();
    link_to(app, browser, &redirect::callback_url(app), &state, challenge.as_deref())
}

fn link_to(
    app: &App,
    browser: LinkBrowser<'_>,
    redirect_uri: &str,
    state: &str,
    challenge: Option<&str>,
) -> Option<String> {
    let language = browser.language.of([LinkLanguage::En, LinkLanguage::Zh]);
    app.auth.platform.link(&LinkRequest { entry: browser.entry, redirect_uri, state, challenge, language })
}

/// The page that obtains a code by the platform's script. Its parameters are in the fragment: it sends a scan id to the
/// service, and nothing to others.
fn script_page(app: &App, parameters: &[(&str, &str)]) -> String {
    format!("{}{SCRIPT_PAGE}#{}", app.settings.public_url, encoded(parameters))
}

fn encoded(parameters: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish()
}

/// Whether an address has the origin at which the platform sends browsers back.
fn is_own(app: &App, address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| url.origin().ascii_serialization() == *app.settings.public_url)
}
