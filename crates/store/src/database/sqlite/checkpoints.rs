//! Checkpoints: SQLite's write-ahead log is copied to the database, and the database synced, on a thread of its own, while the writer goes
//! on.
//!
//! To copy 24 MiB takes tens of milliseconds, and to sync them more, in which no sign-in could be committed. SQLite begins the log anew only
//! when all of it is copied and no reader needs it. So after each commit the writer copies the rest, which was written in the meantime, until
//! the log begins anew, as SQLite does it by itself. With all of it on the writer, checkpoints took a fifth of its processor time during
//! sign-ins.

mod failed_sync;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::JoinHandle;

use super::SqliteConnection;
use super::connection::CheckpointError;
use crate::{Result, StoreError};

/// When the log is copied, in pages of 4 KiB.
#[derive(Clone, Copy, Debug)]
struct LogLimits {
    /// The length of what is not copied from which on the thread copies it, and below which the writer copies the rest. A page that was
    /// changed many times is copied once.
    by_thread: i32,
    /// The length of what is not copied from which on the writer copies it, because the thread has failed or is too slow.
    by_writer: i32,
}

/// 24 and 96 MiB.
const LOG_LIMITS: LogLimits = LogLimits { by_thread: 6_000, by_writer: 24_000 };

/// The thread that copies.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    is_ended: Arc<AtomicBool>,
    wake: SyncSender<()>,
    thread: Option<JoinHandle<()>>,
    /// To be closed after the writer: closing a file releases the locks that the process has on it, SQLite's too.
    _file: Arc<File>,
}

impl Checkpoints {
    /// Copies the log of this connection, which writes to the database in `path`.
    pub(crate) fn start(writer: &mut SqliteConnection, path: &Path) -> Result<Self> {
        Self::start_with(LOG_LIMITS, writer, path)
    }

    fn start_with(limits: LogLimits, writer: &mut SqliteConnection, path: &Path) -> Result<Self> {
        let (wake, woken) = sync_channel(1);
        let (copied, results) = channel();
        let mut log = Log::new(limits, wake.clone(), results);
        let unavailable = |error: io::Error| StoreError::unavailable(&error);
        let file = Arc::new(File::open(path).map_err(unavailable)?);
        let connection = SqliteConnection::open_for_checkpoints(path)?;
        let (is_ended, synced) = (Arc::<AtomicBool>::default(), Arc::clone(&file));
        let serving = CheckpointThread {
            connection,
            path: path.to_owned(),
            file: synced,
            copied,
            is_ended: Arc::clone(&is_ended),
        };
        let thread = std::thread::Builder::new().name("store-checkpoint".into());
        let thread = Some(thread.spawn(move || serving.serve(&woken)).map_err(unavailable)?);
        let checkpoints = Self { is_ended, wake, thread, _file: file };
        let path = path.to_owned();
        let is_due = move |length| log.is_to_be_copied(length);
        writer.checkpoint_after_commits(is_due, move |error| report(&path, &error))?;
        Ok(checkpoints)
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.is_ended.store(true, Ordering::Release);
        // If a wake-up waits already, it is enough.
        let _ = self.wake.try_send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread does, as far as the writer knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// It waits, or has ended.
    Idle,
    Copying,
    /// The log has begun anew since it was woken: its result is about the old one.
    CopyingOldLog,
}

/// The log, as the writer knows it. All lengths are in pages.
struct Log {
    limits: LogLimits,
    wake: SyncSender<()>,
    /// How much of the log the thread has copied, each time when it was woken; nothing if it failed.
    results: Receiver<Option<i32>>,
    progress: Progress,
    length: i32,
    copied: i32,
    /// The length when the thread was last woken.
    length_when_woken: i32,
    /// Whether a reader needed a part of the log that was there when the thread was last woken.
    is_needed: bool,
}

impl Log {
    fn new(limits: LogLimits, wake: SyncSender<()>, results: Receiver<Option<i32>>) -> Self {
        let progress = Progress::Idle;
        Self { limits, wake, results, progress, length: 0, copied: 0, length_when_woken: 0, is_needed: false }
    }

    /// Called after each commit, with the length of the log; whether the writer is to copy what is not copied yet.
    fn is_to_be_copied(&mut self, length: i32) -> bool {
        self.receive_result();
        if length <= self.length {
            self.begin_anew();
        }
        self.length = length;
        let rest = length - self.copied;
        let is_idle = self.progress == Progress::Idle;
        if is_idle && rest >= self.limits.by_writer && !self.is_needed {
            return true;
        }
        // While a reader needs the log, the thread can copy no more; it tries again when the log has grown.
        let grown = length - self.length_when_woken;
        if is_idle && rest.min(grown) >= self.limits.by_thread && self.wake.try_send(()).is_ok() {
            (self.progress, self.length_when_woken) = (Progress::Copying, length);
            return false;
        }
        is_idle && self.copied > 0 && rest < self.limits.by_thread
    }

