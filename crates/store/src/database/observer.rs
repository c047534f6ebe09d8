//! Reports of operations of the database, for metrics.

use std::sync::OnceLock;
use std::time::Duration;

use crate::{Result, StoreErrorKind};

/// An operation of the database that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationReport {
    /// The operation.
    pub operation: Operation,
    /// Why it failed, unless it succeeded.
    pub failure: Option<StoreErrorKind>,
    /// How long it took, with the wait for its turn.
    pub elapsed: Duration,
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reading.
    Read,
    /// A transaction that writes, with its commit.
    Write,
}

/// How busy the database is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLoad {
    /// The operations that wait for their turn.
    pub waiting: usize,
    /// The connections in use, and how many there may be, where the database is a server.
    pub connections: Option<(usize, usize)>,
}

type Listener = Box<dyn Fn(OperationReport) + Send + Sync>;

/// Receives the reports, once it is set.
#[derive(Default)]
pub(crate) struct OperationObserver(OnceLock<Listener>);

debug_only!(OperationObserver);

impl OperationObserver {
    pub(crate) fn set(&self, listener: Listener) {
        // Only the first call has an effect.
        let _ = self.0.set(listener);
    }

    pub(super) fn report<T>(&self, operation: Operation, outcome: &Result<T>, elapsed: Duration) {
        if let Some(listener) = self.0.get() {
            let failure = outcome.as_ref().err().map(crate::StoreError::kind);
            listener(OperationReport { operation, failure, elapsed });
        }
    }
}
