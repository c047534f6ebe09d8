//! The errors of a flow.
//!
//! A refusal is deliberate and reaches the client unchanged. Every other error is internal: errors of the store and of the
//! platform turn into [`InternalError`] by `?` and can never become a refusal.

use deskpass_core::{ChunkOutOfOrder, Lockout, NoEntropy};
use deskpass_store::{ChangeError, RejectedMessage, Revocation, SealError, StoreError};

use crate::{Refusal, TokenError};

/// Why a flow did not succeed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// A deliberate refusal.
    #[error("refused: {0}")]
    Refused(#[from] Refusal),
    /// An internal failure.
    #[error(transparent)]
    Internal(InternalError),
}

/// An internal failure.
#[derive(Clone, Debug, thiserror::Error)]
pub enum InternalError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The platform failed.
    #[error(transparent)]
    Platform(#[from] deskpass_platform::Error),
    /// The flow failed on another node, whose log has the cause.
    #[error("it failed on another node")]
    OtherNode {
        /// Whether the platform was at fault.
        platform: bool,
    },
    /// Another node has the work that one node at a time does.
    #[error("it is being done already, by this service or on another node; try again when it is done")]
    ChoreTaken,
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
    /// A signing key cannot be made, opened or used.
    #[error("cannot use a signing key: {0}")]
    SigningKey(&'static str),
}

impl Error {
    /// Whether a change may have been made nevertheless.
    #[must_use]
    pub fn is_outcome_unknown(&self) -> bool {
        matches!(self, Self::Internal(InternalError::Store(error)) if error.is_outcome_unknown())
    }
}

impl From<Revocation> for Refusal {
    fn from(revoked: Revocation) -> Self {
        match revoked {
            Revocation::Ended(ended) => Self::Revoked(ended.into()),
            Revocation::Expired => Self::Revoked(TokenError::Expired),
            Revocation::Unknown => Self::Revoked(TokenError::Unknown),
            Revocation::RoleSwitched => Self::NotPermitted,
            Revocation::RoleTakenAway(role) => Self::RoleTakenAway(role),
            Revocation::AddressNotAllowed(role) => Self::AddressNotAllowed(role),
            Revocation::RoleIsTemporary => Self::TemporaryRole,
        }
    }
}

impl From<Lockout> for Refusal {
    fn from(lockout: Lockout) -> Self {
        match lockout {
            Lockout::For(wait) => Self::TooManyFailures(wait),
            Lockout::UntilUnlocked => Self::Locked,
        }
    }
}

impl From<RejectedMessage> for Refusal {
    fn from(RejectedMessage { place, why }: RejectedMessage) -> Self {
        match why {
            ChunkOutOfOrder::Gap(next) => Self::StreamGap(place, next),
            ChunkOutOfOrder::Done => Self::StreamEnded(place),
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

impl<E: Into<InternalError>> From<E> for Error {
    fn from(error: E) -> Self {
        Self::Internal(error.into())
    }
}
