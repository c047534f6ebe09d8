//! The client of OpenID Connect that an employee may not use, for the advice about it.

use deskpass_auth::Auth;
use deskpass_core::Role;
use deskpass_store::LogRow;

use super::describe::failure;
use crate::config::Language;

/// The client that a row of the audit log names, if it is about a client that is not for the employee.
fn refused_client(row: &LogRow) -> Option<&str> {
    let refused = row.reason.as_deref() == Some("client_not_allowed");
    row.detail.strip_prefix("client ").filter(|id| refused && is_client_id(id))
}

/// Whether this can be printed as part of a command.
fn is_client_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// A role that the client admits, if it does not admit every user.
pub(super) async fn admitted_role(auth: &Auth, row: &LogRow, language: Language) -> Result<Option<Role>, String> {
    let Some(id) = refused_client(row) else { return Ok(None) };
    let client = auth.oidc_client(id).await.map_err(|error| failure(error, language))?;
    Ok(client.and_then(|client| client.registration.roles.iter().next()))
}

/// The advice with the client's identifier.
pub(super) fn name_client(advice: String, row: &LogRow) -> String {
    match refused_client(row) {
        Some(id) => advice.replace("CLIENT", id),
        None => advice,
    }
}
