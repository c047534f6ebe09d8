//! The files of the embedded database, which are for this user alone.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Creates the directory, unless it exists, for this user alone.
pub(super) fn create_directory(directory: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Creates an empty database file that only this user can read, unless it exists.
pub(super) fn create(path: &Path) -> std::io::Result<()> {
    fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path).map(drop)
}

/// Creates an empty database file that only this user can read, and that did not exist.
pub(super) fn create_new(path: &Path) -> std::io::Result<()> {
    fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path).map(drop)
}

/// Only warns: the permissions may be intended, for a backup or a group of operators.
pub(super) fn warn_if_accessible_to_others(path: &Path, wanted: &str) {
    if fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0) {
        let path = path.display();
        tracing::warn!("{path} is accessible to other users of this machine; run: chmod {wanted} {path}");
    }
}
