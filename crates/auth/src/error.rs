//! What a flow can end in besides success.
//!
//! A refusal is raised on purpose and reaches the client as it is. Everything else is internal: errors of the store and of the
//! platform turn into [`Internal`] by `?` and can never become a refusal.

use deskpass_core::{NoEntropy, Role, Roles, ServiceScope, Shut, Weakness};
use deskpass_store::{Ended, SealError, StoreError};
use serde::{Deserialize, Serialize};

/// Why a flow did not succeed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// On purpose.
    #[error("refused: {0:?}")]
    Refused(#[from] Refusal),
    /// By misfortune.
    #[error(transparent)]
    Internal(#[from] Internal),
}

/// No, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Refusal {
    /// The token does not open anything. Nobody leaves that for another node to tell.
    #[error("token: {0:?}")]
    #[serde(skip)]
    Token(TokenProblem),
    /// The employee must first be known through the platform.
    #[error("unknown employee")]
    UnknownEmployee,
    /// The employee was shut out.
    #[error("disabled")]
    Disabled,
    /// The employee holds no role.
    #[error("no role")]
    NoRole,
    /// The role asked for is not held.
    #[error("role not held")]
    RoleNotHeld(String),
    /// The active role was taken away since it was chosen.
    #[error("role taken away")]
    RoleTakenAway(Role),
    /// There is no such role.
    #[error("no such role")]
    NoSuchRole(String),
    /// Somebody said no at the platform.
    #[error("denied at the platform")]
    Denied,
    /// Somebody said no on their phone.
    #[error("cancelled")]
    Cancelled,
    /// The platform's code is used, old, or was brought by another browser.
    #[error("code not good")]
    InvalidCode,
    /// The platform knows them, but not as anyone's employee.
    #[error("not a member")]
    NotAMember,
    /// The platform's code stands for another person than the one who is named.
    #[error("somebody else's code")]
    SomebodyElse,
    /// The sign-in was decided, was taken by another phone, or is over.
    #[error("sign-in over")]
    Over,
    /// The object is there already.
    #[error("exists already")]
    Exists,
    /// The operation needs a fresh one-time password.
    #[error("one-time password needed")]
    OtpNeeded,
    /// The one-time password is wrong, or was used.
    #[error("one-time password wrong")]
    OtpWrong,
    /// There is no device that makes one-time passwords.
    #[error("no device")]
    NoDevice,
    /// There is one already.
    #[error("device bound already")]
    DeviceBound,
    /// What is to be bound was never set up, is too old, or was replaced.
    #[error("setup over")]
    DeviceSetupOver,
    /// The password is wrong, or nobody bears that name.
    #[error("password wrong")]
    PasswordWrong,
    /// The agent has no password yet.
    #[error("no password")]
    NoPassword,
    /// Too many guesses were wrong.
    #[error("shut: {0:?}")]
    Shut(Shut),
    /// The new password is too easy to guess. Nobody leaves that for another node to tell.
    #[error("weak password: {0:?}")]
    #[serde(skip)]
    Weak(Weakness),
    /// The new password is the old one.
    #[error("same password")]
    SamePassword,
    /// A password is changed by whoever knows the old one.
    #[error("old password needed")]
    OldPasswordNeeded,
    /// They do not know it.
    #[error("old password wrong")]
    OldPasswordWrong,
    /// The code for setting a password is wrong, used or too old.
    #[error("setup code not good")]
    SetupCodeWrong,
    /// A first password needs more than this session says.
    #[error("not proven")]
    NotProven,
    /// Nobody signs in with a password.
    #[error("passwords are off")]
    PasswordOff,
    /// Nobody signs in with a password while the platform can be reached.
    #[error("the platform works")]
    PlatformWorks,
    /// It is for agents.
    #[error("not an agent")]
    NotAnAgent,
    /// There is no such agent.
    #[error("no such agent")]
    NoSuchAgent,
    /// It is for another active role.
    #[error("not permitted")]
    NotPermitted,
    /// It is for these active roles. Nobody leaves that for another node to tell.
    #[error("role needed")]
    #[serde(skip)]
    RoleNeeded(Roles),
    /// The access matrix does not give it to the active role.
    #[error("not granted")]
    NotGranted,
    /// The service key is not for this.
    #[error("scope needed")]
    #[serde(skip)]
    ScopeNeeded(ServiceScope),
    /// The role may not be active from that address.
    #[error("address not allowed")]
    AddressNotAllowed(Role),
    /// There is no such employee, for an administrator to see.
    #[error("no such employee")]
    NoSuchEmployee,
    /// There is no such session, or it is somebody else's.
    #[error("no such session")]
    NoSuchSession,
    /// There is no such service key.
    #[error("no such service key")]
    NoSuchKey,
    /// There is no such link.
    #[error("no such link")]
    NoSuchLink,
    /// Without them nobody could administrate any more.
    #[error("the last administrator")]
    LastAdmin,
    /// The list would keep whoever sets it from acting in this role.
    #[error("would shut you out")]
    WouldShutYouOut(Role),
    /// As many passwords are being looked at as there is room for.
    #[error("busy")]
    Busy,
}

