//! Descriptions of people, roles and networks that several explanations share.

use deskpass_auth::{Auth, DefaultRoleGrant};
use deskpass_core::{AllowLists, EmployeeKey, Person, Role, Roles};

use super::super::text::{describe_error, role_list};

/// A person with their name.
pub(super) fn person_label(person: &Person) -> String {
    format!("{} ({}) of {}", person.employee_id, person.name, person.key.corp())
}

/// An employee of whom only the key is known.
pub(super) fn employee_label(key: &EmployeeKey) -> String {
    format!("{} of {}", key.id(), key.corp())
}

/// The roles of a person who signs in through the platform, and the reason for them.
pub(super) async fn effective_roles(auth: &Auth, person: &Person) -> Result<(Roles, String), String> {
    let (roles, default_role) = auth.platform_sign_in_roles(person).await.map_err(describe_error)?;
    let message = match default_role {
        None => role_list(roles),
        Some(DefaultRoleGrant { role, by_record: true }) => {
            format!("none assigned; {role} by default (agent record)")
        }
        Some(DefaultRoleGrant { role, by_record: false }) => {
            format!("none assigned; {role} by default for sign-ins through the platform (default_role)")
        }
    };
    Ok((roles, message))
}

/// The networks from which a role may be active.
pub(super) fn allowed_networks(lists: &AllowLists, role: Role) -> String {
    let networks: Vec<_> = lists.list(role).iter().map(ToString::to_string).collect();
    if networks.is_empty() { "from anywhere".to_owned() } else { format!("only from {}", networks.join(", ")) }
}
