//! What the servers of a pair say about themselves, for whoever looks for a fault.

use deskpass_core::Timestamp;

use crate::{Cause, Postgres, Redis, StoreError};

/// What PostgreSQL says about itself.
#[derive(Clone, Debug)]
pub struct PostgresExam {
    /// Its version as a number: 150004 is 15.4.
    pub version: u32,
    /// Whether it takes no writes: a standby, or one that is set so.
    pub read_only: bool,
    /// Whether the connection is encrypted.
    pub encrypted: bool,
    /// The version of the tables; 0 when there are none.
    pub tables: i64,
    /// The newest version of the tables that this program knows.
    pub known: i64,
    /// The time by its clock.
    pub now: Timestamp,
}

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

/// Asks PostgreSQL about itself, and changes nothing there.
///
/// # Errors
/// When it cannot be reached or does not let us in.
pub async fn examine_postgres(_at: &Postgres) -> Result<PostgresExam, StoreError> {
    Err(StoreError::new(Cause::Unavailable, "it is not spoken to"))
}

/// Asks Redis about itself, and changes nothing there.
///
/// # Errors
/// When it cannot be reached or does not let us in.
pub async fn examine_redis(_at: &Redis) -> Result<RedisExam, StoreError> {
    Err(StoreError::new(Cause::Unavailable, "it is not spoken to"))
}
