//! The cookies of a request. None of them authenticates a user.

use axum::extract::FromRequestParts;
use deskpass_auth::Poller;
use deskpass_core::{BindProof, Browser, Digest, Flow, KnownBrowser, Secret, SecretKind};
use hyper::header::{ACCEPT, COOKIE, HeaderValue};
use hyper::http::request::Parts;

use crate::http::error::ApiError;
use crate::http::request::{DescribeInput, RequestContext};

/// A kind of secret that is stored in a cookie.
pub(crate) trait CookieKind: SecretKind {
    /// The cookie's names: in development mode, and in production, where other hosts cannot set it.
    const NAMES: [&'static str; 2];
}

impl CookieKind for Browser {
    const NAMES: [&'static str; 2] = ["deskpass_browser", "__Host-deskpass_browser"];
}

impl CookieKind for Flow {
    const NAMES: [&'static str; 2] = ["deskpass_flow", "__Host-deskpass_flow"];
}

impl CookieKind for BindProof {
    const NAMES: [&'static str; 2] = ["deskpass_bind", "__Host-deskpass_bind"];
}

impl CookieKind for KnownBrowser {
    const NAMES: [&'static str; 2] = ["deskpass_known", "__Host-deskpass_known"];
}

/// The cookies of a request, and where the request comes from.
#[derive(Debug)]
pub(crate) struct Cookies {
    lines: Vec<HeaderValue>,
    development: bool,
    /// Whether one of our pages sent the request: the browser reports it, or it has a header that foreign pages cannot send.
    pub(crate) from_own_page: bool,
    /// Whether the browser followed a link or came from another page, as far as it reports.
    pub(crate) followed_link: bool,
}

impl Cookies {
    /// The secret of this kind, if the browser sent one. Read without a cookie library: a value is a token, which is neither
    /// quoted nor encoded, and must match byte by byte.
    pub(crate) fn get<K: CookieKind>(&self) -> Option<Secret<K>> {
        let name = cookie_name::<K>(self.development);
        let lines = self.lines.iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find_map(|(given, value)| (given == name).then(|| Secret::parse(value).ok()).flatten())
    }

    /// The digest of the secret of this kind, if the browser sent one.
    pub(crate) fn digest<K: CookieKind>(&self) -> Option<Digest> {
        self.get::<K>().map(|own| own.digest())
    }

    /// The browser that polls a ticket.
    pub(crate) fn poller(&self) -> Poller {
        let cookies = [self.digest::<Browser>(), self.digest::<Flow>()];
        Poller { cookies: cookies.into_iter().flatten().collect(), page: self.from_own_page }
    }
}

impl FromRequestParts<RequestContext> for Cookies {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let lines = parts.headers.get_all(COOKIE).iter().cloned().collect();
        let says = |name: &str, word: &str| parts.headers.get(name).is_some_and(|value| value == word);
        let development = context.app.settings.development.enabled;
        let from_own_page = says("sec-fetch-site", "same-origin") || parts.headers.contains_key("x-requested-with");
        let elsewhere = parts.headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin");
        // Browsers without fetch metadata still send `Accept`: following a link asks for a page.
        let wants = parts.headers.get(ACCEPT).is_some_and(|kinds| kinds.as_bytes().starts_with(b"text/html"));
        let followed_link = elsewhere || wants || says("sec-fetch-mode", "navigate");
        Ok(Self { lines, development, from_own_page, followed_link })
    }
}

impl DescribeInput for Cookies {}

/// The name of the cookie, by mode.
pub(crate) fn cookie_name<K: CookieKind>(development: bool) -> &'static str {
    let [plain, guarded] = K::NAMES;
    if development { plain } else { guarded }
}
