//! Detects files with secrets that other users of the machine can read.

use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// A file with secrets that more users can read than necessary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExposedFile {
    pub(crate) path: PathBuf,
    /// Whether every user of the machine can read it, rather than only its group.
    pub(crate) world_readable: bool,
    /// Whether the service may read it through its group. The group then keeps its permission.
    through_group: bool,
}

impl ExposedFile {
    /// The command that fixes the permissions.
    pub(crate) fn fix(&self) -> String {
        let whom = if self.through_group { "o" } else { "go" };
        format!("chmod {whom}= {}", self.path.display())
    }

    /// The warning for the operator.
    pub(crate) fn warning(&self) -> String {
        let who = if self.world_readable { "every user of this machine" } else { "its group" };
        format!("{} contains secrets and is readable by {who}; run: {}", self.path.display(), self.fix())
    }
}

/// Returns the files that other users can read.
pub(crate) fn exposed_files(files: &[PathBuf]) -> Vec<ExposedFile> {
    files.iter().filter_map(|path| inspect(path)).collect()
}

fn inspect(path: &Path) -> Option<ExposedFile> {
    let path = fs::canonicalize(path).ok()?;
    let file = fs::metadata(&path).ok()?;
    let through_group = is_read_through_group(geteuid().as_raw(), file.uid(), file.gid());
    let (group, others) = (has_permission(&file, 0o040) && !through_group, has_permission(&file, 0o004));
    let reachable = |bits| {
        path.ancestors().skip(1).all(|above| fs::metadata(above).is_ok_and(|above| has_permission(&above, bits)))
    };
    let world_readable = others && reachable(0o001);
    let exposed = world_readable || (group && reachable(0o011));
    exposed.then_some(ExposedFile { path, world_readable, through_group })
}

/// Whether the file has one of these permissions.
fn has_permission(file: &Metadata, bits: u32) -> bool {
    file.permissions().mode() & bits != 0
}

/// The id of the root user and of its group.
const ROOT: u32 = 0;

/// Whether the service may read a file through its group: a file of another user, or a file of root with a group other
/// than root's. The latter matters when root checks the settings of a service that runs as another user.
fn is_read_through_group(us: u32, owner: u32, group: u32) -> bool {
    owner != us || (owner == ROOT && group != ROOT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_the_service_keeps_its_right() {
        let (service, other_user) = (990, 1_000);
        for (us, owner, group, through_group) in [
            // As documented: root owns the file, and the service's group reads it.
            (ROOT, ROOT, service, true),
            (service, ROOT, service, true),
            (ROOT, service, service, true),
            (ROOT, ROOT, ROOT, false),
            (service, service, service, false),
            (other_user, other_user, service, false),
        ] {
            assert_eq!(is_read_through_group(us, owner, group), through_group, "{us} {owner}:{group}");
        }
        let exposed = |through_group| ExposedFile { path: "/x".into(), world_readable: true, through_group };
        assert_eq!([true, false].map(|group| exposed(group).fix()), ["chmod o= /x", "chmod go= /x"]);
    }
}
