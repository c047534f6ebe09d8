//! Attempts at passwords and one-time passwords. Each is counted before it is checked.

use deskpass_core::{Digest, EmployeeKey};
use deskpass_store::AttemptKind;

use crate::{AttemptedCredential, Auth, AuthEvent, Error, Refusal};

/// Proof that an attempt was counted. A password is not checked without it.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) struct CountedAttempt(pub(crate) AttemptKind);

impl Auth {
    /// The counter for a password attempt. A known browser has its own, so strangers cannot lock the agent out there.
    pub(crate) async fn attempt_counter(
        &self,
        employee: &EmployeeKey,
        browser: Option<Digest>,
    ) -> Result<AttemptKind, Error> {
        let Some(browser) = browser else { return Ok(AttemptKind::Password) };
        let known = self.store.is_browser_known_to(browser, employee.clone(), self.clock.now()).await?;
        Ok(if known { AttemptKind::KnownBrowser(browser) } else { AttemptKind::Password })
    }

    /// Counts an attempt before it is checked.
    pub(crate) async fn count_attempt(
        &self,
        employee: &EmployeeKey,
        trial: AttemptKind,
    ) -> Result<CountedAttempt, Error> {
        let counted = self.store.count_attempt(employee.clone(), trial, self.clock.now()).await?;
        if counted.is_err() {
            self.observer.notify(AuthEvent::LockedOut(match trial {
                AttemptKind::Password | AttemptKind::KnownBrowser(_) => AttemptedCredential::Password,
                AttemptKind::Otp => AttemptedCredential::Otp,
            }));
        }
        Ok(counted.map(|()| CountedAttempt(trial)).map_err(Refusal::from)?)
    }
}
