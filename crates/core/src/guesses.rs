//! How often somebody may guess.

use std::time::Duration;

use crate::Timestamp;

/// How many guesses there may be shortly after one another.
const RECENT: u32 = 5;
/// How long guesses count as recent, and how long nobody may guess after the last of them.
const PAUSE: Duration = Duration::from_mins(15);

/// The guesses at one thing so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guesses {
    /// Shortly after one another.
    pub recent: u32,
    /// Since the last right one.
    pub in_a_row: u32,
    /// When the last one was.
    pub last_at: Timestamp,
}

/// Nobody may guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shut {
    /// For so long.
    For(Duration),
    /// Until an administrator unlocks it.
    UntilUnlocked,
}

impl Guesses {
    /// How many there may be in a row, however long that takes.
    pub const IN_A_ROW: u32 = 100;

    /// None so far.
    #[must_use]
    pub const fn none() -> Self {
        Self { recent: 0, in_a_row: 0, last_at: Timestamp::from_millis(0) }
    }

    /// These and another one.
    ///
    /// # Errors
    /// When there may be no other; then it does not count either.
    pub fn another(self, now: Timestamp) -> Result<Self, Shut> {
        if self.is_locked() {
            return Err(Shut::UntilUnlocked);
        }
        let over = self.last_at + PAUSE;
        let recent = if now >= over { 0 } else { self.recent };
        if recent >= RECENT {
            return Err(Shut::For(over.since(now)));
        }
        Ok(Self { recent: recent + 1, in_a_row: self.in_a_row + 1, last_at: now.max(self.last_at) })
    }

    /// Whether only an administrator can help.
    #[must_use]
    pub const fn is_locked(self) -> bool {
        self.in_a_row >= Self::IN_A_ROW
    }
}
