//! The query with which a browser returns from the platform. No part of it is repeated anywhere.

use axum::extract::FromRequestParts;
use deskpass_auth::{LinkOpener, OAuthCallback, Refusal};
use deskpass_core::{ClientInfo, Flow, Reference, Secret};
use deskpass_platform::{CallbackReturn, EntryPoint, Messenger, RedirectRule};
use hyper::http::request::Parts;
use url::form_urlencoded;

use super::login_state::LoginState;
use super::{pkce, state_binding};
use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{DescribeInput, FromFields, InputSpec, RequestContext, RequestTrace};
use crate::http::response::redirect;

/// The parameter that the service adds to a link in which the platform returns the address as it is.
pub(super) const SCAN_ID: &str = "sid";

/// The value of the parameter `entry` with which the service's own page returns.
const SCRIPT: &str = "script";

/// What a browser brought back from the platform.
#[derive(Debug)]
pub(super) struct CallbackQuery {
    code: String,
    /// The scan id, if a phone scanned a QR code.
    scan_id: Option<String>,
    /// The state, if there is one.
    state: Option<LoginState>,
    /// Whether the service's own page obtained the code by the platform's script.
    is_by_script: bool,
}

/// The parameters of the service. The platform's client knows the others.
#[derive(Debug, Default)]
struct OwnParameters {
    scan_id: Option<String>,
    entry: Option<String>,
}

impl OwnParameters {
    /// Reads the parameters; `None` if one is repeated.
    fn read(query: &str) -> Option<Self> {
        let mut own = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let field = match &*name {
                SCAN_ID => &mut own.scan_id,
                "entry" => &mut own.entry,
                _ => continue,
            };
            if field.replace(value.into_owned()).is_some() {
                return None;
            }
        }
        Some(own)
    }
}

impl CallbackQuery {
    /// Reads a query. A repeated parameter or a foreign state makes the code invalid.
    pub(super) fn read(platform: &dyn Messenger, query: &str) -> Result<Self, Refusal> {
        let OwnParameters { scan_id, entry } = OwnParameters::read(query).ok_or(Refusal::InvalidCode)?;
        let (code, state) = match platform.read_return(query) {
            CallbackReturn::Code { code, state } => (code, state),
            CallbackReturn::Declined => return Err(Refusal::Denied),
            CallbackReturn::Invalid => return Err(Refusal::InvalidCode),
        };
        let state = state.map(|state| LoginState::parse(&state).ok_or(Refusal::InvalidCode)).transpose()?;
        let is_by_script = entry.as_deref() == Some(SCRIPT) && platform.script().is_some();
        let in_state = state.as_ref().and_then(|state| state.scan_id.clone());
        let scan_id = match platform.redirect_rule() {
            RedirectRule::Domain if state.as_ref().is_some_and(|state| *state != LoginState::default()) => {
                return Err(Refusal::InvalidCode);
            }
            RedirectRule::Domain => scan_id,
            RedirectRule::Exact => in_state,
        };
        Ok(Self { code, scan_id, state, is_by_script })
    }

    /// Whether the browser is a phone that scanned a code, even where the rest of the query is invalid.
    pub(super) fn is_phone(query: &str) -> bool {
        let of_phone = |text: &str| LoginState::parse(text).is_some_and(|state| state.scan_id.is_some());
        form_urlencoded::parse(query.as_bytes())
            .any(|(name, value)| name == SCAN_ID || (name == "state" && of_phone(&value)))
    }

    /// The reference of a callback: that of its code, or else that of the request.
    pub(super) fn reference(returned: &Result<Self, Refusal>, app: &App, trace: &RequestTrace) -> Reference {
        returned.as_ref().map_or(trace.reference, |returned| app.code_reference(&returned.code))
    }

    /// The callback of a browser with this cookie.
    pub(super) fn into_callback(
        self,
        app: &App,
        flow: Option<&Secret<Flow>>,
        visitor: ClientInfo,
        opener: CallbackOpener,
    ) -> Result<OAuthCallback, Refusal> {
        let has_challenge = self.state.as_ref().is_some_and(|state| state.has_challenge);
        let is_bound = self.require_own_binding(flow)?;
        // Without its cookie, the browser is not the one that the platform issued the code for.
        let verifier = match (has_challenge, flow) {
            (false, _) => None,
            (true, Some(flow)) => Some(pkce::verifier(flow)),
            (true, None) => return Err(Refusal::InvalidCode),
        };
        Ok(OAuthCallback {
            entry: entry_point(&*app.auth.platform, self.is_by_script, visitor.user_agent.as_str()),
            sealed_state: self.state.as_ref().and_then(|state| state.sealed_digest(app)),
            opener: opener.of_visit(app.auth.platform.redirect_rule()),
            redirect_uri: redirect::callback_url(app),
            verifier,
            is_from_own_link: match app.auth.platform.redirect_rule() {
                RedirectRule::Domain => self.state.is_some(),
                RedirectRule::Exact => is_bound && (has_challenge || !app.auth.platform.supports_pkce()),
            },
            code: self.code,
            scan_id: self.scan_id,
            flow: flow.map(Secret::digest),
            visitor,
        })
    }

    /// Whether the state is bound to this browser. A browser that lost its cookie may still be asked; one with the cookie of another
    /// flow is refused.
    fn require_own_binding(&self, flow: Option<&Secret<Flow>>) -> Result<bool, Refusal> {
        let binding = self.state.as_ref().and_then(|state| state.binding.as_deref());
        match binding.zip(flow) {
            Some((binding, flow)) if !state_binding::fits(binding, flow) => Err(Refusal::InvalidCode),
            bound => Ok(bound.is_some()),
        }
    }
}

/// What opened the callback, and what opened the address of the service at which the browser began.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallbackOpener {
    pub(super) of_link: LinkOpener,
    pub(super) first: Option<LinkOpener>,
}

impl CallbackOpener {
    /// What opened the link of a QR code. Where that is our own address, the callback alone says too little: a phone that did not
    /// begin there was sent to the platform by a page that left our address out.
    const fn of_visit(self, rule: RedirectRule) -> LinkOpener {
        match (rule, self.first) {
            (RedirectRule::Domain, _) => self.of_link,
            (RedirectRule::Exact, Some(first)) => self.of_link.or_worse(first),
            (RedirectRule::Exact, None) => LinkOpener::OtherPage,
        }
    }
}

/// Where a sign-in began. A link never begins at the platform's script.
fn entry_point(platform: &dyn Messenger, is_by_script: bool, user_agent: &str) -> EntryPoint {
    match platform.entry_point(user_agent) {
        _ if is_by_script => EntryPoint::Script,
        EntryPoint::Client => EntryPoint::Client,
        EntryPoint::Browser | EntryPoint::Script => EntryPoint::Browser,
    }
}

/// The fields of the callback, for its description only: every callback is redirected, with a word about its error.
#[derive(FromFields)]
#[expect(dead_code, reason = "the query is read in its raw form")]
struct CallbackFields {
    code: Option<String>,
    state: Option<String>,
    sid: Option<String>,
    entry: Option<String>,
    errcode: Option<String>,
}

/// The raw query of the callback.
#[derive(Debug)]
pub(crate) struct RawCallbackQuery(pub(super) String);

impl FromRequestParts<RequestContext> for RawCallbackQuery {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, _: &RequestContext) -> Result<Self, ApiError> {
        Ok(Self(parts.uri.query().unwrap_or_default().to_owned()))
    }
}

impl DescribeInput for RawCallbackQuery {
    fn describe_input(spec: &mut InputSpec) {
        spec.reads_query::<CallbackFields>();
    }
}
