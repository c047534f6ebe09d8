//! One-time passwords: a device is bound, provides codes, and is unbound.

mod presented_code;

use std::time::Duration;

use deskpass_core::{ClientInfo, EmployeeKey, LoginMethod, OneTimeCode, RecoveryCode, Timestamp, TotpSecret, TotpStep};
use deskpass_store::{Agent, AuditEvent, Device, DeviceBinding, NoticeSubject, PendingDevice};

use self::presented_code::PresentedCode;
use crate::audit::Attempt;
use crate::{ActiveUser, Auth, Error, PartialOrFull, Refusal, SignedIn};

const DEVICE_SETUP_LIFETIME: Duration = Duration::from_mins(10);
const RECOVERY_CODE_COUNT: usize = 10;

/// The status of a user's device.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the fields are for clients; no decision depends on them")]
pub struct DeviceStatus {
    /// Whether the user is an agent. Only agents can have a password.
    pub is_agent: bool,
    /// Whether the user may have a device.
    pub may_bind: bool,
    /// When the device was bound, if there is one.
    pub bound_at: Option<Timestamp>,
    /// When a code of the device was last accepted.
    pub verified_at: Option<Timestamp>,
    /// Whether the platform vouched for the device's owner. Otherwise the device does not lead to the administrator role.
    pub proven: bool,
    /// Whether codes of the device are accepted for operations of high risk.
    pub confirms_changes: bool,
    /// The number of unused recovery codes.
    pub recovery_codes: usize,
    /// Whether the agent has a password.
    pub has_password: bool,
    /// Whether the session of the token began minutes ago with platform vouching.
    pub recent_sign_in: bool,
}

/// A device setup.
#[derive(Debug)]
pub struct DeviceSetup {
    /// The secret for the device.
    pub seed: TotpSecret,
    /// How long the setup is valid.
    pub lifetime: Duration,
}

/// A device that was bound.
#[derive(Debug)]
pub struct BoundDevice {
    /// The recovery codes, shown once.
    pub recovery_codes: Vec<RecoveryCode>,
    /// When the device was bound.
    pub at: Timestamp,
    /// The new session, if the token was of a partial session.
    pub signed_in: Option<SignedIn>,
}

/// A code for an operation of high risk, to be used up after everything else has been checked.
#[derive(Debug)]
#[must_use]
pub struct FreshCode {
    agent: EmployeeKey,
    device: Device,
    code: OneTimeCode,
}

impl Auth {
    /// The status of the user's device.
    pub async fn device_status(&self, bearer: &PartialOrFull) -> Result<DeviceStatus, Error> {
        let (may_bind, agent) = match self.device_record(bearer.employee(), bearer.held_roles(self.clock.now())).await {
            Ok(record) => (true, record),
            Err(Error::Refused(_)) => (false, None),
            Err(error) => return Err(error),
        };
        let device = agent.as_ref().and_then(|agent| agent.device.as_ref());
        Ok(DeviceStatus {
            is_agent: agent.as_ref().is_some_and(|agent| !agent.device_only),
            may_bind,
            bound_at: device.map(|device| device.bound_at),
            verified_at: device.and_then(|device| device.verified_at),
            proven: device.is_some_and(|device| device.proven),
            confirms_changes: device.is_some_and(|device| self.confirms_changes(device)),
            recovery_codes: agent.as_ref().map_or(0, |agent| agent.recovery_codes),
            has_password: agent.as_ref().is_some_and(|agent| agent.password.is_some()),
            recent_sign_in: self.is_recently_vouched_for(bearer),
        })
    }

    /// Makes a secret for a first device, which is bound with the same token. Needs a recent sign-in, or a setup code from an
    /// administrator. Refused if a device is bound already, or the user may not have one.
    pub async fn set_up_device(
        &self,
        bearer: &PartialOrFull,
        setup_code: Option<&str>,
        visitor: &ClientInfo,
    ) -> Result<DeviceSetup, Error> {
        self.audit_outcome(attempt(bearer, visitor), self.set_up_device_unaudited(bearer, setup_code).await).await
    }

    async fn set_up_device_unaudited(
        &self,
        bearer: &PartialOrFull,
        setup_code: Option<&str>,
    ) -> Result<DeviceSetup, Error> {
        let record = self.record_without_device(bearer).await?;
        if setup_code.is_none() && record.is_some_and(|record| record.code_needed) {
            return Err(Refusal::SetupCodeWrong.into());
        }
        let owner = bearer.employee().clone();
        self.require_may_bind_device(bearer, setup_code.is_some())?;
        self.follow_keys().await?;
        let (seed, now) = (TotpSecret::generate(&self.entropy)?, self.clock.now());
        let sealed = self.credential_vault.seal_seed(&seed, &owner)?;
        let pending = PendingDevice { sealed, until: now + DEVICE_SETUP_LIFETIME, by: Some(bearer.digest()) };
        let by = bearer.as_author(now);
        let (begun, otherwise) = match setup_code {
            None => (self.store.begin_device(by, owner, pending, now).await?, Refusal::DeviceBound),
            Some(code) => {
                let code = RecoveryCode::parse(code).ok_or(Refusal::SetupCodeWrong)?;
                (self.begin_device_by_code(&by, &owner, &pending, &code).await?, Refusal::SetupCodeWrong)
            }
        };
        if begun {
            return Ok(DeviceSetup { seed, lifetime: DEVICE_SETUP_LIFETIME });
        }
        self.require_may_still_have_device(bearer.employee()).await?;
        Err(otherwise.into())
    }

