//! One process per data directory: the cache is right only while nobody else writes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::OpenError;

/// Holds the directory until it is dropped; the system lets go of it when the process dies.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    /// Whether it was there before.
    found: bool,
}

/// What the file says once there is a database, and while the first one is being made.
const CREATED_MARK: &str = "deskpass\n";
const STARTING_MARK: &str = "starting\n";

/// More than anybody writes into it.
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

    /// Whether a database was made in this directory: the file says so, or it says nothing though there is a file of a database,
    /// which the first start does not leave.
    pub(super) fn shows_database(&self, database: &Path) -> io::Result<bool> {
        let content = self.content()?;
        Ok(content.contains(CREATED_MARK) || (self.found && content.is_empty() && database.exists()))
    }

    /// Remembers that the first start is under way, so that it can be repeated.
    pub(super) fn mark_starting(&self) -> io::Result<()> {
        if self.content()?.is_empty() { (&self.file).write_all(STARTING_MARK.as_bytes()) } else { Ok(()) }
    }

    /// Remembers that there is a database, so that its loss is not taken for a fresh start.
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
        // Closing the file is not enough: a process that was forked off and has not begun its own program yet holds it too.
        let _ = self.file.unlock();
    }
}
