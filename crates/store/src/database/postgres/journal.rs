//! The journal, from which a node learns the changes of other nodes.
//!
//! A transaction that changes or ends a session, or changes a person or a rule, also writes that change to the journal.
//! Every node polls the journal several times a second, and reads it immediately when another node notifies it. The
//! cache is trusted only while the last read is recent. So no committed change goes unnoticed, even when the node that
//! made it fails or a message between nodes is lost.
//!
//! Transactions do not become visible in the order of their ids. Each read therefore records its snapshot, and the next one reads
//! the transactions that were not visible in it: those that began later, and those that were still running. One that runs for hours
//! is then one id more to look for. A change that is read twice removes a cache entry twice, which is harmless.

use deskpass_core::{Digest, EmployeeKey};
use tokio_postgres::Row;

use super::connection::PostgresConnection;
use super::journal_position::JournalPosition;
use crate::cache::{Cache, CacheChange};
use crate::database::SqlValue;
use crate::{Result, StoreError};

/// The start of a row of values, repeated for every change of a batch.
const ROW_PREFIX: &str =
    "(pg_current_xact_id()::text::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, ";

/// Replaces the digest when the access rules change. A node that does not know this value clears its cache.
const RULES_MARKER: &str = "rules";

/// Replaces the digest when many sessions ended at once. It is no digest, so every node clears its cache.
const ALL_SESSIONS_MARKER: &str = "sessions";

const BATCH_ROWS: usize = 100;

/// Reads the changes that were not visible in the last snapshot, in one statement, so in one snapshot. The first columns are the same
/// in every row, and there is a row even without a change: the snapshot, the time, whether commits wait for a standby, and whether the
/// server takes no writes.
pub(super) const READ_CHANGES: &str = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
    ARRAY(SELECT running::text::bigint FROM pg_snapshot_xip(pg_current_snapshot()) running),
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint, current_setting('synchronous_standby_names') <> '',
    current_setting('transaction_read_only') = 'on', j.digest, j.corp_id, j.employee_key
    FROM (SELECT 1) AS always LEFT JOIN journal j ON j.xact >= $1 OR j.xact = ANY($2)";

/// Removes rows after ten minutes, if they were visible in a snapshot that every node has read since.
const SWEEP: &str = "DELETE FROM journal WHERE ctid IN (SELECT ctid FROM journal
    WHERE at < (extract(epoch FROM statement_timestamp()) * 1000)::bigint - 600000
    AND pg_visible_in_snapshot(xact::text::xid8, $1::text::pg_snapshot) LIMIT 5000)";

/// Finds rows of another server, which came with its data (`pg_restore`): their transactions have not begun on this one. Every read would
/// find them, until this server has had as many transactions. A row that this server wrote is visible only after its transaction, and
/// its id is below that of every snapshot from then on.
macro_rules! foreign_rows {
    () => {
        "FROM journal WHERE xact >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
    };
}

/// Whether there are rows of another server. A server that takes no writes gets them removed by the one that it follows.
pub(super) const HAS_FOREIGN_ROWS: &str =
    concat!("SELECT current_setting('transaction_read_only') = 'off' AND EXISTS (SELECT 1 ", foreign_rows!(), ")");

/// Removes rows of another server. Not in a transaction that has written to the journal: it sees rows of its own.
pub(super) const REMOVE_FOREIGN_ROWS: &str =
    concat!("DELETE FROM journal WHERE ctid IN (SELECT ctid ", foreign_rows!(), " LIMIT 5000)");

pub(crate) fn write(connection: &PostgresConnection, changes: &[CacheChange]) -> Result<()> {
    let to_announce: Vec<_> = changes.iter().filter(|change| change.concerns_other_nodes()).collect();
    for some in to_announce.chunks(BATCH_ROWS) {
        let rows = (0..some.len()).map(|at| format!("{ROW_PREFIX}${}, ${}, ${})", 3 * at + 1, 3 * at + 2, 3 * at + 3));
        let rows = rows.collect::<Vec<_>>().join(", ");
        let values: Vec<_> = some.iter().flat_map(|change| columns(change)).collect();
        let text = format!("INSERT INTO journal (xact, at, digest, corp_id, employee_key) VALUES {rows}");
        connection.execute(&text, &values)?;
    }
    Ok(())
}

