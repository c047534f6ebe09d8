//! Where a run keeps its things: the binaries it starts and the directory it fills.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::error::BenchError;
use crate::progress::grouped;
use crate::seed::Layout;

/// The place of one run; what is in it goes with it.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) deskpass: PathBuf,
    pub(crate) bench: PathBuf,
    directory: TempDir,
}

impl Workspace {
    /// A place in the target directory, so that the figures are those of the repository's disk.
    pub(crate) fn open() -> Result<Self, BenchError> {
        let bench = std::env::current_exe()?;
        let deskpass = bench.with_file_name("deskpass");
        if !deskpass.is_file() {
            let missing = deskpass.display();
            return Err(format!("there is no {missing}; build it first: cargo build --release -p deskpass").into());
        }
        let target = bench.parent().and_then(Path::parent).ok_or("the benchmark is not in a target directory")?;
        // PostgreSQL may run as somebody else, who must find the way to its own directory.
        let open = Permissions::from_mode(0o755);
        let directory = tempfile::Builder::new().prefix("bench-").permissions(open).tempdir_in(target)?;
        Ok(Self { deskpass, bench, directory })
    }

    /// Where the servers work, and so find no settings file.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A program with no settings but those given: neither from the environment nor from a file that lies about.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.path());
        command
    }

    /// Where a store of this layout goes.
    pub(crate) fn store(&self, name: &str, layout: Layout) -> PathBuf {
        self.path().join(format!("{name}-{}", grouped(layout.sessions).replace(' ', "_")))
    }

    /// Where the servers log.
    pub(crate) fn log(&self) -> PathBuf {
        self.path().join("server.log")
    }
}
