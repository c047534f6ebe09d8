//! Admin commands about allow-lists. They let an administrator who is locked out in again.

use deskpass_auth::Auth;
use deskpass_core::{Role, parse_network};
use deskpass_store::RoleLockout;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::CommandResult;
use super::table::table;
use super::text::{describe_error, no_such_role};
use crate::App;

const MAX_NETWORKS_PER_LIST: usize = 200;

#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum IpRuleAdminCommand {
    List,
    /// An empty list of networks removes the list.
    Set {
        role: String,
        networks: Vec<String>,
    },
}

impl IpRuleAdminCommand {
    pub(super) async fn run(&self, app: &App) -> CommandResult {
        match self {
            Self::List => list(&app.auth).await,
            Self::Set { role, networks } => set(&app.auth, role, networks).await,
        }
    }
}

async fn list(auth: &Auth) -> CommandResult {
    let lists = auth.operator().ip_rules().await.map_err(describe_error)?;
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

async fn set(auth: &Auth, name: &str, networks: &[String]) -> CommandResult {
    let role = Role::from_name(name).ok_or_else(|| no_such_role(name))?;
    let read = |text: &String| parse_network(text).map_err(|problem| format!("{text:?} {problem}"));
    let (list, bad): (Vec<_>, Vec<_>) = networks.iter().map(read).partition(Result::is_ok);
    let bad: Vec<_> = bad.into_iter().filter_map(Result::err).collect();
    if !bad.is_empty() {
        return Err(bad.join("\n"));
    }
    if networks.len() > MAX_NETWORKS_PER_LIST {
        return Err(format!(
            "{} networks for {role} are too many; an allow-list has at most {MAX_NETWORKS_PER_LIST}",
            networks.len()
        ));
    }
    let list: Vec<IpNet> = list.into_iter().flatten().collect();
    let changed = auth.operator().set_ip_rules_of(role, list.clone()).await.map_err(describe_error)?;
    let already = if changed { "" } else { "; nothing changed" };
    if list.is_empty() {
        return Ok(format!("{role} may be active from anywhere{already}"));
    }
    let out = auth.operator().preview_role_lockout(role, &list).await.map_err(describe_error)?;
    let shown: Vec<_> = list.iter().map(ToString::to_string).collect();
    Ok(format!(
        "{role} may be active only from {}{already}\n{}\nto allow {role} from anywhere: deskpass ip-rule clear {role}",
        shown.join(", "),
        locked_out(&out)
    ))
}

/// The number of sessions that are locked out, as a line.
fn locked_out(RoleLockout { role, number, exact, .. }: &RoleLockout) -> String {
    let at_least = if *exact { "" } else { "at least " };
    format!("{at_least}{number} session(s) with {role} active began elsewhere and no longer work there")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_not_exact_is_the_least() {
        let none = RoleLockout::none(Role::Admin);
        assert!(locked_out(&none).starts_with("0 session(s) with admin active"));
        let some = RoleLockout { number: 7, exact: false, ..none };
        assert!(locked_out(&some).starts_with("at least 7 session(s) with admin active"));
    }
}
