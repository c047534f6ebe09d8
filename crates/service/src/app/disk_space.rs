//! The free space of the disk with the data.

use std::io;
use std::path::Path;

use rustix::fs::statvfs;
use serde::{Deserialize, Serialize};

/// The free space and the size of a file system.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct DiskSpace {
    /// What the user of this process may still write.
    pub(crate) free_bytes: u64,
    pub(crate) size_bytes: u64,
}

impl DiskSpace {
    /// The space of the file system of a directory, or of its nearest parent that exists.
    pub(crate) fn of(directory: &Path) -> io::Result<Self> {
        let place = directory.ancestors().find(|place| place.exists()).unwrap_or(Path::new("."));
        let found = statvfs(place)?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Ok(Self { free_bytes: bytes(found.f_bavail), size_bytes: bytes(found.f_blocks) })
    }
}
