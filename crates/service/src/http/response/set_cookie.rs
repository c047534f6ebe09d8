//! Cookies that a response sets.

use std::time::Duration;

use axum::response::{IntoResponseParts, ResponseParts};
use deskpass_auth::LinkOpener;
use deskpass_core::{Browser, Digest, EmployeeKey, KnownBrowser, Secret, SingleSignOn};
use hyper::header::{HeaderValue, SET_COOKIE};

use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{CookieKind, Cookies, OPENER_NAMES, OPENERS, by_mode, cookie_name};
use crate::http::response::{DescribeOutput, OutputSpec};

/// A cookie that a response sets.
#[derive(Debug)]
pub(crate) struct SetCookie(Option<HeaderValue>);

impl SetCookie {
    /// No cookie.
    pub(crate) const NONE: Self = Self(None);

    /// Sets a secret.
    pub(crate) fn set<K: CookieKind>(app: &App, secret: &Secret<K>, lifetime: Duration) -> Self {
        Self::with::<K>(app, secret.expose(), lifetime)
    }

    /// Sets the secret for single sign-on, until the browser is closed.
    pub(crate) fn single_sign_on(app: &App, secret: &Secret<SingleSignOn>) -> Self {
        let name = cookie_name::<SingleSignOn>(app.settings.development.enabled);
        Self::written(app, &format!("{name}={}; Path=/; HttpOnly; SameSite=Lax", secret.expose()))
    }

    /// Sets or renews the cookie of the browser that an authorization request or a logout belongs to.
    pub(crate) fn authorizing_browser(app: &App, browser: Option<&Secret<Browser>>) -> Self {
        browser.map_or(Self::NONE, |own| Self::set(app, own, BROWSER_COOKIE_LIFETIME))
    }

    /// Sets the language of the pages, until the browser is closed. The pages' script can change it.
    pub(crate) fn language(app: &App, name: &str, language: &str) -> Self {
        Self::written(app, &format!("{name}={language}; Path=/; SameSite=Lax"))
    }

    /// Deletes a secret.
    pub(crate) fn clear<K: CookieKind>(app: &App) -> Self {
        Self::with::<K>(app, "", Duration::ZERO)
    }

    /// Records what opened the address at which a browser begins: the callback itself is opened by the platform, or by our page. A
    /// page of another site stays recorded, since it could open the address once more by a page of ours.
    pub(crate) fn first_opener(app: &App, cookies: &Cookies, opener: LinkOpener) -> Self {
        let opener = cookies.first_opener().map_or(opener, |recorded| recorded.or_worse(opener));
        let value = OPENERS.into_iter().find(|(known, _)| *known == opener).map_or("", |(_, name)| name);
        Self::named(app, by_mode(OPENER_NAMES, app.settings.development.enabled), value, OPENER_COOKIE_LIFETIME)
    }

    /// Deletes what opened that address, if it is recorded.
    pub(crate) fn clear_first_opener(app: &App, cookies: &Cookies) -> Self {
        match cookies.first_opener() {
            Some(_) => Self::named(app, by_mode(OPENER_NAMES, app.settings.development.enabled), "", Duration::ZERO),
            None => Self::NONE,
        }
    }

    fn with<K: CookieKind>(app: &App, value: &str, lifetime: Duration) -> Self {
        Self::named(app, cookie_name::<K>(app.settings.development.enabled), value, lifetime)
    }

    fn named(app: &App, name: &str, value: &str, lifetime: Duration) -> Self {
        let seconds = lifetime.as_secs();
        Self::written(app, &format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax"))
    }

    /// A cookie as it is written, for secure connections only in production.
    fn written(app: &App, cookie: &str) -> Self {
        let secure = if app.settings.development.enabled { "" } else { "; Secure" };
        Self(HeaderValue::try_from(format!("{cookie}{secure}")).ok())
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

impl<T: DescribeOutput> DescribeOutput for (SetCookie, T) {
    fn describe_output(spec: &mut OutputSpec) {
        spec.sets_cookie = true;
        T::describe_output(spec);
    }
}

/// The browser that the tickets of a page are bound to. An existing cookie is kept, since other tabs rely on it.
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

/// Marks a browser as known to this agent, so that others cannot use up the agent's attempts. Clients other than our pages get no
/// cookie. An error here does not undo the sign-in.
pub(crate) async fn remember_browser(app: &App, cookies: &Cookies, agent: Option<&EmployeeKey>) -> SetCookie {
    let Some(agent) = agent.filter(|_| cookies.from_own_page) else { return SetCookie::NONE };
    match app.auth.remember_browser(agent, cookies.get::<KnownBrowser>()).await {
        Ok((browser, lifetime)) => SetCookie::set(app, &browser, lifetime),
        Err(error) => {
            tracing::warn!(%error, "could not record an agent's browser");
            SetCookie::NONE
        }
    }
}

/// Longer than a code of the platform lives.
const OPENER_COOKIE_LIFETIME: Duration = Duration::from_mins(10);

/// So long that tabs which programs open at the same moment find the cookie there: two of them that got a new one each would
/// take each other's request away. It authenticates nobody.
const BROWSER_COOKIE_LIFETIME: Duration = Duration::from_hours(30 * 24);
