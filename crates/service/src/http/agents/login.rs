//! The sign-in of agents.

use deskpass_auth::{AgentCredentials, AgentLogin, AgentLoginOutcome, IssuedPartialSession};
use deskpass_core::{ClientInfo, EmployeeId, Flow, KnownBrowser, Password};
use deskpass_platform::EntryPoint;
use schemars::JsonSchema;
use serde::Serialize;
use tracing::Instrument as _;

use crate::App;
use crate::http::auth::code_claims::{ClaimedBody, ClaimedCodes};
use crate::http::error::{ApiError, FieldError};
use crate::http::request::{
    Cookies, FromFields, InvalidFields, OptionalSession, RequestTrace, SigningInBrowser, run_to_completion,
};
use crate::http::response::{LoginResult, Reply, SetCookie, redirect, remember_browser};
use crate::timestamp::Rfc3339;

/// The credentials of an agent.
#[derive(Debug, FromFields)]
pub(crate) struct AgentLoginBody {
    employee_id: EmployeeId,
    #[field(flatten)]
    credentials: AgentCredentials,
}

/// The fields of [`AgentCredentials`].
#[derive(FromFields)]
#[field(into = AgentCredentials)]
struct CredentialFields {
    /// A code of the platform.
    code: Option<String>,
    /// The agent's password; required where no code is sent.
    password: Option<Password>,
}

impl TryFrom<CredentialFields> for AgentCredentials {
    type Error = InvalidFields;
    fn try_from(CredentialFields { code, password }: CredentialFields) -> Result<Self, InvalidFields> {
        match (code, password) {
            (Some(code), None) => Ok(Self::Code(code)),
            (None, Some(password)) => Ok(Self::Password(password)),
            (Some(code), Some(password)) => Ok(Self::Either(code, password)),
            (None, None) => Err(InvalidFields(vec![("password", FieldError::CodeOrPassword)])),
        }
    }
}

/// The result of an agent's sign-in.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub(crate) enum AgentEntered {
    Whole(LoginResult),
    Half(PartialLoginResult),
}

/// A partial sign-in, which a one-time password completes.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "HalfLoginResult")]
pub(crate) struct PartialLoginResult {
    half_authenticated: bool,
    #[schemars(extend("enum" = ["bind", "verify"]))]
    otp: &'static str,
    token: String,
    token_type: &'static str,
    expires_in: u64,
    expires_at: Rfc3339,
}

impl From<AgentLoginOutcome> for AgentEntered {
    fn from(entry: AgentLoginOutcome) -> Self {
        match entry {
            AgentLoginOutcome::Full(signed_in) => Self::Whole(signed_in.into()),
            AgentLoginOutcome::Partial(IssuedPartialSession { token, has_device, lifetime, expires_at }) => {
                Self::Half(PartialLoginResult {
                    half_authenticated: true,
                    otp: if has_device { "verify" } else { "bind" },
                    token: token.expose().to_owned(),
                    token_type: "Bearer",
                    expires_in: lifetime.as_secs(),
                    expires_at: Rfc3339(expires_at),
                })
            }
        }
    }
}

/// How agents can sign in at the moment.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct AgentLoginMethods {
    /// Whether a password counts now. A code of the platform always does.
    password: bool,
}

/// Returns how agents can sign in at the moment, so that pages offer only what works.
pub(crate) async fn methods(app: App) -> Reply<AgentLoginMethods> {
    Reply(AgentLoginMethods { password: app.auth.accepts_passwords().await })
}

/// Signs an agent in with a code of the platform, or partially with a password.
pub(crate) async fn login(
    app: App,
    visitor: ClientInfo,
    trace: RequestTrace,
    cookies: Cookies,
    own_browser: SigningInBrowser,
    OptionalSession(shown): OptionalSession,
    ClaimedBody(ClaimedCodes(code_claim), AgentLoginBody { employee_id, credentials }): ClaimedBody<AgentLoginBody>,
) -> Result<(SetCookie, Reply<AgentEntered>), ApiError> {
    let (employee, browser) = (app.auth.resolve_key(None, &employee_id), cookies.digest::<KnownBrowser>());
    trace.set_employee(&employee);
    let (entry, redirect_uri) = (code_entry(&app), redirect::callback_url(&app));
    let flow = cookies.digest::<Flow>();
    let login = AgentLogin { employee, credentials, code_claim, entry, redirect_uri, flow, browser, shown, visitor };
    app.auth.refuse_while_busy(&login)?;
    let inside = app.clone();
    let work = async move {
        let entry = inside.auth.agent_login(&login).await?;
        if let AgentLoginOutcome::Full(signed_in) = &entry {
            own_browser.signed_in(&inside, signed_in.token.digest()).await;
        }
        Ok(entry)
    };
    let entry = run_to_completion(work.instrument(trace.sign_in_span(trace.reference))).await?;
    let cookie = remember_browser(&app, &cookies, entry.signed_in()).await;
    Ok((cookie, Reply(entry.into())))
}

/// Where the codes of agents come from: pages in the platform's own browser, by the platform's script where there is one.
fn code_entry(app: &App) -> EntryPoint {
    if app.auth.platform.script().is_some() { EntryPoint::Script } else { EntryPoint::Client }
}
