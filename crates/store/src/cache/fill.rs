//! How a reader fills a gap in the cache.

use std::time::Duration;

/// How long a request waits for another one that reads the same entry.
pub(crate) const CACHE_FILL_TIMEOUT: Duration = Duration::from_millis(200);
