//! What other services ask about a token: RFC 7662.

use std::net::IpAddr;

use axum::extract::{FromRequest, Request, State};
use deskpass_auth::Caller;
use hyper::header::CONTENT_TYPE;
use url::form_urlencoded;

use super::answer::Window;
use super::authority::{Service, ToIntrospect};
use super::envelope::Beside;
use super::extract::{Body, Whole};
use super::failure::{BadRequest, Failure};
use super::fields::{Ask, Fields};
use super::openapi::{Asks, Sheet};
use super::who;
use crate::Desk;

/// A token to look at.
pub(super) struct Introspect {
    token: String,
    /// Where its holder is, if the service knows.
    from: Option<IpAddr>,
}

impl Ask for Introspect {
    fn read(fields: &mut Fields) -> Option<Self> {
        // There is one kind of token that a service can meet, so a hint at which it is changes nothing.
        let (token, _) = (fields.text("token"), fields.maybe_text("token_type_hint"));
        let from = fields.maybe_address("ip_address");
        Some(Self { token: token?, from: from? })
    }
}

/// Says whether a token is good, and whose it is. One that is not says nothing else, whatever is wrong with it.
pub(super) async fn introspect(
    State(desk): State<Desk>,
    Service(_, Form(ask)): Service<ToIntrospect, Form<Introspect>>,
) -> Result<Beside<who::Introspected>, Failure> {
    let caller = desk.auth.verify(&ask.token, ask.from).await?;
    Ok(caller
        .map_or_else(|| Beside::of(r#""active":false"#), |Caller(holder)| who::introspected(&holder, &desk.auth.clock)))
}

/// A body as a form, as the RFC has it, or as JSON.
pub(super) struct Form<T>(T);

impl<T: Ask> Asks for Form<T> {
    fn asks(sheet: &mut Sheet) {
        sheet.reads_form::<T>();
    }
}

impl<T: Ask> FromRequest<Window> for Form<T> {
    type Rejection = Failure;
    async fn from_request(request: Request, window: &Window) -> Result<Self, Failure> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match &*kind {
            "application/json" => Body::from_request(request, window).await.map(|Body(ask)| Self(ask)),
            "application/x-www-form-urlencoded" => {
                let Whole(request) = Whole::from_request(request, window).await?;
                let pairs = form_urlencoded::parse(request.body());
                let fields: Fields = pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
                Ok(Self(fields.ask().map_err(BadRequest::Fields)?))
            }
            _ => Err(BadRequest::FormType.into()),
        }
    }
}
