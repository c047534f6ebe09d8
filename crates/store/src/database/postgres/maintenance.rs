//! The time limits of long work such as migrations and copies.

use std::time::Duration;

use tokio::time::Instant;

use super::connection::{ConnectionHealth, PostgresConnection};
use crate::{Result, StoreError};

/// The timeout of migrations and copies, including the wait for other nodes that migrate.
pub(super) const MAINTENANCE_TIMEOUT: Duration = Duration::from_hours(10);
/// The timeout of a commit. Where the synchronous standby is gone, it would wait for ever.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(30);

/// Commits a migration, or other long work.
pub(crate) fn commit_maintenance(connection: &PostgresConnection) -> Result<()> {
    connection.reset_for(Instant::now() + COMMIT_TIMEOUT);
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
