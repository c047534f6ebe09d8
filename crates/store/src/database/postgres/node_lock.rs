//! The lock that every node holds while it runs, in its database session that reads the journal. A restore takes it alone: a node
//! that runs meanwhile would continue with what it knows about the empty database.

use std::time::Duration;

use tokio_postgres::Client;

use super::connection::PostgresConnection;
use crate::Result;

/// The lock, one for each schema.
const NODE_LOCK: &str = "hashtext('deskpass nodes ' || current_schema())";

/// The number of attempts to take the lock alone, and the delay between them: the server notices after a moment that a process
/// has ended.
const ATTEMPTS: usize = 5;
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// Takes the lock with the other nodes, until the database session ends; `false` while a restore runs.
pub(super) async fn take_shared(client: &Client) -> Result<bool, tokio_postgres::Error> {
    let text = format!("SELECT pg_try_advisory_lock_shared({NODE_LOCK})");
    client.query_one(&*text, &[]).await?.try_get(0)
}

/// Keeps nodes from starting until the transaction ends; `false` if one runs.
pub(crate) fn lock_out_nodes(connection: &PostgresConnection) -> Result<bool> {
    let text = format!("SELECT 1 WHERE pg_try_advisory_xact_lock({NODE_LOCK})");
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(RETRY_DELAY);
        }
        if !connection.rows(&text, &[], |_| Ok(()))?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