    fn receive_result(&mut self) {
        match self.results.try_recv() {
            Ok(copied) => {
                if self.progress == Progress::Copying {
                    self.copied = copied.unwrap_or(0);
                    self.is_needed = copied.is_some_and(|copied| copied < self.length_when_woken);
                }
                self.progress = Progress::Idle;
            }
            Err(TryRecvError::Disconnected) => self.progress = Progress::Idle,
            Err(TryRecvError::Empty) => {}
        }
    }

    fn begin_anew(&mut self) {
        (self.copied, self.length_when_woken, self.is_needed) = (0, 0, false);
        if self.progress == Progress::Copying {
            self.progress = Progress::CopyingOldLog;
        }
    }
}

struct CheckpointThread {
    connection: SqliteConnection,
    path: PathBuf,
    file: Arc<File>,
    copied: Sender<Option<i32>>,
    is_ended: Arc<AtomicBool>,
}

impl CheckpointThread {
    /// Copies the log whenever it is woken.
    fn serve(self, woken: &Receiver<()>) {
        while woken.recv().is_ok() && !self.is_ended.load(Ordering::Acquire) {
            if self.copied.send(self.copy()).is_err() {
                return;
            }
        }
    }

    /// Copies the log and syncs the copied pages, which SQLite itself does only when no more has been written in the meantime. Otherwise the
    /// writer's sync would have to wait for all of them.
    fn copy(&self) -> Option<i32> {
        let copied = self.connection.checkpoint().map_err(|error| report(&self.path, &error)).ok();
        if let Err(error) = self.file.sync_data() {
            failed_sync::end_process(&self.path, &error);
        }
        copied
    }
}

/// Reports an error of a checkpoint. What was not copied is copied later, unless a sync failed: then the process ends.
fn report(path: &Path, error: &CheckpointError) {
    match error {
        // The other thread copies the log.
        CheckpointError::Busy => {}
        CheckpointError::FailedSync(error) => failed_sync::end_process(path, error),
        CheckpointError::Other(error) => {
            tracing::warn!(%error, "the write-ahead log could not be copied to the database");
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;

    const LIMITS: LogLimits = LogLimits { by_thread: 100, by_writer: 400 };

    /// A log, with the other ends of its channels.
    fn empty_log() -> (Log, Receiver<()>, Sender<Option<i32>>) {
        let ((wake, woken), (copied, results)) = (sync_channel(1), channel());
        (Log::new(LIMITS, wake, results), woken, copied)
    }

    #[test]
    fn the_thread_copies_the_log_and_the_writer_the_rest() {
        let (mut log, woken, copied) = empty_log();
        assert!(!log.is_to_be_copied(99));
        assert!(woken.try_recv().is_err(), "it is short");
        assert!(!log.is_to_be_copied(100) && !log.is_to_be_copied(150));
        assert_eq!((woken.try_recv().is_ok(), woken.try_recv().is_ok()), (true, false), "it is copied once");
        copied.send(Some(140)).unwrap();
        assert!(log.is_to_be_copied(170) && log.is_to_be_copied(171), "until it begins anew");
        assert!(!log.is_to_be_copied(1) && !log.is_to_be_copied(99) && woken.try_recv().is_err());
        assert!(!log.is_to_be_copied(100) && woken.try_recv().is_ok());
    }

    #[test]
    fn a_result_about_an_old_log_is_ignored() {
        let (mut log, woken, copied) = empty_log();
        assert!(!log.is_to_be_copied(100) && woken.try_recv().is_ok());
        copied.send(Some(100)).unwrap();
        assert!(!log.is_to_be_copied(5) && !log.is_to_be_copied(10), "all was copied before it began anew");

        let (mut log, woken, copied) = empty_log();
        assert!(!log.is_to_be_copied(100) && woken.try_recv().is_ok() && !log.is_to_be_copied(5));
        assert!(!log.is_to_be_copied(110) && woken.try_recv().is_err(), "the thread is not ready");
        copied.send(Some(100)).unwrap();
        assert!(!log.is_to_be_copied(120) && woken.try_recv().is_ok());
    }

    #[test]
    fn a_log_that_a_reader_needs_is_copied_again_when_it_has_grown() {
        let (mut log, woken, copied) = empty_log();
        assert!(!log.is_to_be_copied(100) && woken.try_recv().is_ok());
        copied.send(Some(20)).unwrap();
        assert!(log.is_to_be_copied(110) && log.is_to_be_copied(119));
        assert!(!log.is_to_be_copied(199) && woken.try_recv().is_err(), "what could be copied is copied");
        for length in (200..2_000).step_by(100) {
            assert!(!log.is_to_be_copied(length) && woken.try_recv().is_ok());
            copied.send(Some(20)).unwrap();
        }
        assert!(
            !log.is_to_be_copied(2_000) && woken.try_recv().is_ok(),
            "it is left to the thread, however long it is"
        );
        copied.send(Some(2_000)).unwrap();
        assert!(log.is_to_be_copied(2_010));
    }

    #[test]
    fn the_writer_copies_a_long_log_if_the_thread_does_not() {
        let (mut log, woken, copied) = empty_log();
        assert!(!log.is_to_be_copied(100) && !log.is_to_be_copied(498) && woken.try_recv().is_ok(), "it still copies");
        copied.send(Some(100)).unwrap();
        assert!(!log.is_to_be_copied(499) && woken.try_recv().is_ok(), "it is woken again");
        copied.send(Some(499)).unwrap();
        assert!(log.is_to_be_copied(899), "it is too slow");

        let (mut log, woken, copied) = empty_log();
        for length in [100, 200, 300] {
            assert!(!log.is_to_be_copied(length) && woken.try_recv().is_ok());
            copied.send(None).unwrap();
        }
        assert!(log.is_to_be_copied(400) && log.is_to_be_copied(401), "it fails");

        let (mut log, woken, copied) = empty_log();
        drop((woken, copied));
        assert!(!log.is_to_be_copied(100) && !log.is_to_be_copied(399) && log.is_to_be_copied(400), "it has ended");
    }

    /// A database whose log has not been copied.
    fn database(directory: &Path) -> (std::path::PathBuf, SqliteConnection) {
        let path = directory.join("test.db");
        std::fs::write(&path, "").unwrap();
        let writer = SqliteConnection::open_writer(&path).unwrap();
        writer.batch("PRAGMA wal_autocheckpoint = 0; CREATE TABLE page (content TEXT NOT NULL)").unwrap();
        (path, writer)
    }

    const INSERT: &str = "INSERT INTO page (content) VALUES (hex(zeroblob(2000)))";

    #[test]
    fn the_thread_copies_what_no_reader_needs() {
        let directory = tempfile::tempdir().unwrap();
        let (path, writer) = database(directory.path());
        let checkpoints = SqliteConnection::open_for_checkpoints(&path).unwrap();
        writer.batch(&[INSERT; 10].join(";")).unwrap();
        let before = checkpoints.checkpoint().unwrap();
        assert!(before >= 10, "{before}");
        assert_eq!(std::fs::metadata(&path).unwrap().len() / 4_096, 12, "two pages, and one for each row");
        let reader = SqliteConnection::open_reader(&path).unwrap();
        reader.batch("BEGIN; SELECT COUNT(*) FROM page").unwrap();
        writer.batch(&[INSERT; 10].join(";")).unwrap();
        assert!(checkpoints.checkpoint().unwrap() <= before);
        reader.batch("COMMIT").unwrap();
        assert!(checkpoints.checkpoint().unwrap() >= 10);
    }

    /// Earlier versions could damage a database if one connection copied its log while another one began it anew.
    #[test]
    fn sqlite_is_new_enough() {
        assert!(rusqlite::version_number() >= 3_051_003);
    }

    #[test]
    fn the_log_begins_anew_while_the_writer_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let (path, mut writer) = database(directory.path());
        let log = directory.path().join("test.db-wal");
        let limits = LogLimits { by_writer: i32::MAX, ..LIMITS };
        let checkpoints = Checkpoints::start_with(limits, &mut writer, &path).unwrap();
        // Each time when the log begins anew, its header has another number.
        let number = || {
            let mut bytes = [0; 4];
            File::open(&log).unwrap().read_exact_at(&mut bytes, 12).unwrap();
            bytes
        };
        let (mut rows, mut last, mut times) = (0, number(), 0);
        while times < 3 {
            writer.batch(INSERT).unwrap();
            rows += 1;
            assert!(rows < 40_000, "it has begun anew {times} times");
            if number() != last {
                (last, times) = (number(), times + 1);
            }
        }
        drop(writer);
        drop(checkpoints);
        let reader = SqliteConnection::open_reader(&path).unwrap();
        let check = "SELECT COUNT(*), (SELECT integrity_check FROM pragma_integrity_check) FROM page";
        let found = reader.rows(check, &[], |row| Ok((row.int(0)?, row.text(1)?))).unwrap();
        assert_eq!(found, [(rows, "ok".to_owned())]);
    }
}
