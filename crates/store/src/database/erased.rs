//! Work without its types, so that queues, threads and retries are compiled once and not again for each statement: that was a tenth
//! of the program.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;

use super::{Sql, Tx};
use crate::{Result, StoreError};

/// A query. It leaves its result in a [`ResultSlot`].
pub(super) type ReadWork = Box<dyn Fn(&Sql<'_>) -> Result<()> + Send>;

/// The work of a transaction. It leaves its result in a [`ResultSlot`].
pub(super) type WriteWork = Box<dyn Fn(&mut Tx<'_>) -> Result<()> + Send>;

/// A query that runs once. It leaves its result in a [`ResultSlot`].
pub(super) type SingleRead = Box<dyn FnOnce(&Sql<'_>) -> Result<()> + Send>;

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
    pub(super) fn take(&self) -> Result<T> {
        let result = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.ok_or_else(|| StoreError::unavailable(&"the work was not run"))
    }
}

/// Work and its result to come. The type names the result and not the work, so that waiting is compiled once for each type of result.
#[must_use = "the work begins when it is awaited"]
pub(crate) struct Running<'a, T> {
    done: BoxFuture<'a, Result<()>>,
    result: ResultSlot<T>,
}

impl<'a, T> Running<'a, T> {
    pub(super) fn new(done: impl Future<Output = Result<()>> + Send + 'a, result: ResultSlot<T>) -> Self {
        Self { done: Box::pin(done), result }
    }
}

impl<T> Future for Running<'_, T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { done, result } = self.get_mut();
        done.as_mut().poll(context).map(|done| done.and_then(|()| result.take()))
    }
}

/// Erases the type of a query.
pub(super) fn erase_read<T: Send + 'static>(
    query: impl Fn(&Sql<'_>) -> Result<T> + Send + 'static,
) -> (ReadWork, ResultSlot<T>) {
    let (inside, outside) = ResultSlot::new();
    (Box::new(move |sql| query(sql).map(|result| inside.set(result))), outside)
}

/// Erases the type of a query that runs once.
pub(super) fn erase_single_read<T: Send + 'static>(
    query: impl FnOnce(&Sql<'_>) -> Result<T> + Send + 'static,
) -> (SingleRead, ResultSlot<T>) {
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
