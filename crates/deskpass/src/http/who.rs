//! What answers say of somebody who is signed in.
//!
//! These are the answers clients ask for all day. What is the same for all sessions of a person is rendered once and kept
//! with the person; what belongs to the session is put around it.

use std::borrow::Cow;

use deskpass_auth::Holder;
use deskpass_core::{Person, Roles};
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

/// Parts the two in what is kept; JSON has no raw line break inside.
const SEAM: char = '\n';

/// The payload of `verify` for a good token.
pub(super) fn verified(holder: &Holder) -> Rendered {
    let shown = shown(holder);
    let (brief, _) = shown.split_once(SEAM).unwrap_or_default();
    let [role, source] = state(holder);
    let mut digits = itoa::Buffer::new();
    let seconds = digits.format(holder.remaining.as_secs());
    Rendered::of(&[r#"{"valid":true,"#, brief, ROLE, role, SOURCE, source, r#"","expires_in":"#, seconds, "}"])
}

/// The payload of `me`.
pub(super) fn me(holder: &Holder) -> Rendered {
    let shown = shown(holder);
    let (brief, rest) = shown.split_once(SEAM).unwrap_or_default();
    let [role, source] = state(holder);
    Rendered::of(&["{", brief, ",", rest, ROLE, role, SOURCE, source, r#""}"#])
}

const ROLE: &str = r#","current_role":""#;
const SOURCE: &str = r#"","login_source":""#;

/// Role and source: words of ours, which need no quoting.
fn state(holder: &Holder) -> [&'static str; 2] {
    [holder.session().current_role.name(), holder.session().source.name()]
}

fn shown(holder: &Holder) -> Cow<'_, str> {
    let person = holder.person();
    if holder.roles == person.roles {
        Cow::Borrowed(person.keepsake.get_or_make(|| render(person, holder.roles)))
    } else {
        // A session that admits fewer roles than its person holds: rare, and not worth keeping.
        Cow::Owned(render(person, holder.roles))
    }
}

fn render(person: &Person, roles: Roles) -> String {
    let Person { key, employee_id, name, avatar, department, .. } = person;
    let brief = members(&Brief { employee_id, name, roles });
    let rest = members(&Rest { corp_id: key.corp(), avatar, department });
    format!("{brief}{SEAM}{rest}")
}

/// A structure's members without the braces around them.
fn members(structure: &impl Serialize) -> String {
    // Texts and a list of words cannot fail to be rendered.
    let json = serde_json::to_string(structure).unwrap_or_default();
    json.strip_prefix('{').and_then(|json| json.strip_suffix('}')).unwrap_or_default().to_owned()
}