    /// Binds the device that shows this code, and completes a partial session. Refused without a setup, or if a device is bound.
    pub async fn bind_device(
        &self,
        bearer: &PartialOrFull,
        code: &str,
        visitor: &ClientInfo,
    ) -> Result<BoundDevice, Error> {
        self.audit_outcome(attempt(bearer, visitor), self.bind_device_unaudited(bearer, code, visitor).await).await
    }

    async fn bind_device_unaudited(
        &self,
        bearer: &PartialOrFull,
        code: &str,
        visitor: &ClientInfo,
    ) -> Result<BoundDevice, Error> {
        let (record, at) = (self.record_without_device(bearer).await?, self.clock.now());
        let employee = bearer.employee().clone();
        // Only the session that made the setup may bind it: otherwise a thief could have the agent bind the thief's device.
        let now = self.clock.now_for_lifetime(DEVICE_SETUP_LIFETIME);
        let own = |pending: &PendingDevice| now < pending.until && pending.by == Some(bearer.digest());
        let pending = record.and_then(|record| record.pending).filter(own).ok_or(Refusal::DeviceSetupOver)?;
        let proven = bearer.is_vouched_for();
        self.require_role(bearer, proven, visitor).await?;
        // Not counted as an attempt: the client was given the secret, or can ask for another one.
        let (code, seed) = (OneTimeCode::parse(code), self.credential_vault.unseal_seed(&pending.sealed, &employee)?);
        let step = code.and_then(|code| seed.step_of(code, self.clock.wall(), TotpStep::NEVER));
        let step = step.ok_or(Refusal::OtpWrong)?;
        self.follow_keys().await?;
        let (recovery_codes, sealed) = (self.recovery_codes()?, pending.sealed.clone());
        let marks = recovery_codes.iter().map(|code| self.credential_vault.code_digest(code, &employee)).collect();
        let notice = self.new_notice(&employee, NoticeSubject::DeviceBound, at, visitor)?;
        let admin_notices = self.admin_notices_of_device(&employee, at, visitor).await?;
        let entry = self.plain_entry(AuditEvent::DeviceBound, &employee, at, visitor)?;
        let binding = DeviceBinding {
            employee,
            sealed: pending.sealed,
            step,
            proven,
            recovery_codes: marks,
            at,
            notice,
            admin_notices,
            entry,
        };
        if !self.store.bind_device(bearer.as_author(at), binding).await? {
            self.require_may_still_have_device(bearer.employee()).await?;
            return Err(Refusal::DeviceSetupOver.into());
        }
        self.notices_due.notify_one();
        // The key may have been replaced since the setup began, after the other devices were moved.
        if let Err(error) = self.move_new_device(bearer.employee().clone(), sealed).await {
            tracing::warn!(%error, "a new authenticator stays encrypted with an older key: run `deskpass key rotate`");
        }
        // The recovery codes are shown once, so they are returned even if the sign-in fails.
        let signed_in = self.complete_if_partial(bearer, proven, visitor).await.unwrap_or_else(|error| {
            tracing::warn!(%error, employee = %bearer.employee(), "device bound, but the sign-in was not completed");
            None
        });
        Ok(BoundDevice { recovery_codes, at, signed_in })
    }

    /// The record of a user who may have a device and has none.
    async fn record_without_device(&self, bearer: &PartialOrFull) -> Result<Option<Agent>, Error> {
        bearer.require_address_allowed()?;
        let record = self.device_record(bearer.employee(), bearer.held_roles(self.clock.now())).await?;
        let is_bound = record.as_ref().is_some_and(|record| record.device.is_some());
        if is_bound { Err(Refusal::DeviceBound.into()) } else { Ok(record) }
    }

    /// Whether codes of a device are accepted for operations of high risk.
    fn confirms_changes(&self, device: &Device) -> bool {
        device.proven || self.policy.agents.trust_unproven
    }

    fn recovery_codes(&self) -> Result<Vec<RecoveryCode>, Error> {
        (0..RECOVERY_CODE_COUNT).map(|_| Ok(RecoveryCode::generate(&self.entropy)?)).collect()
    }

    /// Accepts a code of the user's device or a recovery code, and completes a partial session.
    pub async fn verify_otp(
        &self,
        bearer: &PartialOrFull,
        code: &str,
        visitor: &ClientInfo,
    ) -> Result<Option<SignedIn>, Error> {
        self.audit_outcome(attempt(bearer, visitor), self.verify_otp_unaudited(bearer, code, visitor).await).await
    }

