//! What answers say of somebody who is signed in.
//!
//! These are the answers clients ask for all day. What is the same for all sessions of a person is rendered once and kept
//! with the person; what belongs to the session is put around it.

use deskpass_auth::Holder;
use deskpass_core::{LoginMethod, LoginSource, Person, Role, Roles};
use serde::Serialize;

use super::envelope::Rendered;

/// What every answer shows of a person.
#[derive(Serialize)]
struct Brief<'a> {
    employee_id: &'a str,
    name: &'a str,
    roles: Roles,
}

/// What only `me` shows.
#[derive(Serialize)]
struct Rest<'a> {
    corp_id: &'a str,
    avatar: &'a str,
    department: &'a str,
}

/// The payload of `verify` for a good token.
pub(super) fn verified(holder: &Holder) -> Rendered {
    let [role, source] = state(holder);
    let mut digits = itoa::Buffer::new();
    let seconds = digits.format(holder.remaining.as_secs());
    with_shown(holder, |[brief, _]| {
        Rendered::of(&[r#"{"valid":true,"#, brief, ROLE, role, SOURCE, source, r#"","expires_in":"#, seconds, "}"])
    })
}

/// The payload of `me`.
pub(super) fn me(holder: &Holder) -> Rendered {
    let [role, source] = state(holder);
    with_shown(holder, |[brief, rest]| Rendered::of(&["{", brief, ",", rest, ROLE, role, SOURCE, source, r#""}"#]))
}

/// What services are told of a good token: what RFC 7662 names, and what everybody here goes by.
#[derive(Serialize)]
struct Active<'a> {
    active: bool,
    /// Names the person for good, however their identifier is spelled.
    sub: String,
    username: &'a str,
    client_id: LoginSource,
    token_type: &'static str,
    exp: i64,
    iat: i64,
    corp_id: &'a str,
    employee_id: &'a str,
    name: &'a str,
    roles: Roles,
    current_role: Role,
    login_method: LoginMethod,
    login_source: LoginSource,
}

/// The answer of `introspect` for a good token.
pub(super) fn introspected(holder: &Holder) -> Rendered {
    let (session, person) = (holder.session(), holder.person());
    Rendered::beside(&members(&Active {
        active: true,
        sub: format!("{}/{}", person.key.corp(), person.key.id()),
        username: &person.employee_id,
        client_id: session.source,
        token_type: "Bearer",
        exp: session.expires_at.millis().div_euclid(1_000),
        iat: session.created_at.millis().div_euclid(1_000),
        corp_id: person.key.corp(),
        employee_id: &person.employee_id,
        name: &person.name,
        roles: holder.roles,
        current_role: session.current_role,
        login_method: session.method,
        login_source: session.source,
    }))
}

const ROLE: &str = r#","current_role":""#;
const SOURCE: &str = r#"","login_source":""#;

/// Role and source: words of ours, which need no quoting.
fn state(holder: &Holder) -> [&'static str; 2] {
    [holder.session().current_role.name(), holder.session().source.name()]
}

/// Hands over what is shown of a person, brief and rest.
fn with_shown(holder: &Holder, use_them: impl FnOnce([&str; 2]) -> Rendered) -> Rendered {
    let person = holder.person();
    match person.keep(holder.roles, |person| render(person, holder.roles)) {
        Some(kept) => use_them(kept),
        // Sessions of one person in which different roles count: rare, and not worth keeping twice.
        None => use_them(render(person, holder.roles).each_ref().map(|text| &**text)),
    }
}

fn render(person: &Person, roles: Roles) -> [Box<str>; 2] {
    let Person { key, employee_id, name, avatar, department, .. } = person;
    let brief = members(&Brief { employee_id, name, roles });
    [brief, members(&Rest { corp_id: key.corp(), avatar, department })]
}

/// A structure's members without the braces around them.
fn members(structure: &impl Serialize) -> Box<str> {
    // Texts and a list of words cannot fail to be rendered.
    let json = serde_json::to_string(structure).unwrap_or_default();
    json.strip_prefix('{').and_then(|json| json.strip_suffix('}')).unwrap_or_default().into()
}
