//! The database: many readers, one writer, commits in groups, one process per directory.

mod lock;
mod readers;
#[macro_use]
mod sql;
mod migrate;
mod writer;

use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use deskpass_core::Timestamp;

pub use migrate::newest_version;
pub(crate) use sql::{Row, Sql, Value};
pub(crate) use writer::Tx;

use crate::StoreError;
use crate::cache::Cache;
use lock::Lock;
use readers::Readers;
use writer::Writer;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Somebody else works in the directory.
    #[error("{} is in use by another deskpass process; stop that one first, or choose another directory with --data", .0.display())]
    InUse(PathBuf),
    /// The file system says no.
    #[error("cannot use the data directory {}: {source}; give it to this user, or choose another with --data", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The database says no.
    #[error("cannot open {}: {}", path.display(), advised(error))]
    Database {
        /// The database's file.
        path: PathBuf,
        /// What the database said.
        error: StoreError,
    },
    /// The database is gone, though there was one.
    #[error("{} is missing or empty, though this directory had a database; restore it from a backup, or choose another directory with --data", .0.display())]
    Lost(PathBuf),
    /// The data belongs to the other mode.
    #[error("{} was made in {found} and cannot be used in {wanted}; choose another directory with --data{}", path.display(), hint(found))]
    Mode {
        /// The directory.
        path: PathBuf,
        /// The mode it was made in.
        found: String,
        /// The mode asked for.
        wanted: &'static str,
    },
    /// The data was written by a later version.
    #[error(
        "the data has version {found}, this program knows versions up to {known}; use the newer deskpass that wrote it"
    )]
    Newer {
        /// The version found.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
}

/// What data is for. Decided when it is made, and never changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// To try things with: anyone can sign in as anyone.
    Development,
    /// In earnest.
    Production,
}

impl Mode {
    const fn name(self) -> &'static str {
        match self {
            Self::Development => "development mode",
            Self::Production => "production",
        }
    }
}

fn hint(found: &str) -> &'static str {
    if found == Mode::Development.name() { ", or add --dev" } else { "" }
}

#[derive(Debug)]
pub(crate) struct Database {
    readers: Readers,
    writer: Writer,
    // Last, so that the directory is released after the connections are closed.
    _lock: Lock,
}

impl Database {
    pub(crate) fn open(directory: &Path, mode: Mode, cache: Arc<Cache>, now: Timestamp) -> Result<Self, OpenError> {
        let refused = |source| OpenError::Directory { path: directory.to_owned(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(refused)?;
        let lock = Lock::take(directory)?;
        let path = directory.join("deskpass.db");
        if lock.is_marked().map_err(refused)? && fs::metadata(&path).map_or(true, |file| file.len() == 0) {
            return Err(OpenError::Lost(path));
        }
        create(&path).map_err(refused)?;
        warn_if_others_may(directory, "700");
        warn_if_others_may(&path, "600");
        let broken = |error: StoreError| OpenError::Database { path: path.clone(), error };
        let sql = Sql::open_writer(&path).map_err(broken)?;
        migrate::run(&sql, mode.name(), now).map_err(|error| error.at(directory, &path))?;
        lock.mark().map_err(refused)?;
        let writer = Writer::start(sql, cache).map_err(broken)?;
        Ok(Self { readers: Readers::new(path), writer, _lock: lock })
    }

    /// Runs `query` on a connection that sees everything committed so far.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Sql) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.readers.read(query).await
    }

    /// Runs `work` in a transaction and returns once it is on disk. When `work` fails, nothing of it remains. It runs to
    /// its end even when the caller stops waiting.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer.write(work).await
    }
}

/// Makes an empty database file that only this user can read, unless there is one.
fn create(path: &Path) -> std::io::Result<()> {
    fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path).map(drop)
}

/// What the database said, with what can be done about it where that is known.
fn advised(error: &StoreError) -> String {
    error.remedy().map_or_else(|| error.to_string(), |remedy| format!("{error}; {remedy}"))
}

/// Somebody may have meant it, for a backup or a group of operators, so it is no reason not to start.
fn warn_if_others_may(path: &Path, wanted: &str) {
    if fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0) {
        let path = path.display();
        tracing::warn!("{path} is open to other users of this machine; close it with: chmod {wanted} {path}");
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn refusal(directory: &Path) -> String {
        let opened = Database::open(directory, Mode::Production, Arc::new(Cache::new(10)), Timestamp::from_millis(0));
        opened.map(drop).unwrap_err().to_string()
    }

    #[test]
    fn a_damaged_file_wants_a_backup() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("deskpass.db"), "not a database".repeat(1_000)).unwrap();
        let told = refusal(directory.path());
        assert!(told.ends_with("; if the file is damaged, restore it from a backup"), "{told}");
    }

    #[test]
    fn a_file_that_cannot_be_written_wants_no_backup() {
        let directory = tempfile::tempdir().unwrap();
        // In the way of the file that the database writes to first.
        fs::create_dir(directory.path().join("deskpass.db-wal")).unwrap();
        let told = refusal(directory.path());
        assert!(told.ends_with("; look for room on the disk and for permissions"), "{told}");
        assert!(!told.contains("backup"), "{told}");
    }
}
