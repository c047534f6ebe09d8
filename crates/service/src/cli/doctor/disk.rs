//! Checks how much space the disk with the data has.

use std::path::Path;

use super::report::{Finding, bilingual};
use crate::app::disk_space::DiskSpace;

const MEBIBYTE: u64 = 1 << 20;

/// Below this, the disk fills up within weeks at a large company. The alert of `deploy/` has the same bound.
const WARNING_BYTES: u64 = 1024 * MEBIBYTE;

/// Below this, neither a migration nor a day's audit log may fit.
const FAILURE_BYTES: u64 = 64 * MEBIBYTE;

/// Judges what the running service `told`, or else what this process finds.
pub(super) fn check(data: &Path, told: Option<DiskSpace>) -> Finding {
    let Some(space) = told.or_else(|| DiskSpace::of(data).ok()) else {
        return Finding::Skipped(bilingual("it cannot be read", "无法读取"));
    };
    let (free, size) = (megabytes(space.free_bytes), megabytes(space.size_bytes));
    let found = bilingual(format!("{free} of {size} are free"), format!("共 {size}，剩余 {free}"));
    let fix = bilingual(
        "free some space or enlarge the disk: when it is full, no one can sign in or out",
        "请清理或扩容磁盘：磁盘写满后，无人能登录或退出",
    );
    match space.free_bytes {
        ..FAILURE_BYTES => Finding::bad(found, fix),
        FAILURE_BYTES..WARNING_BYTES => Finding::Warning { why: found, fix },
        _ => Finding::good((), found),
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{} MiB", bytes / MEBIBYTE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_space_is_a_warning_and_hardly_any_a_failure() {
        for (free, outcome) in [(63, "Bad"), (64, "Warning"), (1023, "Warning"), (1024, "Good")] {
            let space = DiskSpace { free_bytes: free * MEBIBYTE, size_bytes: 4096 * MEBIBYTE };
            let found = format!("{:?}", check(Path::new("nowhere"), Some(space)));
            assert!(found.starts_with(outcome) && found.contains(&format!("{free} MiB of 4096 MiB")), "{found}");
        }
    }
}
