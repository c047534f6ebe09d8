//! How often somebody may guess.

use std::time::Duration;

/// Nobody may guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shut {
    /// For so long.
    For(Duration),
    /// Until an administrator unlocks it.
    UntilUnlocked,
}
