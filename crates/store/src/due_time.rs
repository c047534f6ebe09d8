//! When work is due that a transaction leaves for any node: notices, logouts and events.

use deskpass_core::{MAX_CLOCK_SKEW, Timestamp};

/// The due time of work that is to be done at once. Nodes claim work by the database's time, and the clock of the node that writes the
/// row at `at` may be ahead of that: the row would be due only later.
pub(crate) fn due_at_once(at: Timestamp) -> Timestamp {
    at - MAX_CLOCK_SKEW
}
