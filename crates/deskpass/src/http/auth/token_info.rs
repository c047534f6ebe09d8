//! What answers say of somebody who is signed in.
//!
//! These are the answers clients ask for all day. What is the same for all sessions of a person is rendered once and kept
//! with the person; what belongs to the session is put around it.

use deskpass_auth::{ActiveUser, Error, TokenHolder};
use deskpass_core::{Clock, ClockTrust, LoginMethod, LoginSource, Person, Role, Roles};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::response::envelope::{FlatReply, RenderedReply};
use crate::http::response::schema::{MethodName, RoleName, SourceName};

/// The user of a valid token; `None` for every token that is not valid, so that the answer does not say why.
pub(crate) fn if_valid(authenticated: Result<TokenHolder, Error>) -> Result<Option<ActiveUser>, Error> {
    match authenticated {
        Ok(holder) => Ok(holder.into_active_user().ok()),
        Err(Error::Refused(_)) => Ok(None),
        Err(internal) => Err(internal),
    }
}

/// What every answer shows of a person.
#[derive(Serialize)]
struct PersonSummary<'a> {
    employee_id: &'a str,
    name: &'a str,
    roles: Roles,
}

/// What only `me` shows.
#[derive(Serialize)]
struct PersonDetails<'a> {
    corp_id: &'a str,
    avatar: &'a str,
    department: &'a str,
}

/// What is said of a token: of one that is not good, only that.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "the form of what is rendered")]
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

/// Who is calling.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the form of what is rendered")]
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

/// The payload of `verify` for a good token.
pub(crate) fn verified(holder: &TokenHolder) -> RenderedReply<Verified> {
    let [role, source] = state(holder);
    let mut digits = itoa::Buffer::new();
    let seconds = digits.format(holder.remaining.as_secs());
    with_rendered_person(holder, |[brief, _]| {
        RenderedReply::of(&[r#"{"valid":true,"#, brief, ROLE, role, SOURCE, source, r#"","expires_in":"#, seconds, "}"])
    })
}

/// The payload of `me`.
pub(crate) fn me(holder: &TokenHolder) -> RenderedReply<Me> {
    let [role, source] = state(holder);
    with_rendered_person(holder, |[brief, rest]| {
        RenderedReply::of(&["{", brief, ",", rest, ROLE, role, SOURCE, source, r#""}"#])
    })
}

/// What services are told of a good token: what RFC 7662 names, and what everybody here goes by.
#[derive(JsonSchema, Serialize)]
pub(crate) struct GoodToken<'a> {
    active: bool,
    /// Names the person for good, however their identifier is spelled.
    sub: String,
    username: &'a str,
    #[schemars(with = "SourceName")]
    client_id: LoginSource,
    token_type: &'static str,
    exp: i64,
    iat: i64,
    corp_id: &'a str,
    employee_id: &'a str,
    name: &'a str,
    department: &'a str,
    /// What to compare departments by, within a corporation; empty where it is not known.
    department_id: &'a str,
    #[schemars(with = "Vec<RoleName>")]
    roles: Roles,
    #[schemars(with = "RoleName")]
    current_role: Role,
    #[schemars(with = "MethodName")]
    login_method: LoginMethod,
    #[schemars(with = "SourceName")]
    login_source: LoginSource,
}

/// What services are told of a token.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "rendered by hand: this is what it looks like")]
pub(crate) enum Introspected {
    /// A good one.
    Good(GoodToken<'static>),
    /// Any other.
    Other {
        /// False.
        active: bool,
    },
}

/// The answer of `introspect` for a good token.
pub(crate) fn introspected(holder: &TokenHolder, clock: &Clock) -> FlatReply<Introspected> {
    let (session, person) = (holder.session(), holder.person());
    // Services compare the end with their own clocks, which do not know that ours goes on from the record.
    let exp = match clock.trust() {
        ClockTrust::Trusted => session.expires_at,
        ClockTrust::Doubted(_) => clock.wall() + holder.remaining,
    };
    let iat = exp - session.expires_at.since(session.created_at);
    FlatReply::of(&members(&GoodToken {
        active: true,
        sub: format!("{}/{}", person.key.corp(), person.key.id()),
        username: &person.employee_id,
        client_id: session.source,
        token_type: "Bearer",
        exp: exp.millis().div_euclid(1_000),
        iat: iat.millis().div_euclid(1_000),
        corp_id: person.key.corp(),
        employee_id: &person.employee_id,
        name: &person.name,
        department: &person.department,
        department_id: &person.department_id,
        roles: holder.roles,
        current_role: session.current_role,
        login_method: session.method,
        login_source: session.source,
    }))
}

const ROLE: &str = r#","current_role":""#;
const SOURCE: &str = r#"","login_source":""#;

/// Role and source: words of ours, which need no quoting.
fn state(holder: &TokenHolder) -> [&'static str; 2] {
    [holder.session().current_role.name(), holder.session().source.name()]
}

/// Hands over what is shown of a person, brief and rest.
fn with_rendered_person<T>(
    holder: &TokenHolder,
    use_them: impl FnOnce([&str; 2]) -> RenderedReply<T>,
) -> RenderedReply<T> {
    let person = holder.person();
    match person.cached_texts(holder.roles, |person| render(person, holder.roles)) {
        Some(kept) => use_them(kept),
        // Sessions of one person in which different roles count: rare, and not worth keeping twice.
        None => use_them(render(person, holder.roles).each_ref().map(|text| &**text)),
    }
}

fn render(person: &Person, roles: Roles) -> [Box<str>; 2] {
    let Person { key, employee_id, name, avatar, department, .. } = person;
    let brief = members(&PersonSummary { employee_id, name, roles });
    [brief, members(&PersonDetails { corp_id: key.corp(), avatar, department })]
}

/// A structure's members without the braces around them.
fn members(structure: &impl Serialize) -> Box<str> {
    // Texts and a list of words cannot fail to be rendered.
    let json = serde_json::to_string(structure).unwrap_or_default();
    json.strip_prefix('{').and_then(|json| json.strip_suffix('}')).unwrap_or_default().into()
}
