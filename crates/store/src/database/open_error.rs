//! The errors of opening a store.

use std::path::PathBuf;

use super::Mode;
use crate::StoreError;
use crate::tls::InvalidCaFile;

/// The reason why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process uses the directory.
    #[error("{} is in use by another deskpass process; stop that process first, or choose another directory with --data", .0.display())]
    InUse(PathBuf),
    /// The file system refuses access.
    #[error("cannot use the data directory {}: {source}; make this user its owner, or choose another with --data", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The embedded database cannot be opened.
    #[error("cannot open {}: {}", path.display(), advised(error))]
    Database {
        /// The database's file.
        path: PathBuf,
        /// The error of the database.
        error: StoreError,
    },
    /// The database server refuses the connection or cannot be reached.
    #[error("cannot use {server}: {error}; check store.url, and that the server runs and accepts this user")]
    Server {
        /// The server, without secrets.
        server: String,
        /// The error of the server or of the connection.
        error: StoreError,
    },
    /// The server's URL cannot be parsed.
    #[error("cannot use store.url: {0}")]
    Url(String),
    /// The CA file cannot be used.
    #[error(transparent)]
    Authority(#[from] InvalidCaFile),
    /// The database file is missing or empty, although the directory had a database.
    #[error("{} is missing or empty, but this directory had a database; restore it from a backup, or choose another \
             directory with --data", .0.display())]
    Lost(PathBuf),
    /// The data belongs to the other mode.
    #[error("{place} was created in {found} and cannot be used in {wanted}; {instead}{}", hint(found))]
    Mode {
        /// The location of the data.
        place: String,
        /// The mode of the data.
        found: String,
        /// The requested mode.
        wanted: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// The data was written with another key and cannot be migrated with this one.
    #[error(
        "encryption_key is not the key that the data in {0} was written with, so the data was not migrated: restore \
         that key in the settings. If it is permanently lost, run `deskpass audit restart --key-is-lost` to continue \
         with the new key"
    )]
    Key(String),
    /// The data was written by a later version.
    #[error(
        "the data has version {found}, this deskpass supports versions up to {known}; use the newer deskpass that \
         wrote it"
    )]
    Newer {
        /// The version found.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
}

fn hint(found: &str) -> &'static str {
    if found == Mode::Development.name() { ", or add --dev" } else { "" }
}

/// Formats the database error, with its remedy where one is known.
fn advised(error: &StoreError) -> String {
    error.remedy().map_or_else(|| error.to_string(), |remedy| format!("{error}; {remedy}"))
}
