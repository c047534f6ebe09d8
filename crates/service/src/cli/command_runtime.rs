//! The runtime of a command.

use std::cell::Cell;
use std::io;

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use tokio::runtime::{Builder, Runtime};

/// A runtime with one thread, that of the command.
pub(super) struct CommandRuntime(Runtime);

/// Makes the runtime of a command.
pub(super) fn runtime() -> io::Result<CommandRuntime> {
    Ok(CommandRuntime(Builder::new_current_thread().enable_all().build()?))
}

impl CommandRuntime {
    /// Runs work to its end. The runtime's part is compiled once, and not again for each command.
    pub(super) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        let result = Cell::new(None);
        self.run(async { result.set(Some(work.await)) }.boxed_local());
        result.take().unwrap_or_else(|| unreachable!("the work has ended"))
    }

    fn run(&self, work: LocalBoxFuture<'_, ()>) {
        self.0.block_on(work);
    }

    /// Ends the runtime without waiting for its threads.
    pub(super) fn shutdown_background(self) {
        self.0.shutdown_background();
    }
}
