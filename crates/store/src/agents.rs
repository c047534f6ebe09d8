//! Support staff, and what they prove themselves with when the platform cannot.

mod browser;
mod device;
mod guesses;
pub(crate) mod half;
mod key;
mod notice;
mod password;
pub(crate) mod record;

use deskpass_core::Timestamp;

use crate::StoreError;
use crate::database::Tx;

pub use device::{Binding, Device, PendingDevice, UsedStep};
pub use guesses::Trial;
pub use half::{HalfFound, HalfSession};
pub use notice::{About, Notice, Subject};
pub use password::{Before, NewPassword};
pub use record::{Agent, ListedAgent};

/// Removes up to `batch` rows of each kind whose time is over, and halves that were over before `ended`; returns how many
/// went.
pub(crate) fn sweep(tx: &Tx<'_>, now: Timestamp, ended: Timestamp, batch: i64) -> Result<usize, StoreError> {
    let halves = half::sweep(tx, ended, batch)?;
    Ok(halves + browser::sweep(tx, now, batch)? + guesses::sweep(tx, now, batch)? + notice::sweep(tx, now, batch)?)
}
