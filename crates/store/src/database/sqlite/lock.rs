//! One process per data directory: the cache is right only while nobody else writes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::OpenError;

/// Holds the directory until it is dropped; the system lets go of it when the process dies.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    pub(super) fn take(directory: &Path) -> Result<Self, OpenError> {
        let refused = |source| OpenError::Directory { path: directory.to_owned(), source };
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(directory.join("deskpass.lock"));
        let file = file.map_err(refused)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file }),
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse(directory.to_owned())),
            Err(TryLockError::Error(source)) => Err(refused(source)),
        }
    }

    /// Whether a database was made in this directory.
    pub(super) fn is_marked(&self) -> io::Result<bool> {
        self.file.metadata().map(|file| file.len() > 0)
    }

    /// Remembers that there is one, so that its loss is not taken for a fresh start.
    pub(super) fn mark(&self) -> io::Result<()> {
        if self.is_marked()? { Ok(()) } else { (&self.file).write_all(b"deskpass\n") }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a process that was forked off and has not begun its own program yet holds it too.
        let _ = self.file.unlock();
    }
}
