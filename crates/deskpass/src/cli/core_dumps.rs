//! Keeps secrets out of core dumps: a process that crashes would write its memory to disk, keys and tokens included.

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// Lets this process leave no core dump, and lets no other process of the same user look into its memory. The limit alone
/// would not stop a system that hands dumps to a program.
pub(super) fn disable() {
    // Both only make this process stricter, which the system always permits; without them the command works as well.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
