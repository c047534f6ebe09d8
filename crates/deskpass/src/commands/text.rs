//! Words that several admin commands tell the operator.

use deskpass_auth::Error;
use deskpass_core::{Role, Roles, Timestamp};

/// An error that has no words of its own, and where to look.
pub(super) fn describe_error(error: &Error) -> String {
    format!("{error}; see the service's log, and ask `deskpass doctor` for the cause")
}

/// Roles by their names.
pub(super) fn role_list(roles: Roles) -> String {
    let names: Vec<_> = roles.iter().map(Role::name).collect();
    if names.is_empty() { "no role".to_owned() } else { names.join(", ") }
}

/// A role that does not exist.
pub(super) fn no_such_role(name: &str) -> String {
    format!("there is no role {name}; the roles are {}", role_list(Role::ALL.into_iter().collect()))
}

/// A moment to the second.
pub(super) fn format_utc(moment: Timestamp) -> String {
    jiff::Timestamp::from_second(moment.millis().div_euclid(1_000)).unwrap_or_default().to_string()
}
