//! Administrators whose role is temporary, who must not make themselves permanent administrators.

use deskpass_core::{EmployeeKey, Role, RoleRule, Roles};
use deskpass_store::RoleOrigin;

use super::Administrator;
use crate::{Error, Refusal};

impl Administrator<'_> {
    /// Refuses a temporary administrator who gives themself a role, or anybody the role of an administrator: that person could give it
    /// back. Giving roles that the employee holds already is no gift.
    pub(super) async fn require_may_give(&self, employee: &EmployeeKey, roles: Roles) -> Result<(), Error> {
        let is_own = self.who.as_ref() == Some(employee);
        if !roles.is_empty() && (is_own || roles.holds(Role::Admin)) { self.require_lasting().await } else { Ok(()) }
    }

    /// Refuses a temporary administrator who adds a rule that makes administrators.
    pub(super) async fn require_may_set_rules(&self, rules: &[RoleRule]) -> Result<(), Error> {
        let registered = self.auth.store.access_rules().await?;
        let registered = registered.role_rules(self.auth.policy.home_corp.as_str());
        let adds_admins = rules.iter().any(|rule| rule.role == Role::Admin && !registered.contains(rule));
        if adds_admins { self.require_lasting().await } else { Ok(()) }
    }

    /// Refuses a temporary administrator.
    async fn require_lasting(&self) -> Result<(), Error> {
        let Some(who) = &self.who else { return Ok(()) };
        let origins = self.auth.store.role_origins(who.clone()).await?;
        if is_temporary_admin(&origins) { self.refuse(Refusal::TemporaryRole).await } else { Ok(()) }
    }
}

/// Whether the only reason for the role of an administrator is one that ends.
fn is_temporary_admin(origins: &[RoleOrigin]) -> bool {
    let admin = origins.iter().find(|origin| origin.role == Role::Admin);
    admin.is_some_and(|origin| origin.until.is_some() && !origin.by_hand && !origin.by_rule)
}

#[cfg(test)]
mod tests {
    use deskpass_core::Timestamp;

    use super::*;

    #[test]
    fn only_a_role_with_an_end_and_no_other_reason_is_temporary() {
        let origin = |role, by_hand, by_rule, ends: bool| RoleOrigin {
            role,
            by_hand,
            by_rule,
            until: ends.then_some(Timestamp::from_millis(1)),
            reason: None,
        };
        for (role, by_hand, by_rule, ends, expected) in [
            (Role::Admin, false, false, true, true),
            (Role::Admin, true, false, false, false),
            (Role::Admin, false, true, true, false),
            (Role::Agent, false, false, true, false),
        ] {
            assert_eq!(is_temporary_admin(&[origin(role, by_hand, by_rule, ends)]), expected, "{role}");
        }
        assert!(!is_temporary_admin(&[]));
    }
}
