//! Token introspection for other services: RFC 7662.

use std::net::IpAddr;

use axum::extract::State;
use deskpass_auth::ActiveUser;

use crate::App;
use crate::http::auth::token_info;
use crate::http::error::ApiError;
use crate::http::request::body::FormOrJson;
use crate::http::request::fields::FromFields;
use crate::http::request::service::{IntrospectScope, Service};
use crate::http::response::envelope::FlatReply;

/// The token to inspect.
#[derive(FromFields)]
pub(crate) struct IntrospectBody {
    token: String,
    /// Ignored: services see one kind of token only.
    #[field(name = "token_type_hint")]
    _hint: Option<String>,
    /// The address of the token's holder, if the service knows it.
    #[field(name = "ip_address")]
    from: Option<IpAddr>,
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
