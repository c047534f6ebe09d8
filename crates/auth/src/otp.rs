//! One-time passwords: a device is bound, shows codes, and is unbound.

use std::time::Duration;

use deskpass_core::{OneTimeCode, Seed, SpareCode, Step, Timestamp, Visitor};
use deskpass_store::{Agent, Binding, Device, Subject, Trial};

use crate::{Auth, Caller, Entrant, Error, Refusal, SignedIn};

/// How long a device may take to be bound.
const SETUP: Duration = Duration::from_mins(10);
/// How many codes stand in for a lost device.
const RECOVERY_CODES: usize = 10;

/// How things stand with somebody's device.
#[derive(Debug)]
pub struct DeviceStatus {
    /// Their agent record; without one, there is nothing to bind a device to.
    pub agent: Option<Agent>,
}

/// A device about to be bound.
#[derive(Debug)]
pub struct Setup {
    /// What it is to know.
    pub seed: Seed,
    /// How long there is to bind it.
    pub lifetime: Duration,
}

/// A device that was bound.
#[derive(Debug)]
pub struct Bound {
    /// What stands in for it when it is lost: told once.
    pub recovery_codes: Vec<SpareCode>,
    /// When.
    pub at: Timestamp,
    /// The session of somebody who was half-way in.
    pub signed_in: Option<SignedIn>,
}

/// What somebody shows for a one-time password.
enum Shown {
    Code(OneTimeCode),
    Spare(SpareCode),
}

/// What may stand in for a device.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Instead {
    RecoveryCode,
    Nothing,
}

impl Shown {
    fn read(text: &str, instead: Instead) -> Option<Self> {
        let spare = || SpareCode::parse(text).filter(|_| instead == Instead::RecoveryCode).map(Self::Spare);
        OneTimeCode::parse(text).map(Self::Code).or_else(spare)
    }
}

