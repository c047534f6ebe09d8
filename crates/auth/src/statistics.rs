//! How far sign-ins come, counted where they do.

use deskpass_store::Step;

use crate::Auth;

impl Auth {
    /// Counts a step of a sign-in.
    pub(crate) fn count(&self, step: Step) {
        self.store.count(step, self.clock.now());
    }
}
