//! Who may look after others' accounts, and which services may ask. As an argument: a handler that forgets it does not have it.

use std::marker::PhantomData;

use axum::extract::{FromRequest, FromRequestParts, Request};
use deskpass_auth::{Administrator, Reach};
use deskpass_core::{CorpId, EmployeeId, EmployeeKey, Role, Scope, ServiceScope, Visitor};
use hyper::HeaderMap;
use hyper::header::HeaderName;
use hyper::http::request::Parts;

use super::answer::Window;
use super::extract::{Caller, Guest, Holder, bearer};
use super::failure::Failure;
use super::fields::{Ask, Fields};
use super::query::Path;
use crate::Desk;

/// Somebody signed in whose active role may read others' accounts.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) caller: Caller,
    pub(super) visitor: Visitor,
    scope: Scope,
}

/// Somebody signed in whose active role is that of an administrator.
#[derive(Debug)]
pub(super) struct Admin(pub(super) Authority);

/// An administrator who has shown a fresh one-time password for this very request. It is taken once everything else about
/// the request is known to be good, so that nobody wastes one on a slip.
#[derive(Debug)]
pub(super) struct HighRisk<T>(pub(super) Authority, pub(super) T);

/// An administrator, and where they are.
#[derive(Debug)]
pub(super) struct Authority {
    pub(super) caller: Caller,
    pub(super) visitor: Visitor,
}

/// What the address says, and then the rest of a request.
#[derive(Debug)]
pub(super) struct On<P, R>(pub(super) P, pub(super) R);

/// A request of which nothing else is read.
#[derive(Debug)]
pub(super) struct Nothing;

/// Somebody signed in who administrates the home corporation, and with it what concerns everybody.
#[derive(Debug)]
pub(super) struct HomeAdmin(pub(super) Authority);

/// What an administrator of the home corporation asks. Others are turned away before they spend a one-time password on it.
#[derive(Debug)]
pub(super) struct AtHome<T>(pub(super) T);

/// The agent whom the path names as `{employee_id}`: there is one.
#[derive(Debug)]
pub(super) struct NamedAgent(pub(super) EmployeeKey);

/// A service whose key is good for what `S` says, and the rest of its request. The key is looked at before the rest is read and once
/// more after it, since it may have been revoked while the rest was on its way.
#[derive(Debug)]
pub(super) struct Service<S, T>(pub(super) PhantomData<S>, pub(super) T);

/// What a service wants.
pub(super) trait Wants {
    /// The scope that takes.
    const SCOPE: ServiceScope;
}

/// To ask about tokens.
#[derive(Debug)]
pub(super) struct ToIntrospect;

impl Wants for ToIntrospect {
    const SCOPE: ServiceScope = ServiceScope::Introspect;
}

/// To send messages.
#[derive(Debug)]
pub(super) struct ToSend;

impl Wants for ToSend {
    const SCOPE: ServiceScope = ServiceScope::Messages;
}

impl Reader {
    /// Whose records they may read who ask for this corporation, or else for their own.
    pub(super) async fn reach(&self, desk: &Desk, corp: Option<&CorpId>) -> Result<Reach, Failure> {
        match desk.auth.reach(&self.caller.0, self.scope, corp) {
            Ok(reach) => Ok(reach),
            Err(_) => self.refuse(desk).await,
        }
    }

    /// Whether they may read records of this corporation.
    pub(super) fn reaches(&self, desk: &Desk, corp: &CorpId) -> bool {
        desk.auth.reach(&self.caller.0, self.scope, Some(corp)).is_ok()
    }

    /// Turns them away who ask for more than they may read, which is written down.
    pub(super) async fn refuse<T>(&self, desk: &Desk) -> Result<T, Failure> {
        Ok(desk.auth.may_not_administrate(&self.caller.0, &self.visitor).await?)
    }
}

impl Authority {
    /// Who makes changes at this desk, and is written down with them.
    pub(super) fn at<'a>(&self, desk: &'a Desk) -> Administrator<'a> {
        desk.auth.administrator(&self.caller.0, self.visitor.clone())
    }
}

impl FromRequestParts<Window> for Authority {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, window: &Window) -> Result<Self, Failure> {
        let Holder(holder) = Holder::from_request_parts(parts, window).await?;
        let Guest(visitor) = Guest::from_request_parts(parts, window).await?;
        let caller = Caller(window.desk.auth.at_the_door(holder, &visitor).await?);
        Ok(Self { caller, visitor })
    }
}

