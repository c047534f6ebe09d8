//! What these tests need besides the desk.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use deskpass_core::{EmployeeKey, LoginMethod};
use deskpass_store::{Event, Grounds, LogEntry};
use tokio::time::Instant;

use crate::desk::birth;

/// A row for the log that no other has the name of.
pub(crate) fn entry(event: Event, about: &EmployeeKey) -> LogEntry {
    static NAMES: AtomicUsize = AtomicUsize::new(0);
    let name = format!("{:032x}", NAMES.fetch_add(1, Ordering::Relaxed));
    LogEntry { event, about: about.clone(), ..birth(&name, LoginMethod::Dev, None, Grounds::None).entry }
}

/// Whether something comes true within a second.
pub(crate) async fn soon(is_true: impl AsyncFn() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(1) {
        if is_true().await {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}
