//! The error of a run.

use std::fmt::Display;

/// The error of a run, with a message for display.
#[derive(Debug)]
pub(crate) struct BenchError(pub(crate) String);

impl<E: Display> From<E> for BenchError {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl BenchError {
    /// Adds the failed action to the message.
    pub(crate) fn during(self, what: impl Display) -> Self {
        Self(format!("{what}: {}", self.0))
    }
}
