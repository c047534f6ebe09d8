//! Waits for what happens in the background. Tests wait for a condition, never for a time.

use std::time::{Duration, Instant};

/// The limit of a wait: long, so that only a condition that never holds fails a test on a busy machine.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < WAIT_TIMEOUT, "{what}: not within {WAIT_TIMEOUT:?}");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
