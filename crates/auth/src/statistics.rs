//! Counters for the steps of a sign-in.

use deskpass_store::SignInStep;

use crate::Auth;

impl Auth {
    /// Counts a step of a sign-in.
    pub(crate) fn count_step(&self, step: SignInStep) {
        self.store.count_step(step, self.clock.now());
    }
}
