//! Files with secrets that other users of the machine can read.

use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// A file with secrets that more users can read than need to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExposedFile {
    pub(crate) path: PathBuf,
    /// Whether everybody on the machine can read it, rather than its group alone.
    pub(crate) world_readable: bool,
    /// Whether the service may read it as a member of its group, which then keeps its right.
    through_group: bool,
}

impl ExposedFile {
    /// The command that mends it.
    pub(crate) fn fix(&self) -> String {
        let whom = if self.through_group { "o" } else { "go" };
        format!("chmod {whom}= {}", self.path.display())
    }

    /// What an operator is told.
    pub(crate) fn warning(&self) -> String {
        let who = if self.world_readable { "every user of this machine" } else { "its group" };
        format!("{} holds secrets and can be read by {who}; run: {}", self.path.display(), self.fix())
    }
}

/// Those of the files that others can read.
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

/// Whether one of these permissions is given.
fn has_permission(file: &Metadata, bits: u32) -> bool {
    file.permissions().mode() & bits != 0
}

/// The user and the group of administrators.
const ROOT: u32 = 0;

/// Whether the service may read a file as a member of its group: one of another user, and one of root's with a group of its
/// own. For root looks at the settings of a service that runs as another user.
fn is_read_through_group(us: u32, owner: u32, group: u32) -> bool {
    owner != us || (owner == ROOT && group != ROOT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_the_service_keeps_its_right() {
        let (service, somebody) = (990, 1_000);
        for (us, owner, group, through_group) in [
            // As the documents say: root's, and the service's group reads it.
            (ROOT, ROOT, service, true),
            (service, ROOT, service, true),
            (ROOT, service, service, true),
            (ROOT, ROOT, ROOT, false),
            (service, service, service, false),
            (somebody, somebody, service, false),
        ] {
            assert_eq!(is_read_through_group(us, owner, group), through_group, "{us} {owner}:{group}");
        }
        let exposed = |through_group| ExposedFile { path: "/x".into(), world_readable: true, through_group };
        assert_eq!([true, false].map(|group| exposed(group).fix()), ["chmod o= /x", "chmod go= /x"]);
    }
}
