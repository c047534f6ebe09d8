//! The responses that describe a signed-in user.
//!
//! Clients request them constantly. The part that all sessions of a person share is rendered once and cached with the person; the
//! part of the session is added around it.

use deskpass_auth::{ActiveUser, Error, TokenHolder};
use deskpass_core::{Clock, ClockTrust, Person, Roles};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::response::{FlatReply, MethodName, RenderedReply, RoleName, SourceName};

/// The user of a valid token; `None` for every invalid token, so that the response does not say why.
pub(crate) fn if_valid(authenticated: Result<TokenHolder, Error>) -> Result<Option<ActiveUser>, Error> {
    match authenticated {
        Ok(holder) => Ok(holder.into_active_user().ok()),
        Err(Error::Refused(_)) => Ok(None),
        Err(internal) => Err(internal),
    }
}

/// The part of a person that every response shows.
#[derive(Serialize)]
struct PersonSummary<'a> {
    employee_id: &'a str,
    name: &'a str,
    roles: Roles,
}

/// The part of a person that only `me` shows.
#[derive(Serialize)]
struct PersonDetails<'a> {
    corp_id: &'a str,
    avatar: &'a str,
    department: &'a str,
}

/// The result of a verification; an invalid token has no details.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the JSON that is rendered by hand")]
pub(crate) enum Verified {
    Good {
        #[schemars(extend("const" = true))]
        valid: bool,
        employee_id: String,
        name: String,
        roles: Vec<RoleName>,
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
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes the JSON that is rendered by hand")]
pub(crate) struct Me {
    employee_id: String,
    name: String,
    roles: Vec<RoleName>,
    corp_id: String,
    avatar: String,
    department: String,
    current_role: RoleName,
    login_source: SourceName,
}

/// The payload of `verify` for a valid token.
pub(crate) fn verified(holder: &TokenHolder) -> RenderedReply<Verified> {
    let [role, source] = state(holder);
    let mut digits = itoa::Buffer::new();
    let seconds = digits.format(holder.remaining.as_secs());
    with_rendered_person(holder, |RenderedPerson { summary, .. }| {
        RenderedReply::of(&[
            r#"{"valid":true,"#,
            summary,
            ROLE,
            role,
            SOURCE,
            source,
            r#"","expires_in":"#,
            seconds,
            "}",
        ])
    })
}

/// The payload of `me`.
pub(crate) fn me(holder: &TokenHolder) -> RenderedReply<Me> {
    let [role, source] = state(holder);
    with_rendered_person(holder, |RenderedPerson { summary, details, .. }| {
        RenderedReply::of(&["{", summary, ",", details, ROLE, role, SOURCE, source, r#""}"#])
    })
}

/// The introspection of a valid token: the members of RFC 7662, and members of this service.
#[derive(JsonSchema, Serialize)]
pub(crate) struct GoodToken<'a> {
    active: bool,
    /// Identifies the person permanently and is never given to another, as in ID tokens.
    sub: String,
    username: &'a str,
    client_id: SourceName,
    token_type: &'static str,
    exp: i64,
    iat: i64,
    corp_id: &'a str,
    employee_id: &'a str,
    name: &'a str,
    department: &'a str,
    /// Identifies the department within a corporation; empty where it is not known.
    department_id: &'a str,
    #[schemars(with = "Vec<RoleName>")]
    roles: Roles,
    current_role: RoleName,
    login_method: MethodName,
    login_source: SourceName,
}

/// The introspection of a token.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "describes the JSON that is rendered by hand")]
pub(crate) enum Introspected {
    /// A valid token.
    Good(GoodToken<'static>),
    /// An invalid token.
    Other {
        /// Always false.
        active: bool,
    },
}

/// The response of `introspect` for a valid token.
pub(crate) fn introspected(holder: &TokenHolder, subject: String, clock: &Clock) -> FlatReply<Introspected> {
    let (session, person) = (holder.session(), holder.person());
    // Services compare the expiry with their own clocks, which do not know that this clock runs from the newest record.
    let exp = match clock.trust() {
        ClockTrust::Trusted => session.expires_at,
        ClockTrust::Doubted(_) => clock.wall() + holder.remaining,
    };
    let iat = exp - session.expires_at.since(session.created_at);
    FlatReply::of(&members(&GoodToken {
        active: true,
        sub: subject,
        username: &person.employee_id,
        client_id: SourceName(session.source),
        token_type: "Bearer",
        exp: exp.millis().div_euclid(1_000),
        iat: iat.millis().div_euclid(1_000),
        corp_id: person.key.corp(),
        employee_id: &person.employee_id,
        name: &person.name,
        department: &person.department,
        department_id: &person.department_id,
        roles: holder.roles,
        current_role: RoleName(session.current_role),
        login_method: MethodName(session.method),
        login_source: SourceName(session.source),
    }))
}

const ROLE: &str = r#","current_role":""#;
const SOURCE: &str = r#"","login_source":""#;

/// Role and source: words that need no quoting in JSON.
fn state(holder: &TokenHolder) -> [&'static str; 2] {
    [holder.session().current_role.name(), holder.session().source.name()]
}

/// The parts of responses that all sessions of a person share, in JSON.
struct RenderedPerson {
    roles: Roles,
    summary: Box<str>,
    details: Box<str>,
}

impl RenderedPerson {
    fn new(person: &Person, roles: Roles) -> Self {
        let Person { key, employee_id, name, avatar, department, .. } = person;
        let summary = members(&PersonSummary { employee_id, name, roles });
        let details = members(&PersonDetails { corp_id: key.corp(), avatar, department });
        Self { roles, summary, details }
    }
}

/// Calls `reply` with the rendered person of a token.
fn with_rendered_person<T>(
    holder: &TokenHolder,
    reply: impl FnOnce(&RenderedPerson) -> RenderedReply<T>,
) -> RenderedReply<T> {
    let (person, roles) = (holder.person(), holder.roles);
    match person.derived(|person| RenderedPerson::new(person, roles)).filter(|rendered| rendered.roles == roles) {
        Some(rendered) => reply(rendered),
        // Sessions of one person with different roles are rare, so a second rendering is not cached.
        None => reply(&RenderedPerson::new(person, roles)),
    }
}

/// The members of a structure in JSON, without the enclosing braces.
fn members(structure: &impl Serialize) -> Box<str> {
    // Serializing strings and lists of words cannot fail.
    let json = serde_json::to_string(structure).unwrap_or_default();
    json.strip_prefix('{').and_then(|json| json.strip_suffix('}')).unwrap_or_default().into()
}
