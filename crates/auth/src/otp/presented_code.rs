//! Codes that users present: each is counted, checked and used up, whichever key protects what it is compared with.

use deskpass_core::{EmployeeKey, OneTimeCode, RecoveryCode, TotpSecret, TotpStep};
use deskpass_store::{AttemptKind, ChangeAuthor, ChangeError, Device, PendingDevice, UsedTotpStep};

use crate::password::SETUP_CODE_LIFETIME;
use crate::{Auth, Error, Refusal};

/// A code as it was presented.
pub(super) enum PresentedCode {
    /// A code of the device.
    Code(OneTimeCode),
    /// Replaces a code of the device.
    Recovery(RecoveryCode),
}

impl PresentedCode {
    /// Parses a code. A text that cannot be a code does not count as an attempt.
    pub(super) fn read(text: &str) -> Result<Self, Refusal> {
        let recovery = || RecoveryCode::parse(text).map(Self::Recovery);
        OneTimeCode::parse(text).map(Self::Code).or_else(recovery).ok_or(Refusal::OtpWrong)
    }
}

impl Auth {
    /// Begins a device with a setup code, whichever key the code's digest was made with.
    pub(super) async fn begin_device_by_code(
        &self,
        by: &ChangeAuthor,
        owner: &EmployeeKey,
        pending: &PendingDevice,
        code: &RecoveryCode,
    ) -> Result<bool, Error> {
        let now = self.clock.now_for_lifetime(SETUP_CODE_LIFETIME);
        for mark in self.credential_vault.code_digests(code, owner) {
            let begun = self.store.begin_device_by_code(by.clone(), owner.clone(), pending.clone(), mark, now);
            if begun.await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Uses up a code on all nodes. If the platform vouched for the user minutes ago (`vouched`), the device counts as proven
    /// from then on, regardless of how it was bound.
    pub(super) async fn consume_code(
        &self,
        by: &ChangeAuthor,
        agent: &EmployeeKey,
        device: &Device,
        presented: PresentedCode,
        vouched: bool,
    ) -> Result<(), Error> {
        // Checked before an attempt is counted: a code from an ended session is no attempt.
        self.store.check_author(by.clone()).await?;
        let taken = match presented {
            PresentedCode::Code(code) => self.consume_totp(by, agent, device, code, vouched).await?,
            PresentedCode::Recovery(code) => {
                let _counted = self.count_attempt(agent, AttemptKind::Otp).await?;
                self.use_recovery_code(by, agent, &code).await?
            }
        };
        if taken { Ok(()) } else { Err(Refusal::OtpWrong.into()) }
    }

    /// Uses up a recovery code, whichever key its digest was made with.
    async fn use_recovery_code(
        &self,
        by: &ChangeAuthor,
        agent: &EmployeeKey,
        code: &RecoveryCode,
    ) -> Result<bool, Error> {
        for mark in self.credential_vault.code_digests(code, agent) {
            if self.store.use_recovery_code(by.clone(), agent.clone(), mark, self.clock.now()).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn consume_totp(
        &self,
        by: &ChangeAuthor,
        agent: &EmployeeKey,
        device: &Device,
        code: OneTimeCode,
        vouched: bool,
    ) -> Result<bool, Error> {
        let (seed, wall) = (self.credential_vault.unseal_seed(&device.sealed, agent)?, self.clock.wall());
        let step = seed.step_of(code, wall, device.step);
        if step.is_none() && seed.step_of(code, wall, TotpStep::NEVER).is_some() {
            // The code is right but used, as after a double click. An attacker learns nothing from it, so it is not counted.
            return Ok(false);
        }
        let _counted = self.count_attempt(agent, AttemptKind::Otp).await?;
        let Some(step) = step else { return Ok(false) };
        let (employee, sealed, at) = (agent.clone(), device.sealed.clone(), self.clock.now());
        let mut used = UsedTotpStep { employee, sealed, step, at, vouched };
        loop {
            match self.store.use_totp_step(by.clone(), used.clone()).await {
                Err(ChangeError::Revoked(revoked)) => {
                    // The code was right, so it is no failed attempt, but it has no effect.
                    self.store.clear_attempts(agent.clone(), AttemptKind::Otp).await?;
                    return Err(Refusal::from(revoked).into());
                }
                Err(error) => return Err(error.into()),
                Ok(true) => return Ok(true),
                Ok(false) => match self.resealed(agent, &used.sealed, &seed).await? {
                    Some(sealed) => used.sealed = sealed,
                    None => return Ok(false),
                },
            }
        }
    }

    /// The sealed secret of the same device, if it was moved to another key since it was read.
    pub(super) async fn resealed(
        &self,
        agent: &EmployeeKey,
        before: &str,
        seed: &TotpSecret,
    ) -> Result<Option<String>, Error> {
        let device = self.store.agent(agent.clone()).await?.and_then(|record| record.device);
        let Some(sealed) = device.map(|device| device.sealed).filter(|sealed| sealed != before) else {
            return Ok(None);
        };
        let is_same = self.credential_vault.unseal_seed(&sealed, agent)?.bytes() == seed.bytes();
        Ok(is_same.then_some(sealed))
    }
}
