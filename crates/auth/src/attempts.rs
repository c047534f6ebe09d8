//! Guesses at passwords and one-time passwords, counted before anybody looks at them.

use deskpass_core::{Digest, EmployeeKey};
use deskpass_store::AttemptKind;

use crate::{Auth, Error, Refusal};

/// That a guess was counted, without which nobody looks whether it is right.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) struct CountedAttempt(pub(crate) AttemptKind);

impl Auth {
    /// Which guesses at a password this one counts among. Strangers cannot use up those of a browser in which the agent has
    /// been.
    pub(crate) async fn attempt_counter(
        &self,
        employee: &EmployeeKey,
        browser: Option<Digest>,
    ) -> Result<AttemptKind, Error> {
        match browser {
            Some(browser) if self.is_known_browser(browser, employee).await? => Ok(AttemptKind::KnownBrowser(browser)),
            _ => Ok(AttemptKind::Password),
        }
    }

    /// Counts a guess before anybody looks at it.
    pub(crate) async fn count_attempt(
        &self,
        employee: &EmployeeKey,
        trial: AttemptKind,
    ) -> Result<CountedAttempt, Error> {
        let counted = self.store.count_attempt(employee.clone(), trial, self.clock.now()).await?;
        Ok(counted.map(|()| CountedAttempt(trial)).map_err(Refusal::Shut)?)
    }
}
