//! A database file that is filled before it appears under its name: after an interruption there is no database, or all of it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::SqliteConnection;
use super::files::{create_directory, create_new};
use super::lock::Lock;
use crate::database::OpenError;

/// The name of the file while it is filled. It does not look like that of a database, so a service may start next to it.
const PARTIAL: &str = "restore.partial";

/// A new database, which only this process can see.
#[derive(Debug)]
pub(crate) struct NewDatabase {
    pub(crate) connection: SqliteConnection,
    directory: PathBuf,
    /// Whether the directory was created for it.
    is_new_directory: bool,
    /// Declared last, so that the directory is released at the end.
    lock: Lock,
}

/// Why there can be no new database.
#[derive(Debug)]
pub(crate) enum NewDatabaseError {
    /// There is a database, or what is left of one.
    Occupied(PathBuf),
    /// The directory cannot be used.
    Open(OpenError),
}

impl From<OpenError> for NewDatabaseError {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

impl NewDatabase {
    /// Takes the directory, which must have no database, and creates an empty file in it.
    pub(crate) fn create(directory: &Path) -> Result<Self, NewDatabaseError> {
        let refused = |source| OpenError::Directory { path: directory.to_owned(), source };
        let is_new_directory = !directory.exists();
        create_directory(directory).map_err(refused)?;
        let lock = Lock::take(directory)?;
        for name in ["deskpass.db", "deskpass.db-wal", "deskpass.db-journal"] {
            let path = directory.join(name);
            if fs::metadata(&path).is_ok_and(|found| found.len() > 0) {
                return Err(NewDatabaseError::Occupied(path));
            }
        }
        // What an interrupted restore left. An old write-ahead log, even an empty one, must not meet the new database.
        for name in ["deskpass.db-wal", "deskpass.db-shm", "deskpass.db-journal", PARTIAL] {
            remove(&directory.join(name)).map_err(refused)?;
        }
        let path = directory.join(PARTIAL);
        create_new(&path).map_err(refused)?;
        let connection =
            SqliteConnection::open_new(&path).map_err(|error| OpenError::Database { path: path.clone(), error })?;
        Ok(Self { connection, directory: directory.to_owned(), is_new_directory, lock })
    }

    /// Makes the database appear under its name, once it is on the disk.
    pub(crate) fn install(self) -> Result<(), OpenError> {
        let Self { connection, directory, lock, .. } = self;
        drop(connection);
        let (partial, path) = (directory.join(PARTIAL), directory.join("deskpass.db"));
        let installed = File::open(&partial)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&partial, &path))
            .and_then(|()| File::open(&directory)?.sync_all())
            .and_then(|()| lock.mark_created());
        installed.map_err(|source| OpenError::Directory { path: directory.clone(), source })
    }

    /// Removes the file, and the directory if it was created for it.
    pub(crate) fn discard(self) {
        let Self { connection, directory, is_new_directory, lock: _lock } = self;
        drop(connection);
        // The next restore removes it otherwise.
        let _ = remove(&directory.join(PARTIAL));
        if is_new_directory {
            // The lock is still held. A directory that is in use by now is not empty, and stays.
            let _ = remove(&directory.join("deskpass.lock")).and_then(|()| fs::remove_dir(&directory));
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}
