//! What an administrator whose role is temporary must not do: leave an administrator behind who stays when the role ends.
//!
//! The caches of a node may be older than its changes, so both questions are answered inside the transaction: whether the author's
//! role is temporary, and whether the change makes an administrator.

use deskpass_core::{EmployeeKey, Role, RoleRule, Roles};

use crate::access_rules::read_role_rules;
use crate::database::Tx;
use crate::directory::roles_of;
use crate::locks::{lock_administration, lock_agent, lock_employee};
use crate::{ChangeAuthor, ChangeError, Result, Revocation, Store};

/// What a change gives.
#[derive(Clone, Debug)]
pub(crate) enum Gift {
    /// These roles, to an employee.
    Roles(EmployeeKey, Roles),
    /// Those of these roles that the employee does not hold.
    MissingRoles(EmployeeKey, Roles),
    /// A way to act as an employee: the account is enabled, linked, gets another password or device, or its holder is confirmed.
    Account(EmployeeKey),
    /// The rules that give roles in a corporation.
    Rules(String, Vec<RoleRule>),
}

impl Store {
    /// Makes a change as [`Self::write_as`], unless its author is a temporary administrator, who must not give this.
    pub(crate) async fn write_giving<T: Send + 'static>(
        &self,
        by: ChangeAuthor,
        gift: Gift,
        work: impl Fn(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T, ChangeError> {
        let giver = administrator_of(&by).cloned();
        let change = move |tx: &mut Tx<'_>| match &giver {
            Some(giver) if is_temporary_admin(tx, giver)? && gift.is_reserved(tx, giver)? => Ok(None),
            _ => work(tx).map(Some),
        };
        self.write_as(by, change).await?.ok_or(ChangeError::Revoked(Revocation::RoleIsTemporary))
    }
}

impl Gift {
    /// Whether only an administrator whose role does not end by itself may give this. A temporary one gives themself no role, and
    /// nobody what makes an administrator: that person could give the role back. The rows stay locked until the transaction ends.
    fn is_reserved(&self, tx: &Tx<'_>, giver: &EmployeeKey) -> Result<bool> {
        match self {
            Self::Roles(to, roles) => Ok(is_reserved_role(*roles, to, giver)),
            Self::MissingRoles(to, roles) => {
                lock_employee(tx, to)?;
                let held = roles_of(tx, to)?;
                let missing = roles.iter().filter(|role| !held.holds(*role)).collect();
                Ok(is_reserved_role(missing, to, giver))
            }
            Self::Account(of) => {
                lock_agent(tx, of)?;
                lock_employee(tx, of)?;
                is_admin(tx, of)
            }
            Self::Rules(corp, rules) => {
                lock_administration(tx)?;
                let registered = read_role_rules(tx)?.remove(corp).unwrap_or_default();
                // Whom a rule matches, the platform decides: any new one may give a role to its author.
                Ok(rules.iter().any(|rule| !registered.contains(rule)))
            }
        }
    }
}

fn is_reserved_role(roles: Roles, to: &EmployeeKey, giver: &EmployeeKey) -> bool {
    !roles.is_empty() && (to == giver || roles.holds(Role::Admin))
}

/// The employee in whose session an administrator makes a change.
fn administrator_of(by: &ChangeAuthor) -> Option<&EmployeeKey> {
    match by {
        ChangeAuthor::Session(actor) if actor.role == Some(Role::Admin) => Some(&actor.employee),
        _ => None,
    }
}

/// Whether the only reason for the role of an administrator is one that ends.
fn is_temporary_admin(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<bool> {
    let text = "SELECT 1 FROM user_role WHERE corp_id = $1 AND employee_key = $2 AND role_id = $3
        AND until IS NOT NULL AND by_hand = 0 AND by_rule = 0";
    tx.exists(text, &args![employee.corp(), employee.id(), Role::Admin])
}

/// Whether an employee would sign in as an administrator, if they may sign in.
fn is_admin(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<bool> {
    let text = "SELECT 1 FROM user_role WHERE corp_id = $1 AND employee_key = $2 AND role_id = $3
        UNION ALL SELECT 1 FROM agent WHERE corp_id = $1 AND employee_key = $2 AND role_id = $3 AND device_only = 0";
    tx.exists(text, &args![employee.corp(), employee.id(), Role::Admin])
}
