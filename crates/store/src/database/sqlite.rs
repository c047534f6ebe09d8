//! The embedded database: several readers, one writer, group commits, one process per directory.

mod checkpoints;
mod connection;
mod files;
mod lock;
mod new_database;
mod readers;
mod writer;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use deskpass_core::Timestamp;

pub(crate) use connection::SqliteConnection;
pub(super) use new_database::{NewDatabase, NewDatabaseError};

use super::migrate;
use super::{Mode, OpenError, Sql};
use crate::cache::Cache;
use crate::{ChainKeys, Result, StoreError};
use checkpoints::{checkpoint_long_log, repeat_failed};
use files::{create, create_directory, warn_if_accessible_to_others};
use lock::Lock;
use readers::Readers;
use writer::Writer;

#[derive(Debug)]
pub(crate) struct Sqlite {
    pub(super) readers: Readers,
    pub(super) writer: Writer,
    // Declared last, so that the directory is released after the connections are closed.
    _lock: Lock,
}

impl Sqlite {
    pub(super) fn open(
        directory: &Path,
        mode: Mode,
        cache: Arc<Cache>,
        now: Timestamp,
        key: Option<&ChainKeys>,
    ) -> Result<Self, OpenError> {
        let refused = |source| OpenError::Directory { path: directory.to_owned(), source };
        create_directory(directory).map_err(refused)?;
        let lock = Lock::take(directory)?;
        let path = directory.join("deskpass.db");
        let empty = fs::metadata(&path).map_or(true, |file| file.len() == 0);
        if empty && (lock.shows_database(&path).map_err(refused)? || has_traces(directory)) {
            return Err(OpenError::Lost(path));
        }
        lock.mark_starting().map_err(refused)?;
        create(&path).map_err(refused)?;
        warn_if_accessible_to_others(directory, "700");
        warn_if_accessible_to_others(&path, "600");
        let broken = |error: StoreError| OpenError::Database { path: path.clone(), error };
        repeat_failed(&path).map_err(broken)?;
        let mut connection = SqliteConnection::open_writer(&path).map_err(broken)?;
        checkpoint_long_log(&mut connection, &path).map_err(broken)?;
        let instead = "choose another directory with --data";
        let migrated = migrate::run(&Sql::Sqlite(&connection), mode, now, key);
        migrated.map_err(|error| error.into_open_error(directory.display(), instead, broken))?;
        lock.mark_created().map_err(refused)?;
        let writer = Writer::start(connection, cache).map_err(broken)?;
        Ok(Self { readers: Readers::new(path), writer, _lock: lock })
    }
}

/// Returns whether a database left files behind: a write-ahead log, a copy, or the socket of a service.
fn has_traces(directory: &Path) -> bool {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names = files.filter(|file| {
        let length = file.metadata().map_or(0, |found| if found.is_dir() { 0 } else { found.len() });
        let name = file.file_name();
        let name = name.to_string_lossy();
        match &*name {
            "deskpass.db" | "deskpass.db-shm" | "deskpass.db-journal" => false,
            SOCKET => true,
            name => name.starts_with("deskpass.db") && length > 0,
        }
    });
    names.next().is_some()
}

/// The socket on which a running service accepts commands.
const SOCKET: &str = "deskpass.sock";

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::cache::Freshness;

    fn refusal(directory: &Path) -> String {
        let opened = Sqlite::open(
            directory,
            Mode::Production,
            Arc::new(Cache::new(10, Freshness::permanent())),
            Timestamp::from_millis(0),
            None,
        );
        opened.map(drop).unwrap_err().to_string()
    }

    #[test]
    fn a_damaged_file_suggests_a_backup() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("deskpass.db"), "not a database".repeat(1_000)).unwrap();
        let error = refusal(directory.path());
        assert!(error.ends_with("; if the file is damaged, restore it from a backup"), "{error}");
    }

    #[test]
    fn a_lost_database_is_not_taken_for_a_first_start() {
        let lost = "is missing or empty, but this directory had a database";
        let begins = |files: &[(&str, &str)]| {
            let directory = tempfile::tempdir().unwrap();
            for (name, content) in files {
                fs::write(directory.path().join(name), content).unwrap();
            }
            let cache = Arc::new(Cache::new(10, Freshness::permanent()));
            let opened = Sqlite::open(directory.path(), Mode::Production, cache, Timestamp::from_millis(0), None);
            opened.map(drop).map_err(|error| error.to_string())
        };
        for traces in [
            &[("deskpass.lock", "deskpass\n")][..],
            &[("deskpass.lock", "deskpass\n"), ("deskpass.db", "")],
            &[("deskpass.lock", ""), ("deskpass.db", "")],
            &[("deskpass.db", ""), ("deskpass.db-wal", "changes")],
            &[("deskpass.db-wal", "changes")],
            &[("deskpass.db.bak", "a copy")],
            &[("deskpass.db", ""), (SOCKET, "")],
        ] {
            let error = begins(traces).unwrap_err();
            assert!(error.contains(lost), "{traces:?}: {error}");
        }
        for first in [
            &[][..],
            &[("deskpass.lock", "")],
            &[("deskpass.db", "")],
            // The process was killed during the first start.
            &[("deskpass.lock", "starting\n"), ("deskpass.db", "")],
            &[("deskpass.toml", "listen = 1"), ("notes.txt", "mine")],
        ] {
            assert_eq!(begins(first), Ok(()), "{first:?}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_does_not_suggest_a_backup() {
        let directory = tempfile::tempdir().unwrap();
        // A directory blocks the path of the write-ahead log.
        fs::create_dir(directory.path().join("deskpass.db-wal")).unwrap();
        let told = refusal(directory.path());
        assert!(told.ends_with("; check the free space and the permissions of the disk"), "{told}");
        assert!(!told.contains("backup"), "{told}");
    }
}
