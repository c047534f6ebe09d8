//! The responses that describe a signed-in user.

use deskpass_auth::{ActiveUser, Error, TokenHolder};
use deskpass_core::{Clock, ClockTrust, Roles};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::response::{MethodName, RoleName, SourceName};

/// The user of a valid token; `None` for every invalid token, so that the response does not say why.
pub(crate) fn if_valid(authenticated: Result<TokenHolder, Error>) -> Result<Option<ActiveUser>, Error> {
    match authenticated {
        Ok(holder) => Ok(holder.into_active_user().ok()),
        Err(Error::Refused(_)) => Ok(None),
        Err(internal) => Err(internal),
    }
}

/// The result of a verification; an invalid token has no details.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub(crate) enum Verified {
    Good {
        #[schemars(extend("const" = true))]
        valid: bool,
        employee_id: String,
        name: String,
        #[schemars(with = "Vec<RoleName>")]
        roles: Roles,
        current_role: RoleName,
        login_source: SourceName,
        expires_in: u64,
    },
    Bad {
        #[schemars(extend("const" = false))]
        valid: bool,
    },
}

/// The current user.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Me {
    employee_id: String,
    name: String,
    #[schemars(with = "Vec<RoleName>")]
    roles: Roles,
    corp_id: String,
    avatar: String,
    department: String,
    current_role: RoleName,
    login_source: SourceName,
}

/// The payload of `verify` for a valid token.
pub(crate) fn verified(holder: &TokenHolder) -> Verified {
    let session = holder.session();
    let person = holder.person();
    Verified::Good {
        valid: true,
        employee_id: person.employee_id().to_owned(),
        name: person.name().to_owned(),
        roles: holder.roles,
        current_role: RoleName(session.current_role),
        login_source: SourceName(session.source),
        expires_in: holder.remaining.as_secs(),
    }
}

/// The payload of `me`.
pub(crate) fn me(holder: &TokenHolder) -> Me {
    let session = holder.session();
    let person = holder.person();
    Me {
        employee_id: person.employee_id().to_owned(),
        name: person.name().to_owned(),
        roles: holder.roles,
        corp_id: person.key.corp().to_owned(),
        avatar: person.avatar().to_owned(),
        department: person.department().to_owned(),
        current_role: RoleName(session.current_role),
        login_source: SourceName(session.source),
    }
}

/// The introspection of a valid token: the members of RFC 7662, and members of this service.
#[derive(JsonSchema, Serialize)]
pub(crate) struct GoodToken {
    active: bool,
    /// Identifies the person permanently and is never given to another, as in ID tokens.
    sub: String,
    username: String,
    client_id: SourceName,
    token_type: &'static str,
    exp: i64,
    iat: i64,
    corp_id: String,
    employee_id: String,
    name: String,
    department: String,
    /// Identifies the department within a corporation; empty where it is not known.
    department_id: String,
    #[schemars(with = "Vec<RoleName>")]
    roles: Roles,
    current_role: RoleName,
    login_method: MethodName,
    login_source: SourceName,
}

/// The introspection of a token.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub(crate) enum Introspected {
    /// A valid token.
    Good(Box<GoodToken>),
    /// An invalid token.
    Other {
        /// Always false.
        active: bool,
    },
}

/// The response of `introspect` for a valid token.
pub(crate) fn introspected(holder: &TokenHolder, subject: String, clock: &Clock) -> Introspected {
    let (session, person) = (holder.session(), holder.person());
    // Services compare the expiry with their own clocks, which do not know that this clock runs from the newest record.
    let exp = match clock.trust() {
        ClockTrust::Trusted => session.expires_at,
        ClockTrust::Doubted(_) => clock.wall() + holder.remaining,
    };
    let iat = exp - session.expires_at.since(session.created_at);
    Introspected::Good(Box::new(GoodToken {
        active: true,
        sub: subject,
        username: person.employee_id().to_owned(),
        client_id: SourceName(session.source),
        token_type: "Bearer",
        exp: exp.millis().div_euclid(1_000),
        iat: iat.millis().div_euclid(1_000),
        corp_id: person.key.corp().to_owned(),
        employee_id: person.employee_id().to_owned(),
        name: person.name().to_owned(),
        department: person.department().to_owned(),
        department_id: person.department_id().to_owned(),
        roles: holder.roles,
        current_role: RoleName(session.current_role),
        login_method: MethodName(session.method),
        login_source: SourceName(session.source),
    }))
}
