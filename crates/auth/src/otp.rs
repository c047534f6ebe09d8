//! One-time passwords: a device is bound, shows codes, and is unbound.

use std::time::Duration;

use deskpass_core::{EmployeeKey, LoginMethod, OneTimeCode, Seed, SpareCode, Step, Timestamp, Visitor};
use deskpass_store::{Agent, Binding, By, ChangeError, Device, Event, PendingDevice, Subject, Trial, UsedStep};

use crate::admin::SETUP_CODE_LIFETIME;
use crate::log::Attempt;
use crate::{Auth, Caller, Entrant, Error, Refusal, SignedIn};

/// How long a device may take to be bound.
const SETUP: Duration = Duration::from_mins(10);
/// How many codes stand in for a lost device.
const RECOVERY_CODES: usize = 10;

/// How things stand with somebody's device.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "what clients read, and not what we decide by")]
pub struct DeviceStatus {
    /// Whether they are an agent: otherwise there is nothing to bind a device to.
    pub is_agent: bool,
    /// When the device was bound, if one is.
    pub bound_at: Option<Timestamp>,
    /// When it showed a code last.
    pub verified_at: Option<Timestamp>,
    /// Whether the platform vouched for whoever has it: otherwise it does not lead to the role of an administrator.
    pub proven: bool,
    /// How many codes stand in for it.
    pub recovery_codes: usize,
    /// Whether they have a password.
    pub has_password: bool,
    /// Whether the platform named them minutes ago, in the session whose token they show.
    pub recent_sign_in: bool,
}

/// A device about to be bound.
#[derive(Debug)]
pub struct DeviceSetup {
    /// What it is to know.
    pub seed: Seed,
    /// How long there is to bind it.
    pub lifetime: Duration,
}

/// A device that was bound.
#[derive(Debug)]
pub struct BoundDevice {
    /// What stands in for it when it is lost: told once.
    pub recovery_codes: Vec<SpareCode>,
    /// When.
    pub at: Timestamp,
    /// The session of somebody who was half-way in.
    pub signed_in: Option<SignedIn>,
}

/// A code that somebody brought for an operation of high risk, to be taken when everything else is good.
#[derive(Debug)]
#[must_use]
pub struct FreshCode {
    agent: EmployeeKey,
    device: Device,
    code: OneTimeCode,
}

/// What somebody shows for a one-time password.
enum Shown {
    Code(OneTimeCode),
    /// Stands in for the device.
    Recovery(SpareCode),
}

impl Shown {
    /// What cannot be a code is no guess at one.
    fn read(text: &str) -> Result<Self, Refusal> {
        let recovery = || SpareCode::parse(text).map(Self::Recovery);
        OneTimeCode::parse(text).map(Self::Code).or_else(recovery).ok_or(Refusal::OtpWrong)
    }
}

