//! One process per data directory: the cache is right only while nobody else writes.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::OpenError;

/// Holds the directory until it is dropped; the system lets go of it when the process dies.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    pub(super) fn take(directory: &Path) -> Result<Self, OpenError> {
        let refused = |source| OpenError::Directory { path: directory.to_owned(), source };
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(directory.join("deskpass.lock"));
        let file = file.map_err(refused)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse(directory.to_owned())),
            Err(TryLockError::Error(source)) => Err(refused(source)),
        }
    }
}
