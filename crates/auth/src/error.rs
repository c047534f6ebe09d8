//! The errors of a flow.
//!
//! A refusal is deliberate and reaches the client unchanged. Every other error is internal: errors of the store and of the
//! platform turn into [`InternalError`] by `?` and can never become a refusal.

use std::time::Duration;

use deskpass_core::{ChunkOutOfOrder, Lockout, NoEntropy, Role, Roles, ServiceScope, Weakness};
use deskpass_store::{ChangeError, EndReason, Revocation, SealError, StoreError};
use serde::{Deserialize, Serialize};

use crate::Reason;

/// Why a flow did not succeed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// A deliberate refusal.
    #[error("refused: {0:?}")]
    Refused(#[from] Refusal),
    /// An internal failure.
    #[error(transparent)]
    Internal(#[from] InternalError),
}

/// The reason for a refusal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Refusal {
    /// The token is not valid. Never stored for other nodes.
    #[error("token: {0:?}")]
    #[serde(skip)]
    Token(TokenError),
    /// The token became invalid while the request was processed. Never stored for other nodes.
    #[error("revoked meanwhile: {0:?}")]
    #[serde(skip)]
    Revoked(TokenError),
    /// The employee is unknown, or not identified by the platform.
    #[error("unknown employee")]
    UnknownEmployee,
    /// The employee is disabled.
    #[error("disabled")]
    Disabled,
    /// The employee holds no role.
    #[error("no role")]
    NoRole,
    /// The employee does not hold the requested role.
    #[error("role not held")]
    RoleNotHeld(String),
    /// The active role was taken away after it was chosen.
    #[error("role taken away")]
    RoleTakenAway(Role),
    /// The role does not exist.
    #[error("no such role")]
    NoSuchRole(String),
    /// The user declined at the platform.
    #[error("denied at the platform")]
    Denied,
    /// The user declined on the phone.
    #[error("cancelled")]
    Cancelled,
    /// The platform's code is used, expired, or was brought by another browser.
    #[error("code not good")]
    InvalidCode,
    /// The platform knows the user, but not as a member of a corporation.
    #[error("not a member")]
    NotAMember,
    /// The platform's code belongs to another person than the named employee.
    #[error("code of another person")]
    SomebodyElse,
    /// The sign-in was decided, was claimed by another phone, or has expired.
    #[error("sign-in over")]
    Over,
    /// The object exists already.
    #[error("exists already")]
    Exists,
    /// The operation needs a fresh one-time password.
    #[error("one-time password needed")]
    OtpNeeded,
    /// The one-time password is wrong or used.
    #[error("one-time password wrong")]
    OtpWrong,
    /// No device for one-time passwords is bound.
    #[error("no device")]
    NoDevice,
    /// A device is bound already.
    #[error("device bound already")]
    DeviceBound,
    /// The device setup does not exist, has expired, or was replaced.
    #[error("setup over")]
    DeviceSetupOver,
    /// The password is wrong, or there is no such agent.
    #[error("password wrong")]
    PasswordWrong,
    /// The agent has no password yet.
    #[error("no password")]
    NoPassword,
    /// Too many attempts failed.
    #[error("shut: {0:?}")]
    Shut(Lockout),
    /// The new password is too easy to guess. Never stored for other nodes.
    #[error("weak password: {0:?}")]
    #[serde(skip)]
    Weak(Weakness),
    /// The new password equals the old one.
    #[error("same password")]
    SamePassword,
    /// Changing a password needs the old one.
    #[error("old password needed")]
    OldPasswordNeeded,
    /// The old password is wrong.
    #[error("old password wrong")]
    OldPasswordWrong,
    /// The setup code is wrong, used or expired.
    #[error("setup code not good")]
    SetupCodeWrong,
    /// Setting a first password or device needs a session that the platform vouched for.
    #[error("not proven")]
    NotProven,
    /// Setting a first password or device needs a sign-in that is only minutes old.
    #[error("recent sign-in needed")]
    RecentSignInNeeded,
    /// The device was bound without platform vouching, and is not accepted for operations of high risk.
    #[error("device not proven")]
    DeviceNotProven,
    /// Passwords are disabled.
    #[error("passwords are off")]
    PasswordOff,
    /// Passwords are accepted only while the platform cannot be reached.
    #[error("the platform works")]
    PlatformWorks,
    /// The operation is for agents.
    #[error("not an agent")]
    NotAnAgent,
    /// There is no such agent.
    #[error("no such agent")]
    NoSuchAgent,
    /// The operation is for another active role.
    #[error("not permitted")]
    NotPermitted,
    /// The operation is for these active roles. Never stored for other nodes.
    #[error("role needed")]
    #[serde(skip)]
    RoleNeeded(Roles),
    /// The permission matrix does not grant the operation to the active role.
    #[error("not granted")]
    NotGranted,
    /// The service key does not have this scope.
    #[error("scope needed")]
    #[serde(skip)]
    ScopeNeeded(ServiceScope),
    /// The role may not be active from the client's address.
    #[error("address not allowed")]
    AddressNotAllowed(Role),
    /// There is no such employee within the administrator's scope.
    #[error("no such employee")]
    NoSuchEmployee,
    /// There is no such session, or it belongs to another employee.
    #[error("no such session")]
    NoSuchSession,
    /// There is no such sign-in, or it belongs to another employee.
    #[error("no such sign-in")]
    NoSuchSignIn,
    /// There is no such service key.
    #[error("no such service key")]
    NoSuchKey,
    /// There is no such link.
    #[error("no such link")]
    NoSuchLink,
    /// The change would leave the corporation without an administrator.
    #[error("the last administrator")]
    LastAdmin,
    /// The allow-list would lock the caller out of this role.
    #[error("would shut you out")]
    WouldShutYouOut(Role),
    /// The message at this index does not follow in its stream. Never stored for other nodes.
    #[error("out of stream")]
    #[serde(skip)]
    OutOfStream(usize, ChunkOutOfOrder),
    /// Too many refusals; the client may retry after this time.
    #[error("too often")]
    TooOften(Duration),
    /// The queue of passwords to be checked is full.
    #[error("busy")]
    Busy,
}

