//! Work without its types, so that queues, threads and retries are compiled once and not again for each statement: that was a tenth
//! of the program.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Sql, Tx};
use crate::{Result, StoreError};

/// A query. It leaves its result in a [`ResultSlot`].
pub(super) type ReadWork = Box<dyn Fn(&Sql<'_>) -> Result<()> + Send>;

/// The work of a transaction. It leaves its result in a [`ResultSlot`].
pub(super) type WriteWork = Box<dyn Fn(&mut Tx<'_>) -> Result<()> + Send>;

/// The place of a result. Work that runs again replaces it.
pub(super) struct ResultSlot<T>(Arc<Mutex<Option<T>>>);

impl<T> ResultSlot<T> {
    fn new() -> (Self, Self) {
        let slot = Arc::new(Mutex::new(None));
        (Self(Arc::clone(&slot)), Self(slot))
    }

    fn set(&self, result: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    /// The result of work that succeeded.
    pub(super) fn take(self) -> Result<T> {
        let result = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.ok_or_else(|| StoreError::unavailable(&"the work was not run"))
    }
}

/// Erases the type of a query.
pub(super) fn erase_read<T: Send + 'static>(
    query: impl Fn(&Sql<'_>) -> Result<T> + Send + 'static,
) -> (ReadWork, ResultSlot<T>) {
    let (inside, outside) = ResultSlot::new();
    (Box::new(move |sql| query(sql).map(|result| inside.set(result))), outside)
}

/// Erases the type of the work of a transaction.
pub(super) fn erase_write<T: Send + 'static>(
    work: impl Fn(&mut Tx<'_>) -> Result<T> + Send + 'static,
) -> (WriteWork, ResultSlot<T>) {
    let (inside, outside) = ResultSlot::new();
    (Box::new(move |tx| work(tx).map(|result| inside.set(result))), outside)
}
