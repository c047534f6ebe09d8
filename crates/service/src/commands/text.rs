//! Texts that several admin commands share.

use deskpass_auth::Error;
use deskpass_core::{Role, Roles};

/// The message for an error that has no specific one, with the place to look for the cause.
pub(super) fn describe_error(error: impl Into<Error>) -> String {
    format!("{}; see the service log, and run `deskpass doctor` to find the cause", error.into())
}

pub(super) fn role_list(roles: Roles) -> String {
    let names: Vec<_> = roles.iter().map(Role::name).collect();
    if names.is_empty() { "no role".to_owned() } else { names.join(", ") }
}

pub(super) fn no_such_role(name: &str) -> String {
    format!("there is no role {name}; the roles are {}", Role::NAMES.join(", "))
}
