//! What happens when the database cannot be synced.
//!
//! The system may then have lost pages that were copied to the database, and each open file is told so once: the next sync succeeds. So
//! the first error ends the process, before the write-ahead log, which still has these pages, can begin anew. The next start copies all of
//! it again.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::abort;
use std::time::Duration;

/// How long the process waits before it ends, so that its log says why: another thread writes it.
const LOG_PAUSE: Duration = Duration::from_secs(1);

/// Ends the process without closing its connections, which would copy the rest of the log and delete it.
pub(super) fn end_process(path: &Path, error: &impl Display) -> ! {
    if let Err(error) = forget_copies(path) {
        tracing::error!(%error, "it could not be noted that the write-ahead log has to be copied again");
    }
    tracing::error!(%error, "the database could not be synced: the process ends; the next start copies the write-ahead log again");
    std::thread::sleep(LOG_PAUSE);
    abort();
}

/// Where the index of the log has the number of pages that were copied: <https://sqlite.org/walformat.html>, `nBackfill`.
const COPIED_PAGES_OFFSET: u64 = 96;

/// Sets the number of copied pages to 0. The index outlives the process while another one has the database open, such as a backup.
fn forget_copies(path: &Path) -> io::Result<()> {
    let mut index = OsString::from(path);
    index.push("-shm");
    // The file is shared memory of all processes. Closing it releases SQLite's locks on it, so it stays open.
    let index = Box::leak(Box::new(OpenOptions::new().write(true).open(index)?));
    index.write_all_at(&0_u32.to_ne_bytes(), COPIED_PAGES_OFFSET)
}
