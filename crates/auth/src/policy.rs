//! The policy of a deployment. A reload of the settings makes a new one; a flow keeps that with which it began.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::oidc::ClientRegistration;
use deskpass_core::{
    CorpId, Digest, LoginMethod, Networks, PermissionMatrix, PlatformVouching, Rate, Role, RoleRule, Roles,
};

/// The policy of a deployment.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The home corporation.
    pub home_corp: CorpId,
    /// The lifetime of a session, regardless of activity.
    pub session_lifetime: Duration,
    /// The maximum number of sessions of an employee.
    pub max_sessions_per_employee: Option<usize>,
    /// The role of a user whom the platform vouches for and who holds none.
    pub default_role: Option<Role>,
    /// Who may sign in by naming an employee.
    pub bind: BindPolicy,
    /// How agents sign in without the platform.
    pub agents: AgentPolicy,
    /// Whether a ticket's holder learns at once who scanned its code, before the prompt was shown. Development mode only.
    pub reveal_scanner_at_once: bool,
    /// The permission matrix.
    pub matrix: PermissionMatrix,
    /// How long log rows are kept.
    pub log_retention: Duration,
    /// Whether requests are rate limited.
    pub limits_requests: bool,
    /// The maximum number of sockets of an employee on one node.
    pub sockets_per_employee: usize,
    /// The OpenID Connect provider.
    pub oidc: OidcPolicy,
    /// Questions to phones.
    pub questions: QuestionPolicy,
    /// How the service follows people at the platform.
    pub people: PeoplePolicy,
    /// How many codes the platform is asked about whose sign-ins did not begin here.
    pub foreign_codes: ForeignCodePolicy,
    /// The rates of the requests of which a record is kept.
    pub kept_requests: KeptRequestPolicy,
}

/// The rates of requests of which a record is kept for a while; `None` for no limit. A network keeps as many records as they allow
/// one address in that time.
#[derive(Clone, Copy, Debug)]
pub struct KeptRequestPolicy {
    /// Begun sign-ins, from one address.
    pub begun: Option<Rate>,
    /// QR codes, from one address.
    pub codes: Option<Rate>,
    /// Requests of OpenID Connect clients, from one address.
    pub oidc: Option<Rate>,
    /// New claims on the platform's codes, from one network: two for each later step of a sign-in from one address.
    pub code_claims: Option<Rate>,
}

/// The rates of codes that arrive without a sign that the sign-in began here; `None` for no limit.
#[derive(Clone, Copy, Debug)]
pub struct ForeignCodePolicy {
    /// From one address or IPv6 /64.
    pub per_address: Option<Rate>,
    /// From one nearby network (IPv4 /24, IPv6 /48).
    pub per_network: Option<Rate>,
    /// From all of them.
    pub in_total: Option<Rate>,
}

/// The settings of questions to phones.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct QuestionPolicy {
    /// Whether a one-time password is accepted for operations of high risk.
    pub accepts_otp: bool,
    /// Whether an approval on the phone is accepted for operations of high risk.
    pub accepts_phone: bool,
    /// Whether the password or the device of an agent is reset only after the agent was verified as a caller.
    pub verify_before_reset: bool,
    /// Whether any browser may answer, not only a phone's. Development mode only.
    pub any_browser_is_a_phone: bool,
}

/// How the service follows people at the platform.
#[derive(Clone, Debug)]
pub struct PeoplePolicy {
    /// How often the platform is asked about each person with a session; `None` turns that off.
    pub recheck_period: Option<Duration>,
    /// How often the directory of the platform is read; `None` turns that off.
    pub sync_period: Option<Duration>,
    /// The role rules of the settings file.
    pub role_rules: Arc<Vec<RoleRule>>,
}

/// The settings of the OpenID Connect provider.
#[derive(Clone, Debug)]
pub struct OidcPolicy {
    /// The issuer: the public address of the service, without a slash at its end.
    pub issuer: String,
    /// The clients of the settings file, by id. They win over registered ones with the same id.
    pub clients: Arc<HashMap<String, FileClient>>,
    /// The domain of the addresses of employees of the home corporation who have no other: `{employee_id}@{domain}`.
    pub email_domain: Option<String>,
    /// Whether groups contain the name of a department that others have, too.
    pub shared_department_names: bool,
    /// Whether the service runs in production, where clients must use HTTPS.
    pub production: bool,
}

/// An OpenID Connect client of the settings file.
#[derive(Clone, Debug)]
pub struct FileClient {
    /// The registration.
    pub registration: ClientRegistration,
    /// The SHA-256 of each valid secret.
    pub secrets: Vec<Digest>,
}

/// How agents sign in without the platform.
#[derive(Clone, Copy, Debug)]
pub struct AgentPolicy {
    /// When passwords are accepted.
    pub fallback: PasswordPolicy,
    /// Whether sessions and devices without platform vouching count as proven. Development mode only.
    pub trust_unproven: bool,
}

/// When agents' passwords are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordPolicy {
    /// Always.
    Always,
    /// While the platform is down.
    Outage,
    /// Never.
    Off,
}

/// Who may sign in by naming an employee.
#[derive(Clone, Debug)]
pub enum BindPolicy {
    /// Any client. Development mode only.
    Open,
    /// Clients in these networks. They cannot act as administrator.
    OpenTo(Networks),
    /// Users whom the platform has identified.
    Proof,
    /// No one.
    Off,
}

impl Policy {
    /// The roles that are effective in a session, out of those the employee holds and the default role.
    pub(crate) fn effective_roles(
        &self,
        method: LoginMethod,
        vouched: PlatformVouching,
        default_role: Option<Role>,
        held: Roles,
    ) -> Roles {
        let held = default_role.map_or(held, |role| held.with(role));
        match (method, vouched.is_vouched(), &self.bind) {
            // Anyone who has an agent's password can bind a device of their own to it. That must not lead to the administrator
            // role, unless the platform vouched for the device's owner.
            (LoginMethod::Password, false, _) if !self.agents.trust_unproven => held.without(Role::Admin),
            // Outside development mode, any client in the network could name any employee, so this method must not lead to the
            // administrator role: neither when the session begins, nor after the policy was tightened.
            (LoginMethod::Bind, false, BindPolicy::OpenTo(_) | BindPolicy::Proof | BindPolicy::Off) => {
                held.without(Role::Admin)
            }
            _ => held,
        }
    }
}