impl Auth {
    /// How things stand with somebody's device.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn device_status(&self, entrant: &Entrant) -> Result<DeviceStatus, Error> {
        let agent = self.store.agent(entrant.employee().clone()).await?;
        Ok(DeviceStatus { agent: agent.filter(|agent| !agent.disabled) })
    }

    /// Whether the key that devices' secrets are sealed with is the right one, as far as there is a device to tell by.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn opens_devices(&self) -> Result<bool, Error> {
        let newest = self.store.newest_device().await?;
        Ok(newest.is_none_or(|(owner, sealed)| self.locker.open(&sealed, &owner).is_ok()))
    }

    /// Makes a secret for a device to be bound.
    ///
    /// # Errors
    /// When one is bound already, or they are no agent.
    pub async fn set_up_device(&self, entrant: &Entrant) -> Result<Setup, Error> {
        let agent = self.enabled_agent(entrant.employee()).await?;
        if agent.device.is_some() {
            return Err(Refusal::DeviceBound.into());
        }
        let seed = Seed::generate(&self.entropy)?;
        let (closed, until) = (self.locker.close(&seed, &agent.key)?, self.clock.now() + SETUP);
        if !self.store.begin_device(agent.key, closed, until).await? {
            return Err(Refusal::DeviceBound.into());
        }
        Ok(Setup { seed, lifetime: SETUP })
    }

    /// Binds the device that shows this code; whoever was half-way in is in.
    ///
    /// # Errors
    /// When the code is wrong, nothing was set up, or a device is bound already.
    pub async fn bind_device(&self, entrant: &Entrant, code: &str, visitor: &Visitor) -> Result<Bound, Error> {
        let agent = self.enabled_agent(entrant.employee()).await?;
        if agent.device.is_some() {
            return Err(Refusal::DeviceBound.into());
        }
        let (at, proven) = (self.clock.now(), entrant.is_proven());
        // The recovery codes are told once, to whoever gets in.
        if let Entrant::Half(half) = entrant {
            self.may_complete(half, proven).await?;
        }
        let pending = agent.pending.filter(|pending| at < pending.until).ok_or(Refusal::SetupOver)?;
        let code = OneTimeCode::parse(code).ok_or(Refusal::OtpWrong)?;
        self.guess(&agent.key, Trial::Otp).await?;
        let seed = self.locker.open(&pending.sealed, &agent.key)?;
        let step = seed.step_of(code, at, Step::NEVER).ok_or(Refusal::OtpWrong)?;
        let recovery_codes = self.recovery_codes()?;
        let marks = recovery_codes.iter().map(|code| self.locker.mark(code, &agent.key)).collect();
        let notice = self.notice(&agent.key, Subject::DeviceBound, at, visitor)?;
        let (employee, sealed) = (agent.key.clone(), pending.sealed);
        let binding = Binding { employee, sealed, step, proven, recovery_codes: marks, at, notice };
        if !self.store.bind_device(binding).await? {
            return Err(Refusal::SetupOver.into());
        }
        self.noticed.notify_one();
        let signed_in = self.completed(entrant, proven, visitor).await?;
        Ok(Bound { recovery_codes, at, signed_in })
    }

    fn recovery_codes(&self) -> Result<Vec<SpareCode>, Error> {
        (0..RECOVERY_CODES).map(|_| Ok(SpareCode::generate(&self.entropy)?)).collect()
    }

    /// Takes a code of somebody's device, or one that stands in for it; whoever was half-way in is in.
    ///
    /// # Errors
    /// When the code is wrong or used, or no device is bound.
    pub async fn verify_device(
        &self,
        entrant: &Entrant,
        code: &str,
        visitor: &Visitor,
    ) -> Result<Option<SignedIn>, Error> {
        let agent = self.enabled_agent(entrant.employee()).await?;
        let device = self.take_code(&agent, code, Instead::RecoveryCode).await?;
        self.completed(entrant, device.proven, visitor).await
    }

    /// Unbinds the device that shows this code, or for which one stands in.
    ///
    /// # Errors
    /// When the code is wrong or used, or no device is bound.
    pub async fn unbind_device(&self, entrant: &Entrant, code: &str, visitor: &Visitor) -> Result<(), Error> {
        let agent = self.enabled_agent(entrant.employee()).await?;
        self.take_code(&agent, code, Instead::RecoveryCode).await?;
        let notice = self.notice(&agent.key, Subject::DeviceUnbound, self.clock.now(), visitor)?;
        if !self.store.unbind_device(agent.key, Some(notice)).await? {
            return Err(Refusal::NoDevice.into());
        }
        self.noticed.notify_one();
        Ok(())
    }

    /// Whether somebody could show a fresh code at all, and has brought something that may be one.
    ///
    /// # Errors
    /// When no device is bound, or no code was brought.
    pub async fn expects_code(&self, caller: &Caller, code: Option<&str>) -> Result<Agent, Error> {
        let agent = self.store.agent(caller.0.session().employee.clone()).await?;
        let agent = agent.filter(|agent| !agent.disabled && agent.device.is_some()).ok_or(Refusal::NoDevice)?;
        if code.is_none() { Err(Refusal::OtpNeeded.into()) } else { Ok(agent) }
    }

    /// Takes a fresh code for an operation of high risk. Nothing stands in for the device here.
    ///
    /// # Errors
    /// When the code is wrong or used.
    pub async fn take_fresh_code(&self, agent: &Agent, code: &str) -> Result<(), Error> {
        self.take_code(agent, code, Instead::Nothing).await.map(drop)
    }

    /// Takes a code, which then counts no more, here or on any other node.
    async fn take_code(&self, agent: &Agent, code: &str, instead: Instead) -> Result<Device, Error> {
        let device = agent.device.clone().ok_or(Refusal::NoDevice)?;
        // What cannot be a code is no guess at one.
        let shown = Shown::read(code, instead).ok_or(Refusal::OtpWrong)?;
        self.guess(&agent.key, Trial::Otp).await?;
        let (key, now) = (agent.key.clone(), self.clock.now());
        let taken = match shown {
            Shown::Code(code) => match self.locker.open(&device.sealed, &key)?.step_of(code, now, device.step) {
                Some(step) => self.store.use_step(key, device.sealed.clone(), step, now).await?,
                None => false,
            },
            Shown::Spare(code) => {
                let mark = self.locker.mark(&code, &key);
                self.store.use_recovery_code(key, mark, now).await?
            }
        };
        if !taken {
            tracing::info!(employee = ?agent.key, "a one-time password was refused");
            return Err(Refusal::OtpWrong.into());
        }
        Ok(device)
    }

    async fn completed(&self, entrant: &Entrant, proven: bool, visitor: &Visitor) -> Result<Option<SignedIn>, Error> {
        match entrant {
            Entrant::Whole(_) => Ok(None),
            Entrant::Half(half) => self.complete(half, proven, visitor).await.map(Some),
        }
    }
}
