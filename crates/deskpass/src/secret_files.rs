//! Files with secrets that other users of the machine can read.

use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// A file with secrets that more users can read than need to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exposed {
    pub(crate) path: PathBuf,
    /// Whether everybody on the machine can read it, rather than its group alone.
    pub(crate) to_everybody: bool,
}

impl Exposed {
    /// The command that mends it.
    pub(crate) fn mend(&self) -> String {
        // A group through which the service itself reads the file keeps its right.
        let whom = if self.to_everybody && !owned_by_us(&self.path) { "o" } else { "go" };
        format!("chmod {whom}= {}", self.path.display())
    }

    /// What an operator is told.
    pub(crate) fn caution(&self) -> String {
        let who = if self.to_everybody { "every user of this machine" } else { "its group" };
        format!("{} holds secrets and can be read by {who}; run: {}", self.path.display(), self.mend())
    }
}

/// Those of the files that others can read.
pub(crate) fn exposed(files: &[PathBuf]) -> Vec<Exposed> {
    files.iter().filter_map(|path| look(path)).collect()
}

/// A file that belongs to another user, and that the service reads as a member of its group, is as it should be.
fn look(path: &Path) -> Option<Exposed> {
    let path = fs::canonicalize(path).ok()?;
    let file = fs::metadata(&path).ok()?;
    let (group, others) = (may(&file, 0o040), may(&file, 0o004));
    let reachable =
        |bits| path.ancestors().skip(1).all(|above| fs::metadata(above).is_ok_and(|above| may(&above, bits)));
    if others && reachable(0o001) {
        Some(Exposed { path, to_everybody: true })
    } else if group && owned_by_us(&path) && reachable(0o011) {
        Some(Exposed { path, to_everybody: false })
    } else {
        None
    }
}

/// Whether one of these permissions is given.
fn may(file: &Metadata, bits: u32) -> bool {
    file.permissions().mode() & bits != 0
}

fn owned_by_us(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.uid() == geteuid().as_raw())
}
