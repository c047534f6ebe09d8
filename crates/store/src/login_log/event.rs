//! What can happen.

macro_rules! events {
    ($($(#[$doc:meta])* $event:ident = $word:literal,)+) => {
        /// What happened.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AuditEvent {
            $($(#[$doc])* $event,)+
        }

        impl AuditEvent {
            /// Everything that can happen.
            pub const ALL: &'static [Self] = &[$(Self::$event),+];

            /// The words in the log.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// The word in the log.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$event => $word,)+
                }
            }

            /// The event with this word.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|event| event.name() == name)
            }
        }
    };
}

events! {
    /// Somebody signed in.
    SignIn = "sign_in",
    /// Somebody who wanted to was turned away.
    SignInRefused = "sign_in_refused",
    /// Requests that name no employee were refused, more than get a row each.
    RefusalsSummarised = "refusals_summarised",
    /// Somebody signed out.
    Logout = "logout",
    /// Somebody ended one of their other sessions.
    SessionEnded = "session_ended",
    /// Somebody ended several of their sessions at once.
    LogoutAll = "logout_all",
    /// Somebody said of one of their sign-ins that it was somebody else's.
    SignInDisowned = "sign_in_disowned",
    /// Somebody chose another role.
    SwitchRole = "switch_role",
    /// Somebody wanted a role that they may not act in.
    SwitchRoleRefused = "switch_role_refused",
    /// A one-time password was not good.
    OtpRefused = "otp_refused",
    /// A device was bound by its owner.
    DeviceBound = "device_bound",
    /// A device was unbound by its owner.
    DeviceUnbound = "device_unbound",
    /// An agent set their password.
    PasswordChanged = "password_changed",
    /// An agent who wanted to was turned away.
    PasswordRefused = "password_refused",
    /// Somebody wanted to administrate who may not.
    AdministrationRefused = "administration_refused",
    /// An employee was entered.
    EmployeeAdded = "employee_added",
    /// An employee was shut out.
    EmployeeDisabled = "employee_disabled",
    /// An employee was let in again.
    EmployeeEnabled = "employee_enabled",
    /// Roles were given or taken away.
    RolesChanged = "roles_changed",
    /// Sessions of somebody were ended by somebody else.
    SessionsEnded = "sessions_ended",
    /// An employee became an agent.
    AgentAdded = "agent_added",
    /// An agent's record got another role.
    AgentRoleChanged = "agent_role_changed",
    /// An agent's record counts no more.
    AgentDisabled = "agent_disabled",
    /// An agent's record counts again.
    AgentEnabled = "agent_enabled",
    /// Wrong guesses at an agent's secrets were forgotten.
    AgentUnlocked = "agent_unlocked",
    /// A device was unbound by somebody else.
    DeviceReset = "device_reset",
    /// A password was taken away.
    PasswordReset = "password_reset",
    /// Somebody of a connected corporation may act as an employee.
    LinkApproved = "link_approved",
    /// They may no more.
    LinkRemoved = "link_removed",
    /// The allow-lists were changed.
    IpRulesChanged = "ip_rules_changed",
    /// A service key was made.
    ServiceKeyCreated = "service_key_created",
    /// The chains of this log were begun anew with another key.
    LogRestarted = "log_restarted",
    /// A service key counts no more.
    ServiceKeyRevoked = "service_key_revoked",
    /// The time that the service goes by was set.
    ClockSet = "clock_set",
}
