//! From where roles may be active: looked at, tried out, changed.

use deskpass_core::{AllowLists, Networks, Role, Visitor};
use deskpass_store::{Event, ListedSession};
use ipnet::IpNet;

use super::Administrator;
use crate::log::Attempt;
use crate::{Auth, Caller, Error, Refusal};

/// How many of those who would be shut out are named.
const NAMED: usize = 50;

/// Whom lists would shut out.
#[derive(Debug)]
pub struct TriedOut {
    /// Whether whoever asks could not administrate any more, from where they are.
    pub you: bool,
    /// Every role.
    pub roles: Vec<ShutOutOf>,
}

/// Whom a list would shut out of a role.
#[derive(Debug)]
pub struct ShutOutOf {
    /// The role.
    pub role: Role,
    /// How many sessions act in it and began where it could not be active any more.
    pub number: u64,
    /// Some of them.
    pub some: Vec<ListedSession>,
}

impl Administrator<'_> {
    /// The lists that count.
    ///
    /// # Errors
    /// When they are none of theirs to see, or the store fails.
    pub async fn ip_rules(&self) -> Result<AllowLists, Error> {
        self.at_home().await?;
        Ok(self.auth.store.rulebook().await?.lists.clone())
    }

    /// Says whom these lists would shut out, and changes nothing.
    ///
    /// # Errors
    /// When that is none of their business, or the store fails.
    pub async fn try_ip_rules(&self, lists: &AllowLists) -> Result<TriedOut, Error> {
        self.at_home().await?;
        self.expect_standing().await?;
        let mut roles = Vec::new();
        for role in Role::ALL {
            roles.push(self.shut_out_of(role, lists.list(role)).await?);
        }
        Ok(TriedOut { you: self.would_be_shut_out(lists), roles })
    }

    /// Whom this list would shut out of a role.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn shut_out_of(&self, role: Role, list: &[IpNet]) -> Result<ShutOutOf, Error> {
        if list.is_empty() {
            return Ok(ShutOutOf { role, number: 0, some: Vec::new() });
        }
        let networks: Networks = list.iter().copied().collect();
        let (number, some) = self.auth.store.shut_out(role, networks, self.auth.clock.now(), NAMED).await?;
        Ok(ShutOutOf { role, number, some })
    }

    /// Puts these lists in the place of all there are; `false` when they are the same.
    ///
    /// # Errors
    /// When they would keep whoever sets them from administrating, or the store fails.
    pub async fn set_ip_rules(&self, lists: &AllowLists) -> Result<bool, Error> {
        self.at_home().await?;
        if self.would_be_shut_out(lists) {
            return self.refuse(Refusal::WouldShutYouOut(Role::Admin)).await;
        }
        let entry = self.entry(Event::IpRulesChanged, &self.desk(), "")?;
        self.changed(self.auth.store.set_ip_rules(self.by(), lists.entries().collect(), entry).await).await
    }

    /// Gives one role this list, or none, and leaves the others as they are; `false` when it has it already. For the operator,
    /// whom no list shuts out.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn set_ip_rules_of(&self, role: Role, list: Vec<IpNet>) -> Result<bool, Error> {
        if !self.is_operator() {
            return Err(Refusal::NotPermitted.into());
        }
        let entry = self.entry(Event::IpRulesChanged, &self.desk(), "")?;
        self.changed(self.auth.store.set_ip_rules_of(self.by(), role, list, entry).await).await
    }

    fn would_be_shut_out(&self, lists: &AllowLists) -> bool {
        !self.is_operator() && !lists.allow(Role::Admin, self.visitor.address.decided)
    }
}

impl Auth {
    /// Turns an administrator away whom these lists would keep from administrating where they are, before anything is used up
    /// for it.
    ///
    /// # Errors
    /// When they would, which is written down.
    pub async fn expect_to_stay(&self, caller: &Caller, lists: &AllowLists, visitor: &Visitor) -> Result<(), Error> {
        let shut_out = self.administrator(caller, visitor.clone()).would_be_shut_out(lists);
        let outcome = if shut_out { Err(Refusal::WouldShutYouOut(Role::Admin).into()) } else { Ok(()) };
        self.recorded(Attempt::within(caller.0.session(), Event::AdministrationRefused, visitor), outcome).await
    }
}
