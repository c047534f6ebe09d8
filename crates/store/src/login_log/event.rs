//! The kinds of audit events.

macro_rules! events {
    ($($(#[$doc:meta])* $event:ident = $word:literal,)+) => {
        /// The kind of an audit event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AuditEvent {
            $($(#[$doc])* $event,)+
        }

        impl AuditEvent {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$event),+];

            /// The names of all kinds in the log.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// The kind's name in the log.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$event => $word,)+
                }
            }

            /// The kind with this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|event| event.name() == name)
            }
        }
    };
}

events! {
    /// A user signed in.
    SignIn = "sign_in",
    /// A sign-in was refused.
    SignInRefused = "sign_in_refused",
    /// Requests that name no employee were refused, more than are logged individually.
    RefusalsSummarised = "refusals_summarised",
    /// A user signed out.
    Logout = "logout",
    /// A user ended one of their other sessions.
    SessionEnded = "session_ended",
    /// A user ended several of their sessions at once.
    LogoutAll = "logout_all",
    /// A user disowned one of their sign-ins.
    SignInDisowned = "sign_in_disowned",
    /// A user switched to another role.
    SwitchRole = "switch_role",
    /// A user was refused a role.
    SwitchRoleRefused = "switch_role_refused",
    /// A one-time password was refused.
    OtpRefused = "otp_refused",
    /// The owner bound a device.
    DeviceBound = "device_bound",
    /// The owner unbound a device.
    DeviceUnbound = "device_unbound",
    /// An agent set their password.
    PasswordChanged = "password_changed",
    /// An agent was refused setting their password.
    PasswordRefused = "password_refused",
    /// A user was refused an administrative action.
    AdministrationRefused = "administration_refused",
    /// An employee was added.
    EmployeeAdded = "employee_added",
    /// An employee was disabled.
    EmployeeDisabled = "employee_disabled",
    /// An employee was enabled again.
    EmployeeEnabled = "employee_enabled",
    /// Roles were granted or revoked.
    RolesChanged = "roles_changed",
    /// Another user ended sessions of an employee.
    SessionsEnded = "sessions_ended",
    /// An employee became an agent.
    AgentAdded = "agent_added",
    /// The role of an agent record was changed.
    AgentRoleChanged = "agent_role_changed",
    /// An agent record was disabled.
    AgentDisabled = "agent_disabled",
    /// An agent record was enabled again.
    AgentEnabled = "agent_enabled",
    /// Failed attempts at an agent's credentials were cleared.
    AgentUnlocked = "agent_unlocked",
    /// Another user unbound a device.
    DeviceReset = "device_reset",
    /// A password was removed.
    PasswordReset = "password_reset",
    /// An identity of a connected corporation was linked to an employee.
    LinkApproved = "link_approved",
    /// Such a link was removed.
    LinkRemoved = "link_removed",
    /// The allow lists were changed.
    IpRulesChanged = "ip_rules_changed",
    /// A service key was created.
    ServiceKeyCreated = "service_key_created",
    /// The chains of this log were restarted with another key.
    LogRestarted = "log_restarted",
    /// A service key was revoked.
    ServiceKeyRevoked = "service_key_revoked",
    /// The time of the service was set.
    ClockSet = "clock_set",
}