impl Refusal {
    /// The name of the reason, for clients and for the log.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.reason().name()
    }

    /// The reason.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        match self {
            Self::Token(problem) | Self::Revoked(problem) => problem.reason(),
            Self::UnknownEmployee => Reason::UnknownEmployee,
            Self::Disabled => Reason::Disabled,
            Self::NoRole => Reason::NoRole,
            Self::RoleNotHeld(_) => Reason::RoleNotHeld,
            Self::RoleTakenAway(_) => Reason::RoleTakenAway,
            Self::NoSuchRole(_) => Reason::NoSuchRole,
            Self::Denied => Reason::Denied,
            Self::Cancelled => Reason::Cancelled,
            Self::InvalidCode => Reason::InvalidCode,
            Self::NotAMember => Reason::NotAMember,
            Self::SomebodyElse => Reason::SomebodyElse,
            Self::Over => Reason::Over,
            Self::Exists => Reason::Exists,
            Self::OtpNeeded => Reason::OtpNeeded,
            Self::OtpWrong => Reason::OtpWrong,
            Self::NoDevice => Reason::NoDevice,
            Self::DeviceBound => Reason::DeviceBound,
            Self::DeviceSetupOver => Reason::SetupOver,
            Self::PasswordWrong => Reason::PasswordWrong,
            Self::NoPassword => Reason::NoPassword,
            Self::Shut(Lockout::For(_)) => Reason::TooManyFailures,
            Self::Shut(Lockout::UntilUnlocked) => Reason::Locked,
            Self::Weak(_) => Reason::WeakPassword,
            Self::SamePassword => Reason::SamePassword,
            Self::OldPasswordNeeded => Reason::OldPasswordNeeded,
            Self::OldPasswordWrong => Reason::OldPasswordWrong,
            Self::SetupCodeWrong => Reason::SetupCode,
            Self::NotProven => Reason::NotProven,
            Self::RecentSignInNeeded => Reason::RecentSignInNeeded,
            Self::DeviceNotProven => Reason::DeviceNotProven,
            Self::PasswordOff => Reason::PasswordOff,
            Self::PlatformWorks => Reason::PlatformWorks,
            Self::NotAnAgent => Reason::NotAnAgent,
            Self::NoSuchAgent => Reason::NoSuchAgent,
            Self::NotPermitted | Self::RoleNeeded(_) => Reason::RoleNeeded,
            Self::NotGranted => Reason::NotPermitted,
            Self::ScopeNeeded(_) => Reason::ScopeNeeded,
            Self::AddressNotAllowed(_) => Reason::AddressNotAllowed,
            Self::NoSuchEmployee => Reason::NoSuchEmployee,
            Self::NoSuchSession => Reason::NoSuchSession,
            Self::NoSuchSignIn => Reason::NoSuchSignIn,
            Self::NoSuchKey => Reason::NoSuchKey,
            Self::NoSuchLink => Reason::NoSuchLink,
            Self::LastAdmin => Reason::LastAdmin,
            Self::WouldShutYouOut(_) => Reason::WouldShutYouOut,
            Self::OutOfStream(..) => Reason::OutOfStream,
            Self::TooOften(_) => Reason::TooOften,
            Self::Busy => Reason::Busy,
        }
    }

    /// The reason in the log. `None` for refusals that are not logged: unreadable input, missing prerequisites, and floods.
    pub(crate) const fn audit_reason(&self) -> Option<&'static str> {
        match self {
            Self::Busy
            | Self::OutOfStream(..)
            | Self::TooOften(_)
            | Self::Token(_)
            | Self::OtpNeeded
            | Self::NoDevice
            | Self::DeviceNotProven
            | Self::DeviceBound
            | Self::Weak(_)
            | Self::SamePassword
            | Self::OldPasswordNeeded
            | Self::NoSuchRole(_)
            | Self::NoSuchAgent
            | Self::NoSuchEmployee
            | Self::NoSuchSession
            | Self::NoSuchSignIn
            | Self::NoSuchKey
            | Self::NoSuchLink
            | Self::Exists => None,
            _ => Some(self.name()),
        }
    }

    /// The detail column in the log.
    pub(crate) fn detail(&self) -> String {
        match self {
            // An unknown role name may be any text from the wrong field, even a token, so it is not logged.
            Self::RoleNotHeld(role) => match Role::from_name(role) {
                Some(role) => format!("role {role}"),
                None => "no such role".to_owned(),
            },
            Self::RoleTakenAway(role) | Self::AddressNotAllowed(role) | Self::WouldShutYouOut(role) => {
                format!("role {role}")
            }
            _ => String::new(),
        }
    }
}

