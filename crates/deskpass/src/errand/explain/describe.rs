//! What several explanations say about people, roles and networks.

use deskpass_auth::{Auth, Lent};
use deskpass_core::{AllowLists, EmployeeKey, Person, Role, Roles};

use super::super::text::{names, trouble};

/// Somebody, with their name.
pub(super) fn called(person: &Person) -> String {
    format!("{} ({}) of {}", person.employee_id, person.name, person.key.corp())
}

/// Somebody of whom no more is known.
pub(super) fn key(key: &EmployeeKey) -> String {
    format!("{} of {}", key.id(), key.corp())
}

/// What somebody acts as who signs in through the platform, and why.
pub(super) async fn roles(auth: &Auth, person: &Person) -> Result<(Roles, String), String> {
    let (roles, lent) = auth.usual_roles(person).await.map_err(|error| trouble(&error))?;
    let told = match lent {
        None => names(roles),
        Some(Lent { role, by_record: true }) => format!("none assigned; {role} is lent by their agent record"),
        Some(Lent { role, by_record: false }) => {
            format!("none assigned; {role} is lent to whoever signs in through the platform (default_role)")
        }
    };
    Ok((roles, told))
}

/// From where a role may be active.
pub(super) fn from_where(lists: &AllowLists, role: Role) -> String {
    let networks: Vec<_> = lists.list(role).iter().map(ToString::to_string).collect();
    if networks.is_empty() { "from anywhere".to_owned() } else { format!("only from {}", networks.join(", ")) }
}
