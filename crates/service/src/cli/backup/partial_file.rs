//! A file that appears under its name only when it is complete.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::process::geteuid;

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
    /// Creates the file. What an interrupted backup of the same user left under the temporary name is replaced.
    pub(super) fn create(target: &Path, replaces: bool) -> Result<Self, CliError> {
        require_free(target, replaces)?;
        let mut partial = OsString::from(target);
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let file = create_locked(&partial, target)?;
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

/// Creates a file that did not exist, and locks it.
fn create_locked(partial: &Path, target: &Path) -> Result<File, CliError> {
    let failed = |error: io::Error| format!("cannot write {}: {error}", partial.display());
    // Follows no link.
    let create = || OpenOptions::new().create_new(true).write(true).mode(0o600).open(partial);
    let file = match create() {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            remove_leftover(partial, target)?;
            create().map_err(failed)?
        }
        created => created.map_err(failed)?,
    };
    lock(&file, partial, target)?;
    Ok(file)
}

/// Removes what an interrupted backup left. Anything else that has its name was put there by someone else, and stays.
fn remove_leftover(partial: &Path, target: &Path) -> Result<(), CliError> {
    let failed = |error: io::Error| format!("cannot write {}: {error}", partial.display());
    let is_own = |found: &Metadata| found.is_file() && found.uid() == geteuid().as_raw();
    let foreign = || format!("{} exists and is no file of this user; remove it", partial.display());
    if !is_own(&fs::symlink_metadata(partial).map_err(failed)?) {
        return Err(foreign().into());
    }
    // The name may have got another meaning meanwhile.
    let safely = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().write(true).custom_flags(safely).open(partial).map_err(failed)?;
    if !is_own(&file.metadata().map_err(failed)?) {
        return Err(foreign().into());
    }
    lock(&file, partial, target)?;
    Ok(fs::remove_file(partial).map_err(failed)?)
}

/// Locks the file, and requires that it still has its name.
fn lock(file: &File, partial: &Path, target: &Path) -> Result<(), CliError> {
    let failed = |error: io::Error| format!("cannot write {}: {error}", partial.display());
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(format!("another backup is being written to {}", partial.display()).into());
        }
        Err(TryLockError::Error(error)) => return Err(failed(error).into()),
    }
    // Another backup may have completed or removed it between the opening and the lock.
    let opened = file.metadata().map_err(failed)?;
    let is_named =
        fs::symlink_metadata(partial).is_ok_and(|named| (named.dev(), named.ino()) == (opened.dev(), opened.ino()));
    if is_named {
        return Ok(());
    }
    Err(format!("another backup has just been written to {}; try again", target.display()).into())
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
            // The next backup replaces it otherwise.
            let _ = fs::remove_file(&self.partial);
        }
    }
}
