//! What a flow can end in besides success.
//!
//! A refusal is raised on purpose and reaches the client as it is. Everything else is internal: errors of the store and of the
//! platform turn into [`Internal`] by `?` and can never become a refusal.

use std::time::Duration;

use deskpass_core::{ChunkOutOfOrder, Lockout, NoEntropy, Role, Roles, ServiceScope, Weakness};
use deskpass_store::{ChangeError, EndReason, Revocation, SealError, StoreError};
use serde::{Deserialize, Serialize};

use crate::Reason;

/// Why a flow did not succeed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// On purpose.
    #[error("refused: {0:?}")]
    Refused(#[from] Refusal),
    /// By misfortune.
    #[error(transparent)]
    Internal(#[from] InternalError),
}

/// No, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Refusal {
    /// The token does not open anything. Nobody leaves that for another node to tell.
    #[error("token: {0:?}")]
    #[serde(skip)]
    Token(TokenError),
    /// The token stopped opening anything while the request was under way. Nobody leaves that for another node to tell.
    #[error("revoked meanwhile: {0:?}")]
    #[serde(skip)]
    Revoked(TokenError),
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
    Shut(Lockout),
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
    /// A first password or device needs more than this session says.
    #[error("not proven")]
    NotProven,
    /// A first password or device needs a sign-in that is only minutes old.
    #[error("recent sign-in needed")]
    RecentSignInNeeded,
    /// The device was bound without the platform's word, and does not count for operations of high risk.
    #[error("device not proven")]
    DeviceNotProven,
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
    /// There is no such sign-in, or it is somebody else's.
    #[error("no such sign-in")]
    NoSuchSignIn,
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
    /// Of the messages handed in, the one in this place does not follow in its stream. Nobody leaves that for another node
    /// to tell.
    #[error("out of stream")]
    #[serde(skip)]
    OutOfStream(usize, ChunkOutOfOrder),
    /// They were told so too often, by this much.
    #[error("too often")]
    TooOften(Duration),
    /// As many passwords are being looked at as there is room for.
    #[error("busy")]
    Busy,
}

impl Refusal {
    /// The word that programs and the log go by.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.reason().name()
    }

    /// The reason, one for each word.
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

    /// The word in the log, unless it is no refusal that anybody looks for there: what cannot be read, what is asked for
    /// first, and whoever comes in a flood.
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

    /// What it is about, for the log.
    pub(crate) fn detail(&self) -> String {
        match self {
            // What is no role may be anything that somebody put into the wrong field, a token too.
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

/// What is wrong with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// There is none.
    Missing,
    /// It cannot be read.
    Malformed,
    /// Nobody made it, or it is long gone.
    Unknown,
    /// Its time is over.
    Expired,
    /// It was ended before its time.
    Ended(EndReason),
    /// It is good for completing a sign-in, and for nothing else.
    HalfAuthenticated,
}

impl TokenError {
    /// The reason, one for each word that clients see.
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

/// Something broke.
#[derive(Clone, Debug, thiserror::Error)]
pub enum InternalError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The platform failed.
    #[error(transparent)]
    Platform(#[from] deskpass_wecom::Error),
    /// It failed on another node, which knows more.
    #[error("it failed on another node")]
    OtherNode {
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
