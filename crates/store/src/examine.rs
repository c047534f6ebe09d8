//! What the servers of a pair say about themselves, for whoever looks for a fault.

use deskpass_core::Timestamp;

use crate::{Cause, Redis, StoreError};

/// What Redis says about itself.
#[derive(Clone, Debug)]
pub struct RedisExam {
    /// Its version, such as `7.2.4`.
    pub version: String,
    /// What it does when its memory is full (`maxmemory-policy`), where it tells.
    pub eviction: Option<String>,
    /// Whether the connection is encrypted.
    pub encrypted: bool,
    /// The time by its clock.
    pub now: Timestamp,
}

/// Asks Redis about itself, and changes nothing there.
///
/// # Errors
/// When it cannot be reached or does not let us in.
pub async fn examine_redis(_at: &Redis) -> Result<RedisExam, StoreError> {
    Err(StoreError::new(Cause::Unavailable, "it is not spoken to"))
}
