//! What a deployment allows, decided once at start.

use std::time::Duration;

use deskpass_core::{CorpId, LoginMethod, Networks, PermissionMatrix, PlatformVouching, Role, Roles};

/// The rules of this desk.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The corporation whose people work here.
    pub home_corp: CorpId,
    /// How long a session lives, whatever happens in it.
    pub session_lifetime: Duration,
    /// How many sessions a person may have at once.
    pub max_sessions_per_employee: Option<usize>,
    /// The role of whoever the platform vouches for and nobody gave one.
    pub default_role: Option<Role>,
    /// Who may bind.
    pub bind: BindPolicy,
    /// How agents get in without the platform.
    pub agents: AgentPolicy,
    /// Whether a ticket's holder learns at once who has scanned its code, before the question was shown: development.
    pub reveal_scanner_at_once: bool,
    /// Who may do what.
    pub matrix: PermissionMatrix,
    /// How long the log is kept.
    pub log_retention: Duration,
    /// How many sockets a person may have at once on one node.
    pub sockets_per_employee: usize,
}

/// How agents get in without the platform.
#[derive(Clone, Copy, Debug)]
pub struct AgentPolicy {
    /// When a password counts.
    pub fallback: PasswordPolicy,
    /// Whether everybody's word is taken: development.
    pub trust_unproven: bool,
}

/// When an agent's password counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordPolicy {
    /// At any time.
    Always,
    /// While the platform cannot be used.
    Outage,
    /// Never.
    Off,
}

/// Who may sign in by naming an employee.
#[derive(Clone, Debug)]
pub enum BindPolicy {
    /// Anyone: development.
    Open,
    /// Anyone in these networks, who then cannot act as administrator.
    OpenTo(Networks),
    /// Only whom the platform has identified.
    Proof,
    /// Nobody.
    Off,
}

impl Policy {
    /// The roles that count in a session that began so, out of those its person holds and the one that was lent to them.
    pub(crate) fn effective_roles(
        &self,
        method: LoginMethod,
        vouched: PlatformVouching,
        lent: Option<Role>,
        held: Roles,
    ) -> Roles {
        let held = lent.map_or(held, |lent| held.with(lent));
        match (method, vouched.is_vouched(), &self.bind) {
            // Whoever has somebody's password can bind a device of their own to it. That must not lead to the top either,
            // unless the platform vouched for whoever bound it.
            (LoginMethod::Password, false, _) if !self.agents.trust_unproven => held.without(Role::Admin),
            // Outside development mode, whoever could reach the network could name any employee, so this way must not lead
            // to the top: not when the session began, nor after bind was closed.
            (LoginMethod::Bind, false, BindPolicy::OpenTo(_) | BindPolicy::Proof | BindPolicy::Off) => {
                held.without(Role::Admin)
            }
            _ => held,
        }
    }
}
