//! The responses that describe a signed-in user.
//!
//! Clients request them constantly. They are put together of the texts of the cached person: a copy that is rendered in advance would
//! take as much memory as the person, and reading it would cost more than that.

use std::borrow::Cow;
use std::sync::LazyLock;

use deskpass_auth::{ActiveUser, Error, TokenHolder};
use deskpass_core::{Clock, ClockTrust, Role, Roles};
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
    let ([role, source], [id, name]) = (state(holder), names(holder));
    let mut digits = itoa::Buffer::new();
    let seconds = digits.format(holder.remaining.as_secs());
    RenderedReply::of(&[
        r#"{"valid":true,"employee_id":""#,
        &id,
        NAME,
        &name,
        ROLES,
        role_list(holder.roles),
        ROLE,
        role,
        SOURCE,
        source,
        r#"","expires_in":"#,
        seconds,
        "}",
    ])
}

/// The payload of `me`.
pub(crate) fn me(holder: &TokenHolder) -> RenderedReply<Me> {
    let ([role, source], [id, name], person) = (state(holder), names(holder), holder.person());
    let [corp, avatar, department] = [person.key.corp(), person.avatar(), person.department()].map(in_quotes);
    RenderedReply::of(&[
        r#"{"employee_id":""#,
        &id,
        NAME,
        &name,
        ROLES,
        role_list(holder.roles),
        r#","corp_id":""#,
        &corp,
        r#"","avatar":""#,
        &avatar,
        r#"","department":""#,
        &department,
        r#"""#,
        ROLE,
        role,
        SOURCE,
        source,
        r#""}"#,
    ])
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
        username: person.employee_id(),
        client_id: SourceName(session.source),
        token_type: "Bearer",
        exp: exp.millis().div_euclid(1_000),
        iat: iat.millis().div_euclid(1_000),
        corp_id: person.key.corp(),
        employee_id: person.employee_id(),
        name: person.name(),
        department: person.department(),
        department_id: person.department_id(),
        roles: holder.roles,
        current_role: RoleName(session.current_role),
        login_method: MethodName(session.method),
        login_source: SourceName(session.source),
    }))
}

const NAME: &str = r#"","name":""#;
const ROLES: &str = r#"","roles":"#;
const ROLE: &str = r#","current_role":""#;
const SOURCE: &str = r#"","login_source":""#;

/// Role and source: words that need no quoting in JSON.
fn state(holder: &TokenHolder) -> [&'static str; 2] {
    [holder.session().current_role.name(), holder.session().source.name()]
}

/// The identifier and the name of a person, as JSON has them between quotation marks.
fn names(holder: &TokenHolder) -> [Cow<'_, str>; 2] {
    let person = holder.person();
    [person.employee_id(), person.name()].map(in_quotes)
}

/// A text as JSON has it between quotation marks: as it is, for almost everybody.
fn in_quotes(text: &str) -> Cow<'_, str> {
    let is_plain = text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
    if is_plain { Cow::Borrowed(text) } else { escaped(text).into() }
}

fn escaped(text: &str) -> String {
    // Serializing a string cannot fail.
    let json = serde_json::to_string(text).unwrap_or_default();
    json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).unwrap_or_default().to_owned()
}

/// A set of roles in JSON. There are few sets, and all of them are rendered at the first use.
fn role_list(roles: Roles) -> &'static str {
    static LISTS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let list = |number| serde_json::to_string(&numbered_roles(number)).unwrap_or_default();
        (0..1 << Role::ALL.len()).map(list).collect()
    });
    let number = Role::ALL.iter().rev().fold(0, |number, role| number * 2 + usize::from(roles.holds(*role)));
    LISTS.get(number).map_or("[]", String::as_str)
}

/// The set whose roles are the bits of a number.
fn numbered_roles(number: usize) -> Roles {
    (0_u32..).zip(Role::ALL).filter(|(bit, _)| (number >> *bit) & 1 == 1).map(|(_, role)| role).collect()
}

/// The members of a structure in JSON, without the enclosing braces.
fn members(structure: &impl Serialize) -> Box<str> {
    // Serializing strings and lists of words cannot fail.
    let json = serde_json::to_string(structure).unwrap_or_default();
    json.strip_prefix('{').and_then(|json| json.strip_suffix('}')).unwrap_or_default().into()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn every_set_of_roles_has_its_list() {
        for number in 0..32 {
            let roles = numbered_roles(number);
            assert_eq!(role_list(roles), serde_json::to_string(&roles).unwrap());
        }
        assert_eq!(role_list(Roles::NONE), "[]");
    }

    #[test]
    fn a_text_is_escaped_as_a_serializer_does() {
        for text in ["", "李雷", "O'Brien", "\"x\" \\ \n\u{1}\u{7f}"] {
            assert_eq!(format!("\"{}\"", escaped(text)), serde_json::to_string(text).unwrap());
        }
    }
}
