//! What can go wrong below, and the few words of it that may be told above.

/// The store could not do what was asked. Nothing was changed unless an earlier answer said so.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{detail}")]
pub struct StoreError {
    cause: Cause,
    detail: String,
}

/// Why the store failed, from a closed list that is safe to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The database does not answer or does not take writes.
    Unavailable,
    /// More writes are waiting than the store will queue.
    Overloaded,
    /// A record cannot be read.
    Damaged,
}

impl StoreError {
    pub(crate) fn new(cause: Cause, detail: impl Into<String>) -> Self {
        Self { cause, detail: detail.into() }
    }

    pub(crate) fn damaged(what: &str) -> Self {
        Self::new(Cause::Damaged, what)
    }

    /// The part of it that may be shown; the rest is for the log.
    #[must_use]
    pub fn cause(&self) -> Cause {
        self.cause
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::new(Cause::Unavailable, error.to_string())
    }
}
