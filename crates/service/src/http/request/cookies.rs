//! The cookies of a request. None of those that [`Cookies`] reads authenticates a user.
//!
//! The cookie for single sign-on stands for a session of the browser. It is not among those: only [`SsoCookie`] reads it, which only
//! the handlers of /oidc/authorize, of /oidc/logout and of the confirmation of that logout take, and [`SigningInBrowser`]. With it a
//! registered client of OpenID Connect gets a code at its registered address, or the session ends. It opens no API, and no response
//! gives the token of the session for it.

use axum::extract::FromRequestParts;
use deskpass_auth::{BrowserArrival, LinkOpener, Poller};
use deskpass_core::{BindProof, Browser, ClientInfo, Digest, Flow, KnownBrowser, Secret, SecretKind, SingleSignOn};
use hyper::header::{ACCEPT, COOKIE, HeaderMap, HeaderValue};
use hyper::http::request::Parts;

use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{DescribeInput, RequestContext, run_to_completion};

/// A kind of secret that is stored in a cookie.
pub(crate) trait CookieKind: SecretKind {
    /// The cookie's names: in development mode, and in production, where other hosts cannot set it.
    const NAMES: [&'static str; 2];
}

/// A kind that every handler may read.
pub(crate) trait ReadableCookie: CookieKind {}

impl ReadableCookie for Browser {}
impl ReadableCookie for Flow {}
impl ReadableCookie for BindProof {}
impl ReadableCookie for KnownBrowser {}

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

impl CookieKind for SingleSignOn {
    const NAMES: [&'static str; 2] = ["deskpass_sso", "__Host-deskpass_sso"];
}

/// The names of the cookie that says what opened a scanned address, or the page for the platform's script: in development mode, and
/// in production.
pub(crate) const OPENER_NAMES: [&str; 2] = ["deskpass_opener", "__Host-deskpass_opener"];

/// The values of that cookie.
pub(crate) const OPENERS: [(LinkOpener, &str); 3] =
    [(LinkOpener::NoOtherPage, "none"), (LinkOpener::OtherPage, "page"), (LinkOpener::Unknown, "unknown")];

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
    /// The cookies among the headers of a request.
    pub(crate) fn of(headers: &HeaderMap, development: bool) -> Self {
        let lines = headers.get_all(COOKIE).iter().cloned().collect();
        let says = |name: &str, word: &str| headers.get(name).is_some_and(|value| value == word);
        let from_own_page = says("sec-fetch-site", "same-origin") || headers.contains_key("x-requested-with");
        let elsewhere = headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin");
        // Browsers without fetch metadata still send `Accept`: following a link asks for a page.
        let wants = headers.get(ACCEPT).is_some_and(|kinds| kinds.as_bytes().starts_with(b"text/html"));
        let followed_link = elsewhere || wants || says("sec-fetch-mode", "navigate");
        Self { lines, development, from_own_page, followed_link }
    }

    /// The secret of this kind, if the browser sent one. Read without a cookie library: a value is a token, which is neither
    /// quoted nor encoded, and must match byte by byte.
    pub(crate) fn get<K: ReadableCookie>(&self) -> Option<Secret<K>> {
        secret(&self.lines, self.development)
    }

    /// What opened the address of the service at which the browser began, as that request reported.
    pub(crate) fn first_opener(&self) -> Option<LinkOpener> {
        let known = |value: &str| OPENERS.into_iter().find(|(_, name)| *name == value).map(|(opener, _)| opener);
        values(&self.lines, by_mode(OPENER_NAMES, self.development)).find_map(known)
    }

    /// The digest of the secret of this kind, if the browser sent one.
    pub(crate) fn digest<K: ReadableCookie>(&self) -> Option<Digest> {
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
        Ok(Self::of(&parts.headers, context.app.settings.development.enabled))
    }
}

impl DescribeInput for Cookies {}

/// The cookie for single sign-on, if the browser sent it.
#[derive(Debug)]
pub(crate) struct SsoCookie(pub(crate) Option<Secret<SingleSignOn>>);

impl FromRequestParts<RequestContext> for SsoCookie {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let lines: Vec<_> = parts.headers.get_all(COOKIE).iter().cloned().collect();
        Ok(Self(secret(&lines, context.app.settings.development.enabled)))
    }
}

impl DescribeInput for SsoCookie {}

/// The browser of a page of ours that a user signs in to, or continues to a program from.
#[derive(Clone, Debug)]
pub(crate) struct SigningInBrowser {
    sso: Option<Secret<SingleSignOn>>,
    visitor: ClientInfo,
}

impl SigningInBrowser {
    /// Ends the session of another user in this browser, now that a user has signed in there, also if the browser has left. An error
    /// here does not undo the sign-in.
    pub(crate) async fn signed_in(&self, app: &App, session: Digest) {
        self.arrived(app, session, BrowserArrival::SignIn).await;
    }

    /// The same, now that a user has continued to a program there.
    pub(crate) async fn continued(&self, app: &App, session: Digest) {
        self.arrived(app, session, BrowserArrival::Press).await;
    }

    async fn arrived(&self, app: &App, session: Digest, arrival: BrowserArrival) {
        let Self { sso: Some(sso), visitor } = self.clone() else { return };
        let app = app.clone();
        let work = async move { app.auth.end_replaced_session(&sso, session, arrival, &visitor).await };
        if let Err(error) = run_to_completion(work).await {
            tracing::warn!(?error, "could not end the session of a browser's former user");
        }
    }
}

impl FromRequestParts<RequestContext> for SigningInBrowser {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let from_own_page = Cookies::from_request_parts(parts, context).await?.from_own_page;
        let SsoCookie(sso) = SsoCookie::from_request_parts(parts, context).await?;
        let visitor = ClientInfo::from_request_parts(parts, context).await?;
        Ok(Self { sso: sso.filter(|_| from_own_page), visitor })
    }
}

impl DescribeInput for SigningInBrowser {}

/// The secret of a kind.
fn secret<K: CookieKind>(lines: &[HeaderValue], development: bool) -> Option<Secret<K>> {
    values(lines, cookie_name::<K>(development)).find_map(|value| Secret::parse(value).ok())
}

/// The values of the cookies with this name.
fn values<'a>(lines: &'a [HeaderValue], name: &'static str) -> impl Iterator<Item = &'a str> {
    let lines = lines.iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(given, _)| *given == name).map(|(_, value)| value)
}

/// The name of the cookie, by mode.
pub(crate) fn cookie_name<K: CookieKind>(development: bool) -> &'static str {
    by_mode(K::NAMES, development)
}

/// The name for the mode.
pub(crate) const fn by_mode([plain, guarded]: [&'static str; 2], development: bool) -> &'static str {
    if development { plain } else { guarded }
}
