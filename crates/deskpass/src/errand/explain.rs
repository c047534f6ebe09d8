//! Errands that change nothing and say why something is as it is.

mod access;
mod login;
mod reason;
mod token;

use deskpass_auth::{Auth, Lent};
use deskpass_core::{AllowLists, Digest, EmployeeKey, KindName, Person, Role, Roles};
use serde::{Deserialize, Serialize};

use super::{Told, Who, names, trouble};
use crate::Desk;

/// What is to be explained. Of a token only what it hashes to travels here: errands are logged.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Question {
    /// Why somebody can or cannot sign in.
    Login(Who),
    /// What somebody may do.
    Access(access::Wish),
    /// What became of a token.
    Token { kind: KindName, digest: Digest },
}

pub(crate) use access::Wish;
pub(crate) use token::purpose;

impl Question {
    /// Answers it.
    pub(super) async fn answer(&self, desk: &Desk) -> Told {
        match self {
            Self::Login(who) => login::explain(&desk.auth, who).await,
            Self::Access(wish) => wish.explain(desk).await,
            Self::Token { kind, digest } => token::explain(&desk.auth, *kind, *digest).await,
        }
    }
}

/// Somebody, with their name.
fn called(person: &Person) -> String {
    format!("{} ({}) of {}", person.employee_id, person.name, person.key.corp())
}

/// Somebody of whom no more is known.
fn key(key: &EmployeeKey) -> String {
    format!("{} of {}", key.id(), key.corp())
}

/// What somebody acts as who signs in through the platform, and why.
async fn roles(auth: &Auth, person: &Person) -> Result<(Roles, String), String> {
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
fn from_where(lists: &AllowLists, role: Role) -> String {
    let networks: Vec<_> = lists.list(role).iter().map(ToString::to_string).collect();
    if networks.is_empty() { "from anywhere".to_owned() } else { format!("only from {}", networks.join(", ")) }
}
