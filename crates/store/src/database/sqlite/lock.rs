//! The lock on the data directory: one process per directory, because the cache is correct only without other writers.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::OpenError;

/// A lock on the directory, held until it is dropped. The system releases it when the process dies.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    /// Whether the lock file existed before.
    found: bool,
}

/// The content of the lock file once a database exists, and during the first start.
const CREATED_MARK: &str = "deskpass\n";
const STARTING_MARK: &str = "starting\n";

/// The read limit for the lock file, more than its content ever needs.
const MAX_LOCK_FILE_BYTES: u64 = 1024;

impl Lock {
    pub(super) fn take(directory: &Path) -> Result<Self, OpenError> {
        let refused = |source| OpenError::Directory { path: directory.to_owned(), source };
        let path = directory.join("deskpass.lock");
        let found = path.exists();
        let file = OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(path);
        let file = file.map_err(refused)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file, found }),
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse(directory.to_owned())),
            Err(TryLockError::Error(source)) => Err(refused(source)),
        }
    }

    /// Returns whether a database was created in this directory: the lock file says so, or the lock file is empty
    /// although a database file exists, which a first start never leaves behind.
    pub(super) fn shows_database(&self, database: &Path) -> io::Result<bool> {
        let content = self.content()?;
        Ok(content.contains(CREATED_MARK) || (self.found && content.is_empty() && database.exists()))
    }

    /// Records that the first start is in progress, so that it can be repeated.
    pub(super) fn mark_starting(&self) -> io::Result<()> {
        if self.content()?.is_empty() { (&self.file).write_all(STARTING_MARK.as_bytes()) } else { Ok(()) }
    }

    /// Records that a database exists, so that its loss is not taken for a first start.
    pub(super) fn mark_created(&self) -> io::Result<()> {
        if self.content()?.contains(CREATED_MARK) { Ok(()) } else { (&self.file).write_all(CREATED_MARK.as_bytes()) }
    }

    fn content(&self) -> io::Result<String> {
        let (mut file, mut content) = (&self.file, Vec::new());
        file.seek(SeekFrom::Start(0))?;
        file.take(MAX_LOCK_FILE_BYTES).read_to_end(&mut content)?;
        Ok(String::from_utf8_lossy(&content).into_owned())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a forked child process that has not called exec yet holds it too.
        let _ = self.file.unlock();
    }
}