/// The problem with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// The request has no token.
    Missing,
    /// The token cannot be parsed.
    Malformed,
    /// The token was never issued, or its record has been removed.
    Unknown,
    /// The session has expired.
    Expired,
    /// The session was ended before it expired.
    Ended(EndReason),
    /// The token is of a partial session, which can only be completed or signed out.
    HalfAuthenticated,
}

impl TokenError {
    /// The reason, one for each name that clients see.
    #[must_use]
    pub const fn reason(self) -> Reason {
        match self {
            Self::Missing => Reason::Missing,
            Self::Malformed => Reason::Malformed,
            Self::Unknown => Reason::Unknown,
            Self::Expired => Reason::Expired,
            Self::Ended(EndReason::SignedOut) => Reason::SignedOut,
            Self::Ended(EndReason::Kicked) => Reason::Kicked,
            Self::Ended(EndReason::Disabled) => Reason::Disabled,
            Self::HalfAuthenticated => Reason::HalfAuthenticated,
        }
    }
}

/// An internal failure.
#[derive(Clone, Debug, thiserror::Error)]
pub enum InternalError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The platform failed.
    #[error(transparent)]
    Platform(#[from] deskpass_wecom::Error),
    /// The flow failed on another node, whose log has the cause.
    #[error("it failed on another node")]
    OtherNode {
        /// Whether the platform was at fault.
        platform: bool,
    },
    /// The system provides no randomness for a secret.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// A secret could not be sealed.
    #[error(transparent)]
    Sealing(#[from] SealError),
    /// A password could not be hashed.
    #[error("a password could not be hashed")]
    Hashing,
    /// A sealed secret cannot be opened.
    #[error(
        "cannot decrypt a device's secret: encryption_key differs, or the record was moved or changed; reset the device"
    )]
    UnsealFailed,
}

impl From<Revocation> for Refusal {
    fn from(revoked: Revocation) -> Self {
        match revoked {
            Revocation::Ended(ended) => Self::Revoked(TokenError::Ended(ended)),
            Revocation::Expired => Self::Revoked(TokenError::Expired),
            Revocation::Unknown => Self::Revoked(TokenError::Unknown),
            Revocation::RoleSwitched => Self::NotPermitted,
            Revocation::RoleTakenAway(role) => Self::RoleTakenAway(role),
            Revocation::AddressNotAllowed(role) => Self::AddressNotAllowed(role),
        }
    }
}

impl From<ChangeError> for Error {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Revoked(revoked) => Self::Refused(revoked.into()),
            ChangeError::Store(error) => error.into(),
        }
    }
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
