//! Why the file of a backup cannot be written or read.

use std::io::{self, ErrorKind};

/// Why the file of a backup cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum BackupFileError {
    /// The file is something else.
    #[error("it is not a backup of deskpass")]
    NotABackup,
    /// The format of the file is of a later version.
    #[error("its format has version {0}, which only a later deskpass reads")]
    NewerFormat(String),
    /// The end of the file is missing.
    #[error("it is incomplete: its end is missing")]
    Incomplete,
    /// The content is not as it was written.
    #[error("it is damaged: its content does not match its checksum")]
    Damaged,
    /// A password is needed.
    #[error("it is encrypted")]
    PasswordNeeded,
    /// The file is not encrypted, although a password was given.
    #[error("it is not encrypted, so it is not the file that the password is for")]
    NotEncrypted,
    /// The password is wrong. An encrypted file with a damaged beginning looks the same.
    #[error("the password is wrong, or the file is damaged")]
    WrongPassword,
    /// A row is longer than a restore accepts.
    #[error("a row of {0} is too long for a backup")]
    LongRow(String),
    /// The key cannot be derived from the password.
    #[error("the key cannot be derived from the password: {0}")]
    Derivation(String),
    /// The system cannot read or write the file.
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for BackupFileError {
    /// Unpacks an error that has passed through a reader, and interprets the errors of decompression.
    fn from(error: io::Error) -> Self {
        error.downcast::<Self>().unwrap_or_else(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Self::Incomplete,
            ErrorKind::InvalidData | ErrorKind::InvalidInput => Self::Damaged,
            _ => Self::Io(error),
        })
    }
}

impl From<BackupFileError> for io::Error {
    /// Packs the error, so that it passes through a reader.
    fn from(error: BackupFileError) -> Self {
        match error {
            BackupFileError::Io(error) => error,
            error => Self::new(ErrorKind::InvalidData, error),
        }
    }
}

impl From<serde_json::Error> for BackupFileError {
    fn from(_: serde_json::Error) -> Self {
        Self::Damaged
    }
}
