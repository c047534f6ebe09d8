//! Keeps secrets out of core dumps: a crashing process would write its memory to disk, including keys and tokens.

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// Disables core dumps of this process, and prevents other processes of the same user from reading its memory. The
/// limit alone would not stop a system that pipes dumps to a program.
pub(super) fn disable() {
    // Both calls only restrict this process, which the system always permits. The command also works if they fail.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
