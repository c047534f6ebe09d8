//! One-time passwords.

/// A step of time, in which one code is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step(i64);

impl Step {
    /// Before every other.
    pub const NEVER: Self = Self(0);

    /// The step with this number.
    #[must_use]
    pub const fn from_number(number: i64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> i64 {
        self.0
    }
}
