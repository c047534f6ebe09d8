//! The few cookies there are. None of them signs anyone in.

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, IntoResponseParts, Response, ResponseParts};
use deskpass_auth::Poller;
use deskpass_core::{BindProof, Browser, Digest, EmployeeKey, Flow, KnownBrowser, Secret, SecretKind};
use hyper::header::{ACCEPT, COOKIE, HeaderValue, SET_COOKIE};
use hyper::http::request::Parts;

use crate::App;
use crate::http::dispatcher::RequestContext;
use crate::http::error::ApiError;

/// A kind of secret that a browser keeps for us.
pub(crate) trait CookieKind: SecretKind {
    /// The cookie's names: in development mode, and in production one that other hosts cannot set.
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

/// What the cookies of a request say.
#[derive(Debug)]
pub(crate) struct Cookies {
    lines: Vec<HeaderValue>,
    development: bool,
    /// Whether the request comes from a page of ours: the browser says so, or the page itself does, by a header that no
    /// other origin's page can send.
    pub(crate) from_own_page: bool,
    /// Whether somebody's link or another page led the browser here, as far as it says.
    pub(crate) followed_link: bool,
}

impl Cookies {
    /// The secret of this kind, if the browser keeps one.
    pub(crate) fn get<K: CookieKind>(&self) -> Option<Secret<K>> {
        let name = name::<K>(self.development);
        let lines = self.lines.iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find_map(|(given, value)| (given == name).then(|| Secret::parse(value).ok()).flatten())
    }

    /// What the secret of this kind hashes to, if the browser keeps one.
    pub(crate) fn digest<K: CookieKind>(&self) -> Option<Digest> {
        self.get::<K>().map(|own| own.digest())
    }

    /// Who asks with a ticket.
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
        let development = context.app.settings.development;
        let from_own_page = says("sec-fetch-site", "same-origin") || parts.headers.contains_key("x-requested-with");
        let elsewhere = parts.headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin");
        // Browsers that do not say whence they come still say what they want: whoever follows a link wants a page.
        let wants = parts.headers.get(ACCEPT).is_some_and(|kinds| kinds.as_bytes().starts_with(b"text/html"));
        let followed_link = elsewhere || wants || says("sec-fetch-mode", "navigate");
        Ok(Self { lines, development, from_own_page, followed_link })
    }
}

/// A cookie to be set with an answer.
#[derive(Debug)]
pub(crate) struct SetCookie(Option<HeaderValue>);

impl SetCookie {
    /// None.
    pub(crate) const NONE: Self = Self(None);

    /// Has the browser keep a secret.
    pub(crate) fn set<K: CookieKind>(app: &App, secret: &Secret<K>, lifetime: Duration) -> Self {
        Self::with::<K>(app, secret.expose(), lifetime)
    }

    /// Has the browser forget a secret.
    pub(crate) fn clear<K: CookieKind>(app: &App) -> Self {
        Self::with::<K>(app, "", Duration::ZERO)
    }

    fn with<K: CookieKind>(app: &App, value: &str, lifetime: Duration) -> Self {
        let development = app.settings.development;
        let (name, secure) = (name::<K>(development), if development { "" } else { "; Secure" });
        let seconds = lifetime.as_secs();
        let cookie = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        Self(HeaderValue::try_from(cookie).ok())
    }
}

impl IntoResponseParts for SetCookie {
    type Error = std::convert::Infallible;
    fn into_response_parts(self, mut response: ResponseParts) -> Result<ResponseParts, Self::Error> {
        if let Some(cookie) = self.0 {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        Ok(response)
    }
}

impl IntoResponse for SetCookie {
    fn into_response(self) -> Response {
        (self, ()).into_response()
    }
}

/// Which browser a page's tickets are bound to: one that has a cookie already keeps it, since its other tabs rely on it.
pub(crate) fn bind_browser(app: &App, cookies: &Cookies) -> Result<(Option<Digest>, SetCookie), ApiError> {
    if !cookies.from_own_page {
        return Ok((None, SetCookie::NONE));
    }
    let own = match cookies.get::<Browser>() {
        Some(own) => own,
        None => Secret::generate(&app.auth.entropy).map_err(deskpass_auth::Error::from)?,
    };
    Ok((Some(own.digest()), SetCookie::set(app, &own, BROWSER_COOKIE_LIFETIME)))
}

/// Has a browser remember that this agent was there, so that strangers cannot use up their guesses. Programs keep nothing. What
/// was done before stands, whether or not this can be noted.
pub(crate) async fn remember_browser(app: &App, cookies: &Cookies, agent: Option<&EmployeeKey>) -> SetCookie {
    let Some(agent) = agent.filter(|_| cookies.from_own_page) else { return SetCookie::NONE };
    match app.auth.remember_browser(agent, cookies.get::<KnownBrowser>()).await {
        Ok((browser, lifetime)) => SetCookie::set(app, &browser, lifetime),
        Err(error) => {
            tracing::warn!(%error, "an agent's browser could not be noted");
            SetCookie::NONE
        }
    }
}

/// Longer than any ticket lives.
const BROWSER_COOKIE_LIFETIME: Duration = Duration::from_mins(10);

fn name<K: CookieKind>(development: bool) -> &'static str {
    let [plain, guarded] = K::NAMES;
    if development { plain } else { guarded }
}
