//! The references of the last refusals that have a line in the service log, so that no request gets two.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use deskpass_core::Reference;

/// The number of references that are remembered: more than there are requests in progress between a line and its answer.
const MAX_REFERENCES: usize = 1_024;

/// The references of the last refusals with a line.
#[derive(Debug, Default)]
pub struct LoggedReferences(Mutex<VecDeque<Reference>>);

impl LoggedReferences {
    /// Remembers that the request has a line.
    pub(crate) fn add(&self, reference: Reference) {
        // Every change leaves the list consistent, so a poisoned lock is harmless.
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if list.len() == MAX_REFERENCES {
            list.pop_front();
        }
        list.push_back(reference);
    }

    /// Whether the request has a line.
    #[must_use]
    pub fn contain(&self, reference: Reference) -> bool {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.iter().rev().any(|known| *known == reference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_references_are_remembered() {
        let (logged, all) = (LoggedReferences::default(), 3_000);
        (0..all).map(Reference::new).for_each(|reference| logged.add(reference));
        assert!(logged.contain(Reference::new(all - 1)) && logged.contain(Reference::new(all - 1_024)));
        assert!(!logged.contain(Reference::new(all - 1_025)) && !logged.contain(Reference::new(all)));
    }
}
