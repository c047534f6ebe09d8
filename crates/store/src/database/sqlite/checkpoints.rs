//! Checkpoints: the writer copies the write-ahead log to the database, as SQLite does by itself, but not past an error.
//!
//! When the database cannot be synced, the system may have lost pages that were copied to it, and each open file is told so once: the
//! next sync succeeds. So the first error ends the process, before the log, which still has these pages, can begin anew. The next start
//! copies all of it again: SQLite builds the index of the log anew when no process has the database open. Another process, such as a
//! backup, keeps the old index, which counts some of the pages as copied: so a file remembers the error, and the start waits for it.

use std::fmt::Display;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::abort;
use std::time::Duration;

use super::SqliteConnection;
use super::connection::CheckpointError;
use super::files::create;
use crate::{Result, StoreError};

/// The length of the log from which on each commit copies it, in pages of 4 KiB: 24 MiB. A page that was changed many times is copied once.
const CHECKPOINT_PAGES: i32 = 6_000;

/// How long the process waits before it ends, so that its log says why: another thread writes it.
const LOG_PAUSE: Duration = Duration::from_secs(1);

/// The pause between two attempts to have the database for itself.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// How often a start tries, each time for two seconds. A backup takes seconds; whoever waits for longer must learn why.
const MAX_ATTEMPTS: usize = 30;

/// Copies the log of this connection, which writes to the database in `path`, whenever it has become long.
pub(super) fn checkpoint_long_log(writer: &mut SqliteConnection, path: &Path) -> Result<()> {
    let path = path.to_owned();
    writer.checkpoint_after_commits(CHECKPOINT_PAGES, move |error| match error {
        // Another program copies the log.
        CheckpointError::Busy => {}
        CheckpointError::FailedSync(error) => end_process(&path, &error),
        // What was not copied is copied later.
        CheckpointError::Other(error) => {
            tracing::warn!(%error, "the write-ahead log could not be copied to the database");
        }
    })
}

/// Ends the process without closing its connections, which would copy the rest of the log and delete it.
fn end_process(path: &Path, error: &impl Display) -> ! {
    if let Err(error) = create(&unsynced_mark(path)) {
        tracing::error!(%error, "it could not be noted that the write-ahead log has to be copied again");
    }
    tracing::error!(%error, "the database could not be synced: the process ends; the next start copies the write-ahead log again");
    std::thread::sleep(LOG_PAUSE);
    abort();
}

/// After a sync that failed, copies all of the log again, as soon as no other process has the database open. Gives up after a minute.
pub(super) fn repeat_failed(path: &Path) -> Result<()> {
    let mark = unsynced_mark(path);
    let unavailable = |error: io::Error| StoreError::unavailable(&error);
    if !mark.try_exists().map_err(unavailable)? {
        return Ok(());
    }
    let mut attempts = 0;
    while !SqliteConnection::copy_log_alone(path)? {
        attempts += 1;
        if attempts == MAX_ATTEMPTS {
            return Err(StoreError::unavailable(
                &"after a failed sync, this needs the database for itself, and another process has it \
                 open, such as a backup or sqlite3: end that one, and try again",
            ));
        }
        if attempts == 1 {
            tracing::warn!(
                "after a failed sync, the start waits until no other process, such as a backup, has the database open"
            );
        }
        std::thread::sleep(RETRY_PAUSE);
    }
    match fs::remove_file(mark) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(unavailable(error)),
        _ => Ok(()),
    }
}

/// The file that is there from a failed sync until the log is copied again.
fn unsynced_mark(path: &Path) -> PathBuf {
    path.with_file_name("deskpass.unsynced")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt as _;

    use super::*;

    fn database(directory: &Path) -> (PathBuf, SqliteConnection) {
        let path = directory.join("test.db");
        fs::write(&path, "").unwrap();
        let writer = SqliteConnection::open_writer(&path).unwrap();
        writer.batch("CREATE TABLE page (content TEXT NOT NULL)").unwrap();
        (path, writer)
    }

    const INSERT: &str = "INSERT INTO page (content) VALUES (hex(zeroblob(2000)))";

    #[test]
    fn a_long_log_is_copied_and_begins_anew_while_others_read() {
        let directory = tempfile::tempdir().unwrap();
        let (path, mut writer) = database(directory.path());
        checkpoint_long_log(&mut writer, &path).unwrap();
        let log = directory.path().join("test.db-wal");
        let reader = SqliteConnection::open_reader(&path).unwrap();
        let fill = |pages: usize| writer.batch(&format!("BEGIN; {}; COMMIT", vec![INSERT; pages].join(";"))).unwrap();
        // Each time when the log begins anew, its header has another number.
        let number = || {
            let mut bytes = [0; 4];
            File::open(&log).unwrap().read_exact_at(&mut bytes, 12).unwrap();
            bytes
        };
        for _ in 0..2 {
            let before = number();
            reader.batch("BEGIN; SELECT COUNT(*) FROM page").unwrap();
            fill(7_000);
            fill(1);
            assert_eq!(number(), before, "a reader needs it");
            reader.batch("COMMIT").unwrap();
            fill(1);
            fill(1);
            assert_ne!(number(), before);
        }
        drop(writer);
        let check = "SELECT COUNT(*), (SELECT integrity_check FROM pragma_integrity_check) FROM page";
        let found = reader.rows(check, &[], |row| Ok((row.int(0)?, row.text(1)?))).unwrap();
        assert_eq!(found, [(14_006, "ok".to_owned())]);
    }

    #[test]
    fn a_failed_copy_is_repeated_when_no_other_process_has_the_database_open() {
        let directory = tempfile::tempdir().unwrap();
        let (path, writer) = database(directory.path());
        let mark = directory.path().join("deskpass.unsynced");
        repeat_failed(&path).unwrap();
        writer.batch(INSERT).unwrap();
        // As another process that has the database open.
        assert!(!SqliteConnection::copy_log_alone(&path).unwrap());
        drop(writer);
        create(&mark).unwrap();
        repeat_failed(&path).unwrap();
        assert!(!mark.exists());
        assert_eq!(
            SqliteConnection::open_reader(&path)
                .unwrap()
                .first("SELECT COUNT(*) FROM page", &[], |row| row.int(0))
                .unwrap(),
            Some(1)
        );
    }
}
