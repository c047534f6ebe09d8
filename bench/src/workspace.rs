//! The workspace of a run: the binaries it starts and the directory it fills.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::error::BenchError;
use crate::progress::grouped;
use crate::seed::Layout;

/// The directory of one run, which is removed with it.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) deskpass: PathBuf,
    pub(crate) bench: PathBuf,
    directory: TempDir,
}

impl Workspace {
    /// Creates a directory in the target directory, so that the figures apply to the repository's disk.
    pub(crate) fn open() -> Result<Self, BenchError> {
        let bench = std::env::current_exe()?;
        let deskpass = bench.with_file_name("deskpass");
        if !deskpass.is_file() {
            let missing = deskpass.display();
            return Err(format!("there is no {missing}; build it first: cargo build --profile dist -p deskpass").into());
        }
        let target = bench.parent().and_then(Path::parent).ok_or("the benchmark is not in a target directory")?;
        // PostgreSQL may run as another user, who must be able to reach its own directory.
        let open = Permissions::from_mode(0o755);
        let directory = tempfile::Builder::new().prefix("bench-").permissions(open).tempdir_in(target)?;
        Ok(Self { deskpass, bench, directory })
    }

    /// The working directory of the servers, in which there is no settings file.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A command with only the given settings: none from the environment or from a stray file.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.path());
        command
    }

    /// The path of a store with this layout.
    pub(crate) fn store(&self, name: &str, layout: Layout) -> PathBuf {
        self.path().join(format!("{name}-{}", grouped(layout.sessions).replace(' ', "_")))
    }

    /// The path of the servers' log.
    pub(crate) fn log(&self) -> PathBuf {
        self.path().join("server.log")
    }
}
