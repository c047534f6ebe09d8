//! Errors of the store, and the part of them that may be shown.

use rusqlite::{ErrorCode, ffi};

use crate::InvalidCursor;

/// The result of an operation of the store.
pub(crate) type Result<T, E = StoreError> = std::result::Result<T, E>;

/// An operation of the store failed. It changed nothing, unless the kind is [`StoreErrorKind::OutcomeUnknown`] or
/// [`StoreErrorKind::SharedUnavailable`]. What other operations of the same request had changed before stays changed.
///
/// It is boxed because almost everything here can fail: a result without a value is one word, and its check one instruction.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", .0.detail)]
pub struct StoreError(Box<ErrorContent>);

#[derive(Clone, Debug)]
struct ErrorContent {
    kind: StoreErrorKind,
    detail: String,
    remedy: Option<Remedy>,
}

/// Why the store failed, from a closed list that is safe to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// The database does not respond or does not accept writes.
    Unavailable,
    /// The database did not say whether it has committed. The change may have been made, or may be made soon.
    OutcomeUnknown,
    /// The queue of writes is full, or all connections to the database are busy.
    Overloaded,
    /// A record cannot be read.
    Damaged,
    /// The ephemeral store that the nodes share cannot be reached. It may have made the change, if only its answer was lost.
    SharedUnavailable,
}

/// What an operator can do about a database that does not open. Only operators see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Remedy {
    /// The file is damaged.
    #[error("if the file is damaged, restore it from a backup")]
    Restore,
    /// The disk or its permissions prevent access.
    #[error("check the free space and the permissions of the disk")]
    CheckDisk,
}

impl Remedy {
    fn of(code: ErrorCode) -> Option<Self> {
        match code {
            ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt => Some(Self::Restore),
            ErrorCode::SystemIoFailure
            | ErrorCode::DiskFull
            | ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied => Some(Self::CheckDisk),
            _ => None,
        }
    }
}

impl StoreError {
    pub(crate) fn new(kind: StoreErrorKind, detail: impl Into<String>) -> Self {
        Self(Box::new(ErrorContent { kind, detail: detail.into(), remedy: None }))
    }

    fn with_remedy(mut self, remedy: Option<Remedy>) -> Self {
        self.0.remedy = remedy;
        self
    }

    pub(crate) fn unavailable(why: &dyn std::fmt::Display) -> Self {
        Self::new(StoreErrorKind::Unavailable, why.to_string())
    }

    pub(crate) fn timed_out() -> Self {
        Self::unavailable(&"the database did not respond in time")
    }

    /// The same error of a write that may have been committed.
    #[must_use]
    pub(crate) fn with_unknown_outcome(mut self) -> Self {
        if !self.is_outcome_unknown() {
            self.0.kind = StoreErrorKind::OutcomeUnknown;
            self.0.detail = format!("it is unknown whether the change was made: {}", self.0.detail);
        }
        self
    }

    pub(crate) fn damaged(what: &str) -> Self {
        Self::new(StoreErrorKind::Damaged, what).with_remedy(Some(Remedy::Restore))
    }

    pub(crate) fn shared(detail: impl Into<String>) -> Self {
        Self::new(StoreErrorKind::SharedUnavailable, detail)
    }

    /// The part of the error that may be shown; the rest is for the log.
    #[must_use]
    pub fn kind(&self) -> StoreErrorKind {
        self.0.kind
    }

    /// Whether the change of the database may have been made nevertheless.
    #[must_use]
    pub fn is_outcome_unknown(&self) -> bool {
        self.0.kind == StoreErrorKind::OutcomeUnknown
    }

    /// What an operator can do about the error, if that is known.
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        self.0.remedy
    }
}

impl From<InvalidCursor> for StoreError {
    /// Cursors are parsed before the store is called, so this is a bug.
    fn from(error: InvalidCursor) -> Self {
        Self::unavailable(&error)
    }
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(db_error) = error.as_db_error() {
            // The detail is left out: it quotes values.
            return Self::new(
                StoreErrorKind::Unavailable,
                format!("{} ({})", db_error.message(), db_error.code().code()),
            );
        }
        let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
        let detail = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
        Self::new(StoreErrorKind::Unavailable, detail)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let code = error.sqlite_error_code();
        // Only a deadline interrupts a statement.
        if code == Some(ErrorCode::OperationInterrupted) {
            return Self::timed_out();
        }
        Self::new(StoreErrorKind::Unavailable, error.to_string()).with_remedy(code.and_then(Remedy::of))
    }
}

impl StoreError {
    /// The error of a commit of SQLite. It rolls back in every case. But where writing the log succeeded and a later step failed,
    /// such as the sync, the change may be on disk, and is made if the process ends now.
    pub(crate) fn of_sqlite_commit(error: rusqlite::Error) -> Self {
        let is_log_written = error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
            && error.sqlite_extended_error_code() != Some(ffi::SQLITE_IOERR_WRITE);
        let error = Self::from(error);
        if is_log_written { error.with_unknown_outcome() } else { error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: i32) -> StoreError {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into()
    }

    #[test]
    fn only_a_damaged_file_is_restored_from_a_backup() {
        for code in [ffi::SQLITE_NOTADB, ffi::SQLITE_CORRUPT, ffi::SQLITE_CORRUPT_INDEX] {
            assert_eq!(of(code).remedy(), Some(Remedy::Restore), "{code}");
        }
        for code in [
            ffi::SQLITE_IOERR,
            ffi::SQLITE_IOERR_WRITE,
            ffi::SQLITE_FULL,
            ffi::SQLITE_READONLY,
            ffi::SQLITE_READONLY_DIRECTORY,
            ffi::SQLITE_CANTOPEN,
            ffi::SQLITE_PERM,
        ] {
            assert_eq!(of(code).remedy(), Some(Remedy::CheckDisk), "{code}");
        }
        assert_eq!(of(ffi::SQLITE_BUSY).remedy(), None);
    }

    #[test]
    fn a_commit_whose_sync_failed_may_come_back_after_a_crash() {
        for (code, is_unknown) in [
            (ffi::SQLITE_IOERR_FSYNC, true),
            (ffi::SQLITE_IOERR_SHMSIZE, true),
            (ffi::SQLITE_IOERR_WRITE, false),
            (ffi::SQLITE_FULL, false),
            (ffi::SQLITE_BUSY, false),
        ] {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            assert_eq!(StoreError::of_sqlite_commit(error).is_outcome_unknown(), is_unknown, "{code}");
        }
    }

    #[test]
    fn a_remedy_is_not_part_of_the_message_above() {
        for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_FULL] {
            let error = of(code);
            assert_eq!(error.kind(), StoreErrorKind::Unavailable);
            assert!(!error.to_string().contains("backup") && !error.to_string().contains("disk space"), "{error}");
        }
    }
}
