//! The time limits of long work such as migrations and copies.

use std::time::Duration;

use tokio::time::Instant;

use super::connection::{ConnectionHealth, PostgresConnection};
use crate::{Result, StoreError};

/// The timeout of migrations and copies, including the wait for other nodes that migrate.
pub(super) const MAINTENANCE_TIMEOUT: Duration = Duration::from_hours(10);
/// The timeout of the commit of a migration. Where the synchronous standby is gone, it would wait for ever, and the tables would stay
/// locked until then.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(30);

/// Commits a migration.
pub(crate) fn commit_migration(connection: &PostgresConnection) -> Result<()> {
    connection.reset_for(Instant::now() + COMMIT_TIMEOUT);
    let committed = connection.batch("COMMIT");
    if connection.health() == ConnectionHealth::TimedOut {
        return Err(StoreError::unavailable(
            &"the server does not confirm the commit of a migration: its synchronous standby does not answer, or was promoted; \
              start again when it does",
        ));
    }
    committed?;
    connection.reset_for(Instant::now() + MAINTENANCE_TIMEOUT);
    Ok(())
}