fn columns(change: &CacheChange) -> [SqlValue<'_>; 3] {
    match change {
        CacheChange::SessionStarted(digest, _) | CacheChange::SessionSwept(digest) | CacheChange::Session(digest) => {
            args![*digest, None::<&str>, None::<&str>]
        }
        CacheChange::Person(key) => args![None::<&str>, key.corp(), key.id()],
        CacheChange::Rules => args![RULES_MARKER, None::<&str>, None::<&str>],
        CacheChange::AllSessions => args![ALL_SESSIONS_MARKER, None::<&str>, None::<&str>],
        // It does not concern other nodes, and is not written.
        CacheChange::LogoutsDue => args![None::<&str>, None::<&str>, None::<&str>],
    }
}

/// Writes an empty row, to check that the database accepts writes.
pub(crate) fn probe_write(connection: &PostgresConnection) -> Result<()> {
    let text =
        format!("INSERT INTO journal (xact, at, digest, corp_id, employee_key) VALUES {ROW_PREFIX}NULL, NULL, NULL)");
    connection.execute(&text, &[]).map(drop)
}

/// The statements that read and sweep the journal, each with its name and with values, for the test that requires them to use an index.
pub(crate) fn statements() -> [(&'static str, String); 3] {
    let read = READ_CHANGES.replace("$1", "2000000").replace("$2", "'{1,2}'::bigint[]");
    let sweep = SWEEP.replace("$1", "'2000000:2000000:'");
    [("journal, read", read), ("journal, sweep", sweep), ("journal, foreign rows", REMOVE_FOREIGN_ROWS.to_owned())]
}

/// Removes rows of another server, and old rows that were visible in the snapshot `seen`.
pub(crate) fn sweep(connection: &PostgresConnection, seen: Option<&str>) -> Result<usize> {
    let foreign = connection.execute(REMOVE_FOREIGN_ROWS, &[])?;
    let old = seen.map_or(Ok(0), |seen| connection.execute(SWEEP, &args![seen]))?;
    Ok(foreign + old)
}

/// What a read of the journal says besides the changes.
pub(super) struct JournalRead {
    pub(super) position: JournalPosition,
    /// Whether commits on this server wait for a standby.
    pub(super) is_synchronous: bool,
    /// Whether this server takes no writes.
    pub(super) is_read_only: bool,
}

/// Removes the changed entries from the cache.
pub(super) fn apply_rows(rows: &[Row], cache: &Cache) -> Result<JournalRead> {
    for row in rows {
        let (digest, corp, id): (Option<&str>, Option<&str>, Option<&str>) =
            (row.try_get(5)?, row.try_get(6)?, row.try_get(7)?);
        if digest == Some(RULES_MARKER) {
            cache.apply(CacheChange::Rules);
            continue;
        }
        match (digest.map(Digest::from_text), corp, id) {
            (Some(Some(digest)), ..) => cache.apply(CacheChange::Session(digest)),
            // An unknown kind of change: clear everything.
            (Some(None), ..) => cache.clear(),
            (None, Some(corp), Some(id)) => cache.apply(CacheChange::Person(EmployeeKey::from_parts(corp, id))),
            _ => {}
        }
    }
    let first = rows.first().ok_or_else(|| StoreError::unavailable(&"the journal has no position"))?;
    let position = JournalPosition { xmax: first.try_get(0)?, running: first.try_get(1)?, at: first.try_get(2)? };
    Ok(JournalRead { position, is_synchronous: first.try_get(3)?, is_read_only: first.try_get(4)? })
}
