//! Resolves host names on a bounded number of threads.
//!
//! The system's resolver blocks its thread, and a timeout of the request does not end it. Without a bound, a name server that does
//! not answer would use up the threads that the whole process blocks on.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// The maximum number of threads that resolve names at once. The others wait, for as long as their request has time.
const MAX_CONCURRENT_LOOKUPS: usize = 4;

/// Looks a host name up, however long it takes.
type Lookup = dyn Fn(&str) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// Resolves host names.
pub(crate) struct BoundedResolver {
    permits: Arc<Semaphore>,
    lookup: Arc<Lookup>,
}

impl BoundedResolver {
    /// The system's resolver.
    pub(crate) fn system() -> Self {
        Self::with(|host| (host, 0).to_socket_addrs().map(Iterator::collect))
    }

    fn with(lookup: impl Fn(&str) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static) -> Self {
        Self { permits: Arc::new(Semaphore::new(MAX_CONCURRENT_LOOKUPS)), lookup: Arc::new(lookup) }
    }
}

impl Resolve for BoundedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(resolve(Arc::clone(&self.permits), Arc::clone(&self.lookup), name))
    }
}

async fn resolve(
    permits: Arc<Semaphore>,
    lookup: Arc<Lookup>,
    name: Name,
) -> Result<Addrs, Box<dyn Error + Send + Sync>> {
    let permit = permits.acquire_owned().await?;
    let found = spawn_blocking(move || {
        let found = lookup(name.as_str());
        // Held until the thread is free, also when the request has stopped waiting.
        drop(permit);
        found
    });
    Ok(Box::new(found.await??.into_iter()))
}

impl fmt::Debug for BoundedResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundedResolver").field("permits", &self.permits).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::sync::RwLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_name_server_that_does_not_answer_holds_few_threads() {
        let (gate, lookups) = (Arc::new(RwLock::new(())), Arc::new(AtomicUsize::new(0)));
        let (held, counted) = (Arc::clone(&gate), Arc::clone(&lookups));
        let resolver = BoundedResolver::with(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            drop(held.read().unwrap());
            Ok(vec![SocketAddr::from(([192, 0, 2, 1], 0))])
        });
        {
            let _silent = gate.write().unwrap();
            for _ in 0..100 {
                // The request gives up; its thread does not.
                assert!(resolver.resolve("desk.example.com".parse().unwrap()).now_or_never().is_none());
            }
            assert_eq!(resolver.permits.available_permits(), 0);
        }
        let all = u32::try_from(MAX_CONCURRENT_LOOKUPS).unwrap();
        drop(resolver.permits.acquire_many(all).await.unwrap());
        assert_eq!(lookups.load(Ordering::SeqCst), MAX_CONCURRENT_LOOKUPS);
        let found = resolver.resolve("desk.example.com".parse().unwrap()).await.unwrap();
        assert_eq!(found.collect::<Vec<_>>(), [SocketAddr::from(([192, 0, 2, 1], 0))]);
    }

    #[tokio::test]
    async fn an_address_and_the_name_of_this_machine_are_resolved() {
        let resolver = BoundedResolver::system();
        for name in ["localhost", "127.0.0.1"] {
            let mut found = resolver.resolve(name.parse().unwrap()).await.unwrap();
            assert!(found.all(|address| address.ip().is_loopback()), "{name}");
        }
    }
}
