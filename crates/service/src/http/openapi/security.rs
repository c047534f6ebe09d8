//! The credentials that open an operation.

use serde_json::{Value, json};

use crate::http::handler::OperationSpec;
use crate::http::request::RequiredAccess;

/// The kinds of credentials. All of them are sent as `Authorization: Bearer …`.
pub(super) fn schemes() -> Value {
    let bearer = |format: &str, description: &str| json!({ "type": "http", "scheme": "bearer", "bearerFormat": format, "description": description });
    json!({
        "session": bearer("dpa_…", "The access token of a session."),
        "partial_session": bearer("dph_…", "The token of a sign-in that a one-time password completes."),
        "service_key": bearer(
            "dpk_…",
            "The key of another service. An operation lists the scope that the key needs: introspect or messages.",
        ),
    })
}

/// The credentials that a route accepts, as alternatives. An empty alternative means that none are needed.
pub(super) fn of(access: RequiredAccess, spec: &OperationSpec) -> Value {
    match access {
        RequiredAccess::TokenHolder
        | RequiredAccess::ActiveUser
        | RequiredAccess::Reader
        | RequiredAccess::Admin
        | RequiredAccess::HighRisk => json!([{ "session": [] }]),
        RequiredAccess::PartialOrFull => json!([{ "session": [] }, { "partial_session": [] }]),
        RequiredAccess::Service(scope) => json!([{ "service_key": [scope.name()] }]),
        RequiredAccess::Anyone | RequiredAccess::Developer | RequiredAccess::Operator if spec.input.accepts_token => {
            json!([{}, { "session": [] }])
        }
        RequiredAccess::Anyone | RequiredAccess::Developer | RequiredAccess::Operator => json!([]),
    }
}
