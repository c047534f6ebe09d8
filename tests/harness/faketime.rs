//! A process that sees a wrong time of day.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

/// The time of day as a process sees it, relative to the right one; it can be set while the process runs. The monotonic clock
/// stays right, as on a real machine.
#[derive(Debug)]
pub(crate) struct FakeClock {
    directory: TempDir,
}

impl FakeClock {
    /// A clock that is off by this much, in faketime's notation: `+800d`, `-10y`, `+0`.
    pub(crate) fn by(wrong: &str) -> Self {
        let this = Self { directory: tempfile::tempdir().unwrap() };
        this.set(wrong);
        this
    }

    /// Sets the time of day.
    pub(crate) fn set(&self, wrong: &str) {
        // Renamed into place, so that a process never reads half of it.
        let next = self.directory.path().join("next");
        std::fs::write(&next, format!("{wrong}\n")).unwrap();
        std::fs::rename(next, self.file()).unwrap();
    }

    /// Makes a command use this clock.
    pub(crate) fn on(&self, command: &mut Command) {
        command.env("LD_PRELOAD", library()).env("FAKETIME_TIMESTAMP_FILE", self.file());
        command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
    }

    fn file(&self) -> PathBuf {
        Path::join(self.directory.path(), "time")
    }
}

/// The path of the library, which the faketime program prints. Without it a process would see the right time.
fn library() -> &'static str {
    static LIBRARY: OnceLock<String> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let asked = Command::new("faketime").args(["-m", "-f", "+0", "printenv", "LD_PRELOAD"]).output();
        let asked = asked.expect("tools/services installs faketime");
        let path = String::from_utf8(asked.stdout).unwrap().trim().to_owned();
        assert!(path.contains("faketime"), "faketime names no library: {path:?} {:?}", asked.stderr);
        path
    })
}