impl Refusal {
    /// The word that programs and the log go by.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Token(problem) => problem.name(),
            Self::UnknownEmployee => "unknown_employee",
            Self::Disabled => "disabled",
            Self::NoRole => "no_role",
            Self::RoleNotHeld(_) => "role_not_held",
            Self::RoleTakenAway(_) => "role_taken_away",
            Self::NoSuchRole(_) => "no_such_role",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::InvalidCode => "invalid_code",
            Self::NotAMember => "not_a_member",
            Self::SomebodyElse => "somebody_else",
            Self::Over => "over",
            Self::Exists => "exists",
            Self::OtpNeeded => "otp_needed",
            Self::OtpWrong => "otp_wrong",
            Self::NoDevice => "no_device",
            Self::DeviceBound => "device_bound",
            Self::DeviceSetupOver => "setup_over",
            Self::PasswordWrong => "password_wrong",
            Self::NoPassword => "no_password",
            Self::Shut(Shut::For(_)) => "too_many_failures",
            Self::Shut(Shut::UntilUnlocked) => "locked",
            Self::Weak(_) => "weak_password",
            Self::SamePassword => "same_password",
            Self::OldPasswordNeeded => "old_password_needed",
            Self::OldPasswordWrong => "old_password_wrong",
            Self::SetupCodeWrong => "setup_code",
            Self::NotProven => "not_proven",
            Self::PasswordOff => "password_off",
            Self::PlatformWorks => "platform_works",
            Self::NotAnAgent => "not_an_agent",
            Self::NoSuchAgent => "no_such_agent",
            Self::NotPermitted => "role_needed",
            Self::RoleNeeded(_) => "role_needed",
            Self::NotGranted => "not_permitted",
            Self::ScopeNeeded(_) => "scope_needed",
            Self::AddressNotAllowed(_) => "address_not_allowed",
            Self::NoSuchEmployee => "no_such_employee",
            Self::NoSuchSession => "no_such_session",
            Self::NoSuchKey => "no_such_key",
            Self::NoSuchLink => "no_such_link",
            Self::LastAdmin => "last_admin",
            Self::WouldShutYouOut(_) => "would_shut_you_out",
            Self::Busy => "busy",
        }
    }

    /// The word in the log, unless it is no refusal that anybody looks for there: what cannot be read, what is asked for
    /// first, and whoever comes in a flood.
    pub(crate) const fn recorded_as(&self) -> Option<&'static str> {
        match self {
            Self::Busy
            | Self::Token(_)
            | Self::OtpNeeded
            | Self::NoDevice
            | Self::DeviceBound
            | Self::Weak(_)
            | Self::SamePassword
            | Self::OldPasswordNeeded
            | Self::NoSuchRole(_)
            | Self::NoSuchAgent
            | Self::NoSuchEmployee
            | Self::NoSuchSession
            | Self::NoSuchKey
            | Self::NoSuchLink
            | Self::Exists => None,
            _ => Some(self.word()),
        }
    }

    /// What it is about, for the log.
    pub(crate) fn detail(&self) -> String {
        match self {
            Self::RoleNotHeld(role) => format!("role {role}"),
            Self::RoleTakenAway(role) | Self::AddressNotAllowed(role) | Self::WouldShutYouOut(role) => {
                format!("role {role}")
            }
            _ => String::new(),
        }
    }
}

/// What is wrong with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenProblem {
    /// There is none.
    Missing,
    /// It cannot be read.
    Malformed,
    /// Nobody made it, or it is long gone.
    Unknown,
    /// Its time is over.
    Expired,
    /// It was ended before its time.
    Ended(Ended),
    /// It is good for completing a sign-in, and for nothing else.
    HalfAuthenticated,
}

impl TokenProblem {
    /// The word clients see.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Malformed => "malformed",
            Self::Unknown => "unknown",
            Self::Expired => "expired",
            Self::Ended(ended) => ended.name(),
            Self::HalfAuthenticated => "half_authenticated",
        }
    }
}

/// Something broke.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Internal {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The platform failed.
    #[error(transparent)]
    Platform(#[from] deskpass_wecom::Error),
    /// It failed on another node, which knows more.
    #[error("it failed on another node")]
    Elsewhere {
        /// Whether the platform was at fault.
        platform: bool,
    },
    /// There is no randomness to make a secret of.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// A secret could not be sealed.
    #[error(transparent)]
    Sealing(#[from] SealError),
    /// A password could not be hashed.
    #[error("a password could not be hashed")]
    Hashing,
    /// What was sealed does not open.
    #[error(
        "a device's secret does not open: encryption_key is another one, or the record was moved or changed; reset the device"
    )]
    Unopened,
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Internal(error.into())
    }
}

impl From<deskpass_wecom::Error> for Error {
    fn from(error: deskpass_wecom::Error) -> Self {
        Self::Internal(error.into())
    }
}

impl From<SealError> for Error {
    fn from(error: SealError) -> Self {
        Self::Internal(error.into())
    }
}

impl From<NoEntropy> for Error {
    fn from(error: NoEntropy) -> Self {
        Self::Internal(error.into())
    }
}
