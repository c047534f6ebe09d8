//! Progress output on standard error.

use std::cell::Cell;
use std::fmt::Display;
use std::io::IsTerminal as _;

/// Counts the steps of a run.
#[derive(Debug)]
pub(crate) struct Progress {
    step: Cell<usize>,
    /// Whether the output is a terminal, which shows progress in place; a log shows it line by line.
    terminal: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { step: Cell::new(0), terminal: std::io::stderr().is_terminal() }
    }

    /// Starts the next step.
    pub(crate) fn step(&self, what: impl Display) {
        self.step.set(self.step.get() + 1);
        self.say(what);
        if self.terminal {
            eprintln!();
        }
    }

    /// Reports the progress of the step.
    pub(crate) fn at(&self, what: &str, done: usize, of: usize) {
        self.say(format_args!("  {what}: {} of {}", grouped(done), grouped(of)));
        if self.terminal && done >= of {
            eprintln!();
        }
    }

    fn say(&self, what: impl Display) {
        let step = self.step.get();
        if self.terminal {
            // Returns to the start of the line and clears it.
            eprint!("\r\x1b[K[{step}] {what}");
        } else {
            eprintln!("[{step}] {what}");
        }
    }
}

/// A number with its digits in groups of three.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_groups_of_three() {
        assert_eq!([0, 999, 1_000, 100_000, 1_234_567].map(grouped), ["0", "999", "1 000", "100 000", "1 234 567"]);
    }
}
