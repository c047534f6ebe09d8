//! How many calls of each API there were in the current second.

use std::collections::HashMap;

use deskpass_core::Timestamp;

/// The second of the last call of each API, and the number of calls in it.
#[derive(Debug, Default)]
pub(crate) struct CallRates(HashMap<&'static str, (i64, u32)>);

impl CallRates {
    /// Counts a call; returns how many there are in this second.
    pub(crate) fn count(&mut self, api: &'static str, now: Timestamp) -> u32 {
        let this_second = now.millis() / 1_000;
        let (second, count) = self.0.entry(api).or_default();
        if *second != this_second {
            (*second, *count) = (this_second, 0);
        }
        *count = count.saturating_add(1);
        *count
    }
}
