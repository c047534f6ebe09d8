//! The filling of gaps in the cache by readers.

use std::time::Duration;

/// How long a request waits for another request that reads the same entry.
pub(crate) const CACHE_FILL_TIMEOUT: Duration = Duration::from_millis(200);