impl Auth {
    /// How things stand with somebody's device.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn device_status(&self, entrant: &Entrant) -> Result<DeviceStatus, Error> {
        let agent = self.agent(entrant.employee()).await?;
        let device = agent.as_ref().and_then(|agent| agent.device.as_ref());
        Ok(DeviceStatus {
            is_agent: agent.is_some(),
            bound_at: device.map(|device| device.bound_at),
            verified_at: device.and_then(|device| device.verified_at),
            proven: device.is_some_and(|device| device.proven),
            recovery_codes: agent.as_ref().map_or(0, |agent| agent.recovery_codes),
            has_password: agent.as_ref().is_some_and(|agent| agent.password.is_some()),
            recent_sign_in: self.is_freshly_proven(entrant),
        })
    }

    /// Makes a secret for a first device to be bound with the same token. It takes a recent sign-in, or a setup code from an
    /// administrator.
    ///
    /// # Errors
    /// When a device is bound already, they are no agent, the sign-in is not recent, or the setup code is not good.
    pub async fn set_up_device(
        &self,
        entrant: &Entrant,
        setup_code: Option<&str>,
        visitor: &Visitor,
    ) -> Result<DeviceSetup, Error> {
        let set_up = self.set_up_unrecorded_device(entrant, setup_code).await;
        self.recorded(attempt(entrant, visitor), set_up).await
    }

    async fn set_up_unrecorded_device(
        &self,
        entrant: &Entrant,
        setup_code: Option<&str>,
    ) -> Result<DeviceSetup, Error> {
        let agent = self.agent_without_device(entrant).await?;
        self.expect_may_bind(entrant, setup_code.is_some())?;
        let (seed, now) = (Seed::generate(&self.entropy)?, self.clock.now());
        let sealed = self.locker.close(&seed, &agent.key)?;
        let pending = PendingDevice { sealed, until: now + SETUP, by: Some(entrant.digest()) };
        let by = entrant.by(now);
        let (begun, otherwise) = match setup_code {
            None => (self.store.begin_device(by, agent.key, pending).await?, Refusal::DeviceBound),
            Some(code) => {
                let code = SpareCode::parse(code).ok_or(Refusal::SetupCodeWrong)?;
                let mark = self.locker.mark(&code, &agent.key);
                let now = self.clock.now_for_lifetime(SETUP_CODE_LIFETIME);
                let begun = self.store.begin_device_by_code(by, agent.key, pending, mark, now).await?;
                (begun, Refusal::SetupCodeWrong)
            }
        };
        if begun { Ok(DeviceSetup { seed, lifetime: SETUP }) } else { Err(otherwise.into()) }
    }

    /// Binds the device that shows this code; whoever was half-way in is in.
    ///
    /// # Errors
    /// When the code is wrong, nothing was set up, or a device is bound already.
    pub async fn bind_device(&self, entrant: &Entrant, code: &str, visitor: &Visitor) -> Result<BoundDevice, Error> {
        let bound = self.bind_unrecorded(entrant, code, visitor).await;
        self.recorded(attempt(entrant, visitor), bound).await
    }

    async fn bind_unrecorded(&self, entrant: &Entrant, code: &str, visitor: &Visitor) -> Result<BoundDevice, Error> {
        let (agent, at) = (self.agent_without_device(entrant).await?, self.clock.now());
        // What another session set up is not theirs to bind: a thief would have them bind the thief's device, or bind by theirs.
        let now = self.clock.now_for_lifetime(SETUP);
        let own = |pending: &PendingDevice| now < pending.until && pending.by == Some(entrant.digest());
        let pending = agent.pending.filter(own).ok_or(Refusal::DeviceSetupOver)?;
        let proven = entrant.is_vouched_for();
        self.has_role(entrant, proven, visitor).await?;
        // No guess: whoever asks was told the secret, or could be told another.
        let (code, seed) = (OneTimeCode::parse(code), self.locker.open(&pending.sealed, &agent.key)?);
        let step = code.and_then(|code| seed.step_of(code, self.clock.wall(), Step::NEVER)).ok_or(Refusal::OtpWrong)?;
        let recovery_codes = self.recovery_codes()?;
        let marks = recovery_codes.iter().map(|code| self.locker.mark(code, &agent.key)).collect();
        let notice = self.notice(&agent.key, Subject::DeviceBound, at, visitor)?;
        let entry = self.plain_entry(Event::DeviceBound, &agent.key, at, visitor)?;
        let (employee, sealed) = (agent.key, pending.sealed);
        let binding = Binding { employee, sealed, step, proven, recovery_codes: marks, at, notice, entry };
        if !self.store.bind_device(entrant.by(at), binding).await? {
            return Err(Refusal::DeviceSetupOver.into());
        }
        self.noticed.notify_one();
        // The codes are told once, so they are told also to somebody who must sign in again.
        let signed_in = self.completed(entrant, proven, visitor).await.unwrap_or_else(|error| {
            tracing::warn!(%error, employee = ?entrant.employee(), "a device was bound, but the sign-in was not completed");
            None
        });
        Ok(BoundDevice { recovery_codes, at, signed_in })
    }

    async fn agent_without_device(&self, entrant: &Entrant) -> Result<Agent, Error> {
        entrant.expect_admitted()?;
        let agent = self.agent(entrant.employee()).await?.ok_or(Refusal::NotAnAgent)?;
        if agent.device.is_some() { Err(Refusal::DeviceBound.into()) } else { Ok(agent) }
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
        let verified = self.verify_unrecorded(entrant, code, visitor).await;
        self.recorded(attempt(entrant, visitor), verified).await
    }

    async fn verify_unrecorded(
        &self,
        entrant: &Entrant,
        code: &str,
        visitor: &Visitor,
    ) -> Result<Option<SignedIn>, Error> {
        let (agent, device) = self.agent_with_device(entrant).await?;
        self.has_role(entrant, device.proven, visitor).await?;
        let (by, proven) = (entrant.by(self.clock.now()), self.is_freshly_proven(entrant));
        self.take(by, &agent, &device, Shown::read(code)?, proven).await?;
        self.completed(entrant, device.proven, visitor).await
    }

    /// Unbinds the device that shows this code, or for which one stands in.
    ///
    /// # Errors
    /// When the code is wrong or used, or no device is bound.
    pub async fn unbind_device(&self, entrant: &Entrant, code: &str, visitor: &Visitor) -> Result<(), Error> {
        let unbound = self.unbind_unrecorded(entrant, code, visitor).await;
        self.recorded(attempt(entrant, visitor), unbound).await
    }

    async fn unbind_unrecorded(&self, entrant: &Entrant, code: &str, visitor: &Visitor) -> Result<(), Error> {
        let (employee, device) = self.agent_with_device(entrant).await?;
        self.take(entrant.by(self.clock.now()), &employee, &device, Shown::read(code)?, false).await?;
        let at = self.clock.now();
        let notice = self.notice(&employee, Subject::DeviceUnbound, at, visitor)?;
        let entry = self.plain_entry(Event::DeviceUnbound, &employee, at, visitor)?;
        if !self.store.unbind_device(entrant.by(at), employee, notice, entry).await? {
            return Err(Refusal::NoDevice.into());
        }
        self.noticed.notify_one();
        Ok(())
    }

    /// Reads what somebody brought for a fresh code of their device. Nothing stands in for the device here, and one that was bound
    /// without the platform's word does not count outside development mode.
    ///
    /// # Errors
    /// When no device is bound, it is not proven, or nothing was brought that could be a code.
    pub async fn fresh_code(
        &self,
        caller: &Caller,
        brought: Option<&str>,
        visitor: &Visitor,
    ) -> Result<FreshCode, Error> {
        let read = self.read_fresh_code(caller, brought).await;
        self.recorded(Attempt::within(caller.0.session(), Event::OtpRefused, visitor), read).await
    }

    async fn read_fresh_code(&self, caller: &Caller, brought: Option<&str>) -> Result<FreshCode, Error> {
        let agent = self.agent(&caller.0.session().employee).await?.ok_or(Refusal::NoDevice)?;
        let device = agent.device.ok_or(Refusal::NoDevice)?;
        if !(device.proven || self.policy.agents.trusting) {
            return Err(Refusal::DeviceNotProven.into());
        }
        let code = OneTimeCode::parse(brought.ok_or(Refusal::OtpNeeded)?).ok_or(Refusal::OtpWrong)?;
        Ok(FreshCode { agent: agent.key, device, code })
    }

    /// Takes a fresh code.
    ///
    /// # Errors
    /// When it is wrong or used.
    pub async fn take_fresh_code(&self, caller: &Caller, fresh: FreshCode, visitor: &Visitor) -> Result<(), Error> {
        let FreshCode { agent, device, code } = fresh;
        let by = caller.0.by_role(caller.0.session().current_role, self.clock.now());
        let taken = self.take(by, &agent, &device, Shown::Code(code), false).await;
        self.recorded(Attempt::within(caller.0.session(), Event::OtpRefused, visitor), taken).await
    }

    async fn agent_with_device(&self, entrant: &Entrant) -> Result<(EmployeeKey, Device), Error> {
        entrant.expect_admitted()?;
        let agent = self.agent(entrant.employee()).await?.ok_or(Refusal::NotAnAgent)?;
        Ok((agent.key, agent.device.ok_or(Refusal::NoDevice)?))
    }

    /// Takes a code, which then counts no more, here or on any other node. A device that shows one where the platform vouched for
    /// its owner minutes ago (`vouched`) is theirs from then on, whoever bound it.
    async fn take(
        &self,
        by: By,
        agent: &EmployeeKey,
        device: &Device,
        shown: Shown,
        vouched: bool,
    ) -> Result<(), Error> {
        // Before a guess is counted: what a session that is over shows is no guess.
        self.store.require(by.clone()).await?;
        let taken = match shown {
            Shown::Code(code) => self.take_step(by, agent, device, code, vouched).await?,
            Shown::Recovery(code) => {
                let _counted = self.guess(agent, Trial::Otp).await?;
                let mark = self.locker.mark(&code, agent);
                self.store.use_recovery_code(by, agent.clone(), mark, self.clock.now()).await?
            }
        };
        if taken { Ok(()) } else { Err(Refusal::OtpWrong.into()) }
    }

    async fn take_step(
        &self,
        by: By,
        agent: &EmployeeKey,
        device: &Device,
        code: OneTimeCode,
        vouched: bool,
    ) -> Result<bool, Error> {
        let (seed, wall) = (self.locker.open(&device.sealed, agent)?, self.clock.wall());
        let step = seed.step_of(code, wall, device.step);
        if step.is_none() && seed.step_of(code, wall, Step::NEVER).is_some() {
            // Right, and used before: a double click, and nothing that anybody learns from.
            return Ok(false);
        }
        let _counted = self.guess(agent, Trial::Otp).await?;
        let Some(step) = step else { return Ok(false) };
        let used =
            UsedStep { employee: agent.clone(), sealed: device.sealed.clone(), step, at: self.clock.now(), vouched };
        match self.store.use_step(by, used).await {
            Err(ChangeError::Revoked(revoked)) => {
                // It was right, so it counts among no guesses; but it opens nothing.
                self.store.guessed_right(agent.clone(), Trial::Otp).await?;
                Err(Refusal::from(revoked).into())
            }
            used => Ok(used?),
        }
    }

    async fn completed(&self, entrant: &Entrant, proven: bool, visitor: &Visitor) -> Result<Option<SignedIn>, Error> {
        match entrant {
            Entrant::Whole(_) => Ok(None),
            Entrant::Half(half) => self.complete(half, proven, visitor).await.map(Some),
        }
    }
}

/// That somebody shows a code: to complete a sign-in, or in a session.
fn attempt<'a>(entrant: &'a Entrant, visitor: &'a Visitor) -> Attempt<'a> {
    match entrant {
        Entrant::Whole(holder) => Attempt::within(holder.session(), Event::OtpRefused, visitor),
        Entrant::Half(_) => Attempt::to_sign_in(Some(entrant.employee()), LoginMethod::Password, visitor),
    }
}
