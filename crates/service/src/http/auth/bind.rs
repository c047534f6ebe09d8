//! Binding a user of a connected corporation to an employee.

use deskpass_core::{BindProof, ClientInfo, CorpId, EmployeeId, Secret};

use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{Cookies, FromFields, JsonBody, RequestTrace, SigningInBrowser};
use crate::http::response::{LoginResult, Reply, SetCookie};

/// The employee to bind to.
#[derive(Debug, FromFields)]
pub(crate) struct BindBody {
    /// The employee's corporation; the main one unless given.
    corp_id: Option<CorpId>,
    employee_id: EmployeeId,
    /// The proof of the sign-in through the platform, where no cookie holds it.
    #[field(name = "bind_ticket")]
    proof: Option<String>,
}

/// Signs a person of a connected corporation in as an employee.
pub(crate) async fn bind(
    app: App,
    visitor: ClientInfo,
    trace: RequestTrace,
    cookies: Cookies,
    browser: SigningInBrowser,
    JsonBody(input): JsonBody<BindBody>,
) -> Result<(SetCookie, Reply<LoginResult>), ApiError> {
    let employee = app.auth.resolve_key(input.corp_id.as_ref(), &input.employee_id);
    trace.set_employee(&employee);
    let kept = cookies.get::<BindProof>();
    let proof = input.proof.as_deref().or(kept.as_ref().map(Secret::expose));
    let signed_in = app.auth.bind(&employee, proof, &visitor).await?;
    browser.signed_in(&app, signed_in.token.digest()).await;
    let forget = if kept.is_some() { SetCookie::clear::<BindProof>(&app) } else { SetCookie::NONE };
    Ok((forget, Reply(signed_in.into())))
}
