//! The time limits of long work such as migrations and copies.

use std::time::Duration;

use tokio::time::Instant;

use super::connection::{ConnectionHealth, PostgresConnection};
use crate::{Result, StoreError};

/// The timeout of migrations and copies, including the wait for other nodes that migrate.
pub(super) const MAINTENANCE_TIMEOUT: Duration = Duration::from_hours(10);
/// The timeout of a commit. Where the synchronous standby is gone, it would wait for ever.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(30);
/// The same after all data was loaded, of which the standby may not have received everything.
const BULK_COMMIT_TIMEOUT: Duration = Duration::from_mins(10);

/// Commits a migration, or other work of which a standby receives little.
pub(crate) fn commit_maintenance(connection: &PostgresConnection) -> Result<()> {
    commit_within(connection, COMMIT_TIMEOUT)
}

/// Commits a copy or a restore.
pub(crate) fn commit_bulk(connection: &PostgresConnection) -> Result<()> {
    commit_within(connection, BULK_COMMIT_TIMEOUT)
}

fn commit_within(connection: &PostgresConnection, limit: Duration) -> Result<()> {
    connection.reset_for(Instant::now() + limit);
    let committed = connection.commit(false);
    if connection.health() == ConnectionHealth::TimedOut {
        return Err(StoreError::unavailable(
            &"the server does not confirm the commit: its synchronous standby does not answer, or was promoted; start again when it \
              answers, the commit has taken effect by then",
        ));
    }
    committed?;
    connection.reset_for(Instant::now() + MAINTENANCE_TIMEOUT);
    Ok(())
}
