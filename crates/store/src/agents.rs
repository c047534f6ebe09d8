//! Support agents, and their credentials for when the platform is unavailable.

mod browser;
mod device;
mod failed_attempts;
mod key;
mod notice;
pub(crate) mod partial_session;
mod password;
mod record;

use deskpass_core::Timestamp;

use crate::StoreError;
use crate::database::Tx;

pub use device::{Device, DeviceBinding, PendingDevice, UsedTotpStep};
pub use failed_attempts::AttemptKind;
pub use notice::{Notice, NoticeSubject, SignInReference};
pub use partial_session::{PartialSessionLookup, PartialSessionRecord};
pub use password::{NewPassword, PasswordPrecondition};
pub use record::{Agent, ListedAgent};

/// Removes up to `batch` expired rows of each kind, and partial sessions that ended before `ended`; returns the number of
/// removed rows.
pub(crate) fn sweep(tx: &Tx<'_>, now: Timestamp, ended: Timestamp, batch: i64) -> Result<usize, StoreError> {
    let partial_sessions = partial_session::sweep(tx, ended, batch)?;
    Ok(partial_sessions
        + browser::sweep(tx, now, batch)?
        + failed_attempts::sweep(tx, now, batch)?
        + notice::sweep(tx, now, batch)?)
}