impl FromRequestParts<Window> for Reader {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, window: &Window) -> Result<Self, Failure> {
        let Authority { caller, visitor } = Authority::from_request_parts(parts, window).await?;
        let scope = window.desk.auth.reads_accounts(&caller.0, &visitor).await?;
        Ok(Self { caller, visitor, scope })
    }
}

impl FromRequestParts<Window> for Admin {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, window: &Window) -> Result<Self, Failure> {
        let authority = Authority::from_request_parts(parts, window).await?;
        let Authority { caller, visitor } = &authority;
        if caller.session().current_role != Role::Admin {
            return Ok(window.desk.auth.may_not_administrate(&caller.0, visitor).await?);
        }
        Ok(Self(authority))
    }
}

impl FromRequestParts<Window> for HomeAdmin {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, window: &Window) -> Result<Self, Failure> {
        let Admin(authority) = Admin::from_request_parts(parts, window).await?;
        window.desk.auth.expect_at_home(&authority.caller.0, &authority.visitor).await?;
        Ok(Self(authority))
    }
}

impl<T: FromRequest<Window, Rejection = Failure> + Send> FromRequest<Window> for AtHome<T> {
    type Rejection = Failure;
    async fn from_request(request: Request, window: &Window) -> Result<Self, Failure> {
        let (mut parts, body) = request.into_parts();
        HomeAdmin::from_request_parts(&mut parts, window).await?;
        Ok(Self(T::from_request(Request::from_parts(parts, body), window).await?))
    }
}

impl<T: FromRequest<Window, Rejection = Failure> + Send> FromRequest<Window> for HighRisk<T> {
    type Rejection = Failure;
    async fn from_request(request: Request, window: &Window) -> Result<Self, Failure> {
        let (mut parts, body) = request.into_parts();
        let Admin(authority) = Admin::from_request_parts(&mut parts, window).await?;
        let Authority { caller, visitor } = &authority;
        let brought = brought_code(&parts.headers);
        let fresh = window.desk.auth.fresh_code(&caller.0, brought.as_deref(), visitor).await?;
        let rest = T::from_request(Request::from_parts(parts, body), window).await?;
        window.desk.auth.take_fresh_code(&caller.0, fresh, visitor).await?;
        Ok(Self(authority, rest))
    }
}

impl<P, R> FromRequest<Window> for On<P, R>
where
    P: FromRequestParts<Window, Rejection = Failure> + Send,
    R: FromRequest<Window, Rejection = Failure>,
{
    type Rejection = Failure;
    async fn from_request(request: Request, window: &Window) -> Result<Self, Failure> {
        let (mut parts, body) = request.into_parts();
        let place = P::from_request_parts(&mut parts, window).await?;
        Ok(Self(place, R::from_request(Request::from_parts(parts, body), window).await?))
    }
}

impl FromRequest<Window> for Nothing {
    type Rejection = Failure;
    async fn from_request(_: Request, _: &Window) -> Result<Self, Failure> {
        Ok(Self)
    }
}

/// The header in which a fresh one-time password is sent.
const ONE_TIME_PASSWORD: HeaderName = HeaderName::from_static("x-otp-code");

/// The one-time password of a request. Of two, neither counts.
fn brought_code(headers: &HeaderMap) -> Option<String> {
    let mut given = headers.get_all(ONE_TIME_PASSWORD).iter();
    let (first, second) = (given.next()?, given.next());
    Some(first.to_str().ok().filter(|_| second.is_none()).unwrap_or_default().to_owned())
}

/// An employee of the home corporation, as the path names them.
pub(super) struct Named(EmployeeId);

impl Ask for Named {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self(fields.id("employee_id", EmployeeId::parse)?))
    }
}

impl FromRequest<Window> for NamedAgent {
    type Rejection = Failure;
    async fn from_request(request: Request, window: &Window) -> Result<Self, Failure> {
        let (mut parts, _) = request.into_parts();
        let Path(Named(id)) = Path::from_request_parts(&mut parts, window).await?;
        let agent = window.desk.auth.key(None, &id);
        window.desk.auth.expect_agent(&agent).await?;
        Ok(Self(agent))
    }
}

impl<S: Wants, T: FromRequest<Window, Rejection = Failure> + Send> FromRequest<Window> for Service<S, T> {
    type Rejection = Failure;
    async fn from_request(request: Request, window: &Window) -> Result<Self, Failure> {
        let key = bearer(request.headers())?.to_owned();
        window.desk.auth.service(&key, S::SCOPE).await?;
        let rest = T::from_request(request, window).await?;
        window.desk.auth.service(&key, S::SCOPE).await?;
        Ok(Self(PhantomData, rest))
    }
}
