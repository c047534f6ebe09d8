//! What other services ask about a token: RFC 7662.

use std::net::IpAddr;

use axum::extract::{FromRequest, Request, State};
use deskpass_auth::ActiveUser;
use hyper::header::CONTENT_TYPE;
use url::form_urlencoded;

use crate::App;
use crate::http::auth::token_info;
use crate::http::dispatcher::RequestContext;
use crate::http::error::{ApiError, BadRequest};
use crate::http::openapi::{DescribeInput, OperationSpec};
use crate::http::request::authority::{IntrospectScope, Service};
use crate::http::request::extract::{FullRequest, JsonBody};
use crate::http::request::fields::{Fields, FromFields};
use crate::http::response::envelope::FlatReply;

/// A token to look at.
pub(crate) struct IntrospectBody {
    token: String,
    /// Where its holder is, if the service knows.
    from: Option<IpAddr>,
}

impl FromFields for IntrospectBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        // There is one kind of token that a service can meet, so a hint at which it is changes nothing.
        let (token, _) = (fields.text("token"), fields.maybe_text("token_type_hint"));
        let from = fields.maybe_address("ip_address");
        Some(Self { token: token?, from: from? })
    }
}

/// Says whether a token is good, and whose it is. One that is not says nothing else, whatever is wrong with it.
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

/// A body as a form, as the RFC has it, or as JSON.
pub(crate) struct FormOrJson<T>(T);

impl<T: FromFields> DescribeInput for FormOrJson<T> {
    fn describe_input(spec: &mut OperationSpec) {
        spec.reads_form::<T>();
    }
}

impl<T: FromFields> FromRequest<RequestContext> for FormOrJson<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match &*kind {
            "application/json" => JsonBody::from_request(request, context).await.map(|JsonBody(input)| Self(input)),
            "application/x-www-form-urlencoded" => {
                let FullRequest(request) = FullRequest::from_request(request, context).await?;
                let pairs = form_urlencoded::parse(request.body());
                let fields: Fields = pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
                Ok(Self(fields.parse().map_err(BadRequest::Fields)?))
            }
            _ => Err(BadRequest::FormType.into()),
        }
    }
}
