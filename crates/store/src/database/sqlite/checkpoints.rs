//! Checkpoints: SQLite's write-ahead log is copied to the database on a thread of its own, while the writer goes on.
//!
//! To copy 24 MiB takes tens of milliseconds, in which no sign-in could be committed. SQLite begins the log anew only when all of it is
//! copied, so the writer copies the rest: what was written in the meantime. With all of it on the writer, as SQLite does it by itself,
//! checkpoints took a fifth of the writer's processor time during sign-ins.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::SqliteConnection;
use crate::{Result, StoreError};

/// When the log is copied, in pages of 4 KiB.
#[derive(Clone, Copy, Debug)]
struct LogLimits {
    /// The length from which on the thread copies it. A page that was changed many times is copied once.
    copied_from: i32,
    /// The length from which on the writer copies it without waiting for the thread, which may hang or have failed.
    longest: i32,
}

/// 24 and 96 MiB.
const LOG_LIMITS: LogLimits = LogLimits { copied_from: 6_000, longest: 24_000 };

/// The thread that copies.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    progress: Arc<Progress>,
    wake: SyncSender<()>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Progress {
    /// Whether the thread has copied the log since it was woken.
    is_copied: AtomicBool,
    /// Whether the thread is to end.
    is_ended: AtomicBool,
}

impl Checkpoints {
    /// Copies the log of this connection, which writes to the database in `path`.
    pub(crate) fn start(writer: &mut SqliteConnection, path: &Path) -> Result<Self> {
        Self::start_with(LOG_LIMITS, writer, path)
    }

