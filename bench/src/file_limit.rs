//! The limit of open files, for this process and the servers that it starts.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The number of files that this process and the service need besides their sockets.
const RESERVED_FILES: usize = 256;

/// The number of files that the service must be allowed to open for this number of sockets: half of its connections may be sockets.
const fn needed(sockets: usize) -> usize {
    2 * sockets + RESERVED_FILES
}

/// Raises the limit for this number of sockets, or to the maximum where no more is permitted. Servers inherit it.
pub(crate) fn raise(sockets: usize) {
    let (limit, needed) = (getrlimit(Resource::Nofile), u64::try_from(needed(sockets)).unwrap_or(u64::MAX));
    let maximum = limit.maximum.map(|maximum| maximum.max(needed));
    if setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_err() {
        // Only a privileged process may exceed the maximum.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
}

/// The number of sockets that the service accepts under the limit.
pub(crate) fn max_sockets() -> usize {
    let allowed = getrlimit(Resource::Nofile).current.and_then(|allowed| usize::try_from(allowed).ok());
    allowed.map_or(usize::MAX, |allowed| allowed.saturating_sub(RESERVED_FILES) / 2)
}
