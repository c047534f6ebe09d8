//! A file that appears under its name only when it is complete.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::cli::CliError;

/// A file under a temporary name, for this user alone. If it is dropped, it is removed.
#[derive(Debug)]
pub(super) struct PartialFile {
    file: File,
    partial: PathBuf,
    target: PathBuf,
    replaces: bool,
    is_complete: bool,
}

impl PartialFile {
    /// Creates the file. What an interrupted backup left under the temporary name is overwritten.
    pub(super) fn create(target: &Path, replaces: bool) -> Result<Self, CliError> {
        require_free(target, replaces)?;
        let mut partial = OsString::from(target);
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let failed = |error: io::Error| format!("cannot write {}: {error}", partial.display());
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).write(true).mode(0o600).open(&partial).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(format!("another backup is being written to {}", partial.display()).into());
            }
            Err(TryLockError::Error(error)) => return Err(failed(error).into()),
        }
        // Another backup may have completed between the opening and the lock: then this is its file, under its final name.
        let (named, opened) = (fs::metadata(&partial).map_err(failed)?, file.metadata().map_err(failed)?);
        if (named.dev(), named.ino()) != (opened.dev(), opened.ino()) {
            return Err(format!("another backup has just been written to {}; try again", target.display()).into());
        }
        file.set_permissions(Permissions::from_mode(0o600)).and_then(|()| file.set_len(0)).map_err(failed)?;
        Ok(Self { file, partial, target: target.to_owned(), replaces, is_complete: false })
    }

    /// Makes the file appear under its name, once it is on the disk.
    pub(super) fn complete(mut self) -> Result<(), CliError> {
        let failed = |error: io::Error| format!("cannot write {}: {error}", self.target.display());
        self.file.sync_all().map_err(failed)?;
        require_free(&self.target, self.replaces)?;
        fs::rename(&self.partial, &self.target).map_err(failed)?;
        let directory = self.target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = File::open(directory.unwrap_or(Path::new(".")));
        let synced = directory.and_then(|directory| directory.sync_all()).map_err(failed);
        // Also if the directory could not be written to the disk: the file is complete and has its name.
        self.is_complete = true;
        Ok(synced?)
    }
}

/// Requires that there is no such file, or that it may be replaced.
fn require_free(target: &Path, replaces: bool) -> Result<(), CliError> {
    match fs::symlink_metadata(target) {
        Ok(found) if found.is_dir() => Err(format!("{} is a directory; name a file", target.display()).into()),
        Ok(_) if !replaces => {
            Err(format!("{} exists; choose another name, or replace it with --force", target.display()).into())
        }
        _ => Ok(()),
    }
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.is_complete {
            // The next backup overwrites it otherwise.
            let _ = fs::remove_file(&self.partial);
        }
    }
}