    fn start_with(limits: LogLimits, writer: &mut SqliteConnection, path: &Path) -> Result<Self> {
        let (wake, woken) = sync_channel(1);
        let progress = Arc::<Progress>::default();
        let mut log =
            Log { limits, wake: wake.clone(), progress: Arc::clone(&progress), is_being_copied: false, last: 0 };
        let (path, of_thread) = (path.to_owned(), Arc::clone(&progress));
        let thread = std::thread::Builder::new().name("store-checkpoint".into());
        let thread = thread.spawn(move || serve(&path, &woken, &of_thread));
        let thread = Some(thread.map_err(|error| StoreError::unavailable(&error))?);
        let checkpoints = Self { progress, wake, thread };
        writer.checkpoint_after_commits(move |pages| log.is_to_be_copied(pages))?;
        Ok(checkpoints)
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.progress.is_ended.store(true, Ordering::Release);
        // If a wake-up waits already, it is enough.
        let _ = self.wake.try_send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The log, as the writer knows it.
struct Log {
    limits: LogLimits,
    wake: SyncSender<()>,
    progress: Arc<Progress>,
    is_being_copied: bool,
    /// The length of the log when the writer copied the rest.
    last: i32,
}

impl Log {
    /// Called after each commit, with the length of the log; whether the writer is to copy what is not copied yet.
    fn is_to_be_copied(&mut self, pages: i32) -> bool {
        if pages < self.last {
            // It has begun anew.
            self.last = 0;
        }
        let grown = pages - self.last;
        if self.progress.is_copied.swap(false, Ordering::Acquire) {
            self.is_being_copied = false;
        } else if grown < self.limits.longest {
            if grown >= self.limits.copied_from && !self.is_being_copied {
                self.is_being_copied = self.wake.try_send(()).is_ok();
            }
            return false;
        }
        self.last = pages;
        true
    }
}

/// Copies the log whenever it is woken.
fn serve(path: &Path, woken: &Receiver<()>, progress: &Progress) {
    let mut connection = None;
    while woken.recv().is_ok() && !progress.is_ended.load(Ordering::Acquire) {
        if let Err(error) = copy(path, &mut connection) {
            connection = None;
            tracing::warn!(%error, "the write-ahead log could not be copied to the database");
        }
        // After an error, the writer tries.
        progress.is_copied.store(true, Ordering::Release);
    }
}

fn copy(path: &Path, connection: &mut Option<SqliteConnection>) -> Result<()> {
    let connection = match connection {
        Some(connection) => connection,
        None => connection.insert(SqliteConnection::open_for_checkpoints(path)?),
    };
    connection.checkpoint()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    const LIMITS: LogLimits = LogLimits { copied_from: 100, longest: 400 };

    fn empty_log() -> (Log, Receiver<()>) {
        let (wake, woken) = sync_channel(1);
        (Log { limits: LIMITS, wake, progress: Arc::default(), is_being_copied: false, last: 0 }, woken)
    }

    #[test]
    fn the_thread_copies_the_log_and_the_writer_the_rest() {
        let (mut log, woken) = empty_log();
        assert!(!log.is_to_be_copied(99));
        assert!(woken.try_recv().is_err(), "it is short");
        assert!(!log.is_to_be_copied(100) && !log.is_to_be_copied(150));
        assert_eq!((woken.try_recv().is_ok(), woken.try_recv().is_ok()), (true, false), "it is copied once");
        log.progress.is_copied.store(true, Ordering::Release);
        assert!(log.is_to_be_copied(170) && !log.is_to_be_copied(171));
        // It has begun anew.
        assert!(!log.is_to_be_copied(99) && woken.try_recv().is_err());
        assert!(!log.is_to_be_copied(100) && woken.try_recv().is_ok());
    }

    #[test]
    fn a_log_that_cannot_begin_anew_is_copied_again_when_it_has_grown() {
        let (mut log, woken) = empty_log();
        assert!(!log.is_to_be_copied(100) && woken.try_recv().is_ok());
        log.progress.is_copied.store(true, Ordering::Release);
        assert!(log.is_to_be_copied(120));
        assert!(!log.is_to_be_copied(219) && woken.try_recv().is_err(), "a reader needs the log");
        assert!(!log.is_to_be_copied(220) && woken.try_recv().is_ok());
    }

    #[test]
    fn the_writer_copies_a_long_log_if_the_thread_does_not() {
        let (mut log, _woken) = empty_log();
        assert!(!log.is_to_be_copied(100) && !log.is_to_be_copied(399) && log.is_to_be_copied(400));
        assert!(!log.is_to_be_copied(401) && !log.is_to_be_copied(799) && log.is_to_be_copied(800));

        let (mut log, woken) = empty_log();
        drop(woken);
        assert!(!log.is_to_be_copied(100) && log.is_to_be_copied(400), "the thread has ended");
    }

    #[test]
    fn the_log_begins_anew_while_the_writer_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let (path, log) = (directory.path().join("test.db"), directory.path().join("test.db-wal"));
        std::fs::write(&path, "").unwrap();
        let mut writer = SqliteConnection::open_writer(&path).unwrap();
        writer.batch("CREATE TABLE page (content TEXT NOT NULL)").unwrap();
        let checkpoints = Checkpoints::start_with(LIMITS, &mut writer, &path).unwrap();
        let insert = "INSERT INTO page (content) VALUES (hex(zeroblob(2000)))";
        // The log keeps its greatest length, which depends on how long the thread waits for a processor.
        let (mut rows, mut pages) = (0, 0);
        while rows < 4 * pages.max(500) {
            for _ in 0..100 {
                writer.batch(insert).unwrap();
            }
            rows += 100;
            pages = std::fs::metadata(&log).unwrap().len() / 4_096;
            assert!(rows < 40_000, "the log has {pages} pages: it does not begin anew");
        }
        drop(writer);
        drop(checkpoints);
        let reader = SqliteConnection::open_reader(&path).unwrap();
        let check = "SELECT COUNT(*), (SELECT integrity_check FROM pragma_integrity_check) FROM page";
        let found = reader.rows(check, &[], |row| Ok((row.int(0)?, row.text(1)?))).unwrap();
        assert_eq!(found, [(i64::try_from(rows).unwrap(), "ok".to_owned())]);
    }
}
