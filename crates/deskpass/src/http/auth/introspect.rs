//! Token introspection for other services: RFC 7662.

use std::net::IpAddr;

use axum::extract::State;
use deskpass_auth::ActiveUser;

use crate::App;
use crate::http::auth::token_info;
use crate::http::error::ApiError;
use crate::http::request::body::FormOrJson;
use crate::http::request::fields::{Fields, FromFields};
use crate::http::request::service::{IntrospectScope, Service};
use crate::http::response::envelope::FlatReply;

/// The token to inspect.
pub(crate) struct IntrospectBody {
    token: String,
    /// The address of its holder, if the service knows it.
    from: Option<IpAddr>,
}

impl FromFields for IntrospectBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        // Services see one kind of token only, so the hint is ignored.
        let (token, _) = (fields.text("token"), fields.maybe_text("token_type_hint"));
        let from = fields.maybe_address("ip_address");
        Some(Self { token: token?, from: from? })
    }
}

/// Returns whether a token is valid, and its user. For an invalid token the response does not say why.
pub(crate) async fn introspect(
    State(app): State<App>,
    Service(_, FormOrJson(input)): Service<IntrospectScope, FormOrJson<IntrospectBody>>,
) -> Result<FlatReply<token_info::Introspected>, ApiError> {
    let caller = token_info::if_valid(app.auth.authenticate(&input.token, input.from).await)?;
    Ok(caller.map_or_else(
        || FlatReply::of(r#""active":false"#),
        |ActiveUser(holder)| token_info::introspected(&holder, &app.auth.clock),
    ))
}
