//! Work that may use the cache and nothing else.

use std::cell::Cell;
use std::future::{Future, pending};
use std::pin::Pin;

use futures_util::FutureExt as _;

thread_local! {
    /// Whether this thread polls work that may use the cache only.
    static CACHE_ONLY: Cell<bool> = const { Cell::new(false) };
}

/// The result of `work` if the cache has everything that it needs; `None` otherwise, and then nothing was read from the database or
/// written to it: a lookup that misses the cache, or a statement, does not begin. Work that waits for anything else must not be passed here:
/// it would begin, and be dropped.
#[must_use]
pub fn if_cached<T>(work: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    let _end = CacheOnly;
    CACHE_ONLY.set(true);
    work.now_or_never()
}

/// Called before anything that needs more than the cache. Inside [`if_cached`] it never returns, so that the work ends there.
pub(crate) async fn leave_cache() {
    if CACHE_ONLY.get() {
        pending::<()>().await;
    }
}

/// Ends the restriction, also when the work panics.
struct CacheOnly;

impl Drop for CacheOnly {
    fn drop(&mut self) {
        CACHE_ONLY.set(false);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    #[tokio::test]
    async fn work_that_needs_more_than_the_cache_does_not_begin() {
        let mut steps = Vec::new();
        let result = if_cached(pin!(async {
            steps.push("looked up");
            leave_cache().await;
            steps.push("read");
        }));
        assert_eq!((result, steps), (None, vec!["looked up"]));
        assert_eq!(if_cached(pin!(async { 5 })), Some(5));
        leave_cache().await;
        let panicked = std::panic::catch_unwind(|| if_cached(pin!(async { std::panic::resume_unwind(Box::new(())) })));
        assert!(panicked.is_err());
        leave_cache().await;
    }
}