    async fn verify_otp_unaudited(
        &self,
        bearer: &PartialOrFull,
        code: &str,
        visitor: &ClientInfo,
    ) -> Result<Option<SignedIn>, Error> {
        let (agent, device) = self.bound_device(bearer).await?;
        self.require_role(bearer, device.proven, visitor).await?;
        let (by, proven) = (bearer.as_author(self.clock.now()), self.is_recently_vouched_for(bearer));
        self.consume_code(&by, &agent, &device, PresentedCode::read(code)?, proven).await?;
        self.complete_if_partial(bearer, device.proven, visitor).await
    }

    /// Unbinds the device, after a code of it or a recovery code.
    pub async fn unbind_device(&self, bearer: &PartialOrFull, code: &str, visitor: &ClientInfo) -> Result<(), Error> {
        self.audit_outcome(attempt(bearer, visitor), self.unbind_device_unaudited(bearer, code, visitor).await).await
    }

    async fn unbind_device_unaudited(
        &self,
        bearer: &PartialOrFull,
        code: &str,
        visitor: &ClientInfo,
    ) -> Result<(), Error> {
        let (employee, device) = self.bound_device(bearer).await?;
        let by = bearer.as_author(self.clock.now());
        self.consume_code(&by, &employee, &device, PresentedCode::read(code)?, false).await?;
        let at = self.clock.now();
        let notice = self.new_notice(&employee, NoticeSubject::DeviceUnbound, at, visitor)?;
        let entry = self.plain_entry(AuditEvent::DeviceUnbound, &employee, at, visitor)?;
        let (by, mut sealed) = (bearer.as_author(at), device.sealed);
        // Only the device whose code was accepted: another one may have been bound meanwhile, after an administrator reset this one.
        while !self
            .store
            .unbind_device(by.clone(), employee.clone(), sealed.clone(), notice.clone(), entry.clone())
            .await?
        {
            let seed = self.credential_vault.unseal_seed(&sealed, &employee)?;
            sealed = self.resealed(&employee, &sealed, &seed).await?.ok_or(Refusal::NoDevice)?;
        }
        self.notices_due.notify_one();
        Ok(())
    }

    /// Parses a fresh code of the caller's device. Recovery codes are not accepted, and neither is a device that was bound
    /// without platform vouching, except in development mode.
    pub async fn parse_fresh_code(
        &self,
        caller: &ActiveUser,
        text: Option<&str>,
        visitor: &ClientInfo,
    ) -> Result<FreshCode, Error> {
        let read = self.parse_fresh_code_unaudited(caller, text).await;
        self.audit_outcome(Attempt::in_session(caller.0.session(), AuditEvent::OtpRefused, visitor), read).await
    }

    async fn parse_fresh_code_unaudited(&self, caller: &ActiveUser, text: Option<&str>) -> Result<FreshCode, Error> {
        let employee = &caller.0.session().employee;
        let record = self.device_record(employee, caller.0.person().roles_at(self.clock.now())).await?;
        let device = record.and_then(|record| record.device).ok_or(Refusal::NoDevice)?;
        if !self.confirms_changes(&device) {
            return Err(Refusal::DeviceNotProven.into());
        }
        let code = OneTimeCode::parse(text.ok_or(Refusal::OtpNeeded)?).ok_or(Refusal::OtpWrong)?;
        Ok(FreshCode { agent: employee.clone(), device, code })
    }

    /// Uses up a fresh code.
    pub async fn consume_fresh_code(
        &self,
        caller: &ActiveUser,
        fresh: FreshCode,
        visitor: &ClientInfo,
    ) -> Result<(), Error> {
        let FreshCode { agent, device, code } = fresh;
        let by = caller.as_author(self.clock.now());
        let taken = self.consume_code(&by, &agent, &device, PresentedCode::Code(code), false).await;
        self.audit_outcome(Attempt::in_session(caller.0.session(), AuditEvent::OtpRefused, visitor), taken).await
    }

    /// The user's device.
    async fn bound_device(&self, bearer: &PartialOrFull) -> Result<(EmployeeKey, Device), Error> {
        bearer.require_address_allowed()?;
        let record = self.device_record(bearer.employee(), bearer.held_roles(self.clock.now())).await?;
        let device = record.and_then(|record| record.device).ok_or(Refusal::NoDevice)?;
        Ok((bearer.employee().clone(), device))
    }

    async fn complete_if_partial(
        &self,
        bearer: &PartialOrFull,
        proven: bool,
        visitor: &ClientInfo,
    ) -> Result<Option<SignedIn>, Error> {
        match bearer {
            PartialOrFull::Full(_) => Ok(None),
            PartialOrFull::Partial(half) => self.complete_sign_in(half, proven, visitor).await.map(Some),
        }
    }
}

/// The attempt that a code belongs to: completing a sign-in, or an operation in a session.
fn attempt<'a>(bearer: &'a PartialOrFull, visitor: &'a ClientInfo) -> Attempt<'a> {
    match bearer {
        PartialOrFull::Full(holder) => Attempt::in_session(holder.session(), AuditEvent::OtpRefused, visitor),
        PartialOrFull::Partial(_) => Attempt::to_sign_in(Some(bearer.employee()), LoginMethod::Password, visitor),
    }
}
