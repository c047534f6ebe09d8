//! The access matrix: what every role permits.

use axum::extract::State;
use deskpass_core::Role;
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::http::auth::permissions::Permissions;
use crate::http::request::authority::Reader;
use crate::http::response::envelope::Reply;

/// The access matrix.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "AccessMatrix")]
pub(crate) struct MatrixShown {
    items: Vec<Permissions>,
}

/// Returns the access matrix.
pub(crate) async fn matrix(State(app): State<App>, _: Reader) -> Reply<MatrixShown> {
    Reply(MatrixShown { items: Role::ALL.into_iter().map(|role| Permissions::of(role, &app)).collect() })
}
