//! From where roles may be active: looked at, tried out, changed.

use deskpass_core::{AllowLists, Networks, Role, Visitor};
use deskpass_store::{Event, ListedSession};
use ipnet::IpNet;

use super::Administrator;
use crate::{Auth, Caller, Error, Refusal};

/// How many of those who would be shut out are named.
const NAMED: usize = 50;

/// Whom lists would shut out.
#[derive(Debug)]
pub struct TriedOut {
    /// Whether whoever asks could not act in their active role any more, from where they are.
    pub you: bool,
    /// For each role with a list, how many sessions that act in it would be shut out, and some of them.
    pub roles: Vec<(Role, u64, Vec<ListedSession>)>,
}

impl Auth {
    /// The lists that count.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn ip_rules(&self) -> Result<AllowLists, Error> {
        Ok(self.store.rulebook().await?.lists.clone())
    }

    /// Says whom these lists would shut out, and changes nothing.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn try_ip_rules(
        &self,
        lists: &AllowLists,
        caller: &Caller,
        visitor: &Visitor,
    ) -> Result<TriedOut, Error> {
        let you = !lists.allow(caller.0.session().current_role, visitor.address.decided);
        let mut roles = Vec::new();
        for role in Role::ALL {
            let networks: Networks = lists.list(role).iter().copied().collect();
            if lists.list(role).is_empty() {
                continue;
            }
            let (number, some) = self.store.shut_out(role, networks, self.clock.now(), NAMED).await?;
            roles.push((role, number, some));
        }
        Ok(TriedOut { you, roles })
    }
}

impl Administrator<'_> {
    /// Puts these lists in the place of all there are; `false` when they are the same.
    ///
    /// # Errors
    /// When they would keep whoever sets them from administrating, or the store fails.
    pub async fn set_ip_rules(&self, rules: Vec<(Role, IpNet)>) -> Result<bool, Error> {
        self.at_home().await?;
        let lists: AllowLists = rules.iter().copied().collect();
        if !self.is_operator() && !lists.allow(Role::Admin, self.visitor.address.decided) {
            return self.refuse(Refusal::WouldShutYouOut(Role::Admin)).await;
        }
        let entry = self.entry(Event::IpRulesChanged, &self.desk(), told(&lists))?;
        Ok(self.auth.store.set_ip_rules(rules, entry).await?)
    }
}

/// Lists, for the log.
fn told(lists: &AllowLists) -> String {
    let list = |role: Role| {
        let networks: Vec<_> = lists.list(role).iter().map(ToString::to_string).collect();
        (!networks.is_empty()).then(|| format!("{role}: {}", networks.join(", ")))
    };
    let told: Vec<_> = Role::ALL.into_iter().filter_map(list).collect();
    if told.is_empty() { "none".to_owned() } else { told.join("; ") }
}
