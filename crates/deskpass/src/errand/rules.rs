//! Errands about allow-lists: the way out for whoever locked themself out.

use deskpass_auth::Auth;
use deskpass_core::{Role, parse_network};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::Told;
use super::table::table;
use super::text::{no_such_role, trouble};
use crate::Desk;

/// How many networks a list has at most.
const MOST: usize = 200;

/// An errand about allow-lists.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum RuleErrand {
    List,
    /// No network means no list.
    Set {
        role: String,
        networks: Vec<String>,
    },
}

impl RuleErrand {
    /// Does it.
    pub(super) async fn run(&self, desk: &Desk) -> Told {
        match self {
            Self::List => list(&desk.auth).await,
            Self::Set { role, networks } => set(&desk.auth, role, networks).await,
        }
    }
}

async fn list(auth: &Auth) -> Told {
    let lists = auth.operator().ip_rules().await.map_err(|error| trouble(&error))?;
    let mut rows = vec![["ROLE", "MAY BE ACTIVE FROM"].map(str::to_owned)];
    for role in Role::ALL {
        if lists.list(role).is_empty() {
            rows.push([role.name().to_owned(), "anywhere".to_owned()]);
        }
        let named = std::iter::once(role.name()).chain(std::iter::repeat(""));
        rows.extend(named.zip(lists.list(role)).map(|(name, network)| [name.to_owned(), network.to_string()]));
    }
    Ok(table(&rows))
}

async fn set(auth: &Auth, name: &str, networks: &[String]) -> Told {
    let role = Role::from_name(name).ok_or_else(|| no_such_role(name))?;
    let read = |text: &String| parse_network(text).map_err(|problem| format!("{text:?} {problem}"));
    let (list, bad): (Vec<_>, Vec<_>) = networks.iter().map(read).partition(Result::is_ok);
    let bad: Vec<_> = bad.into_iter().filter_map(Result::err).collect();
    if !bad.is_empty() {
        return Err(bad.join("\n"));
    }
    if networks.len() > MOST {
        return Err(format!("{role} would have {} networks; a list has at most {MOST}", networks.len()));
    }
    let list: Vec<IpNet> = list.into_iter().flatten().collect();
    let changed = auth.operator().set_ip_rules_of(role, list.clone()).await.map_err(|error| trouble(&error))?;
    let already = if changed { "" } else { " already, and nothing changed" };
    if list.is_empty() {
        return Ok(format!("{role} may be active from anywhere{already}"));
    }
    let out = auth.operator().shut_out_of(role, &list).await.map_err(|error| trouble(&error))?.number;
    let shown: Vec<_> = list.iter().map(ToString::to_string).collect();
    Ok(format!(
        "{role} may be active only from {}{already}\n{out} session(s) that act as {role} began elsewhere, and are shut out there\n\
         `deskpass ip-rule clear {role}` lets everybody in again",
        shown.join(", ")
    ))
}
