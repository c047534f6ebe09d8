//! Why a run failed.

use std::fmt::Display;

/// Why a run failed, ready to be shown.
#[derive(Debug)]
pub(crate) struct BenchError(pub(crate) String);

impl<E: Display> From<E> for BenchError {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl BenchError {
    /// The same, with what was being done.
    pub(crate) fn during(self, what: impl Display) -> Self {
        Self(format!("{what}: {}", self.0))
    }
}
