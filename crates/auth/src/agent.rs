//! The agents' own way in: a code of the platform, else a password, to which a one-time password must still be added.

use std::time::Duration;

use deskpass_core::{Digest, EmployeeKey, Half, KnownBrowser, LoginMethod, LoginSource, Secret, Timestamp, Visitor};
use deskpass_store::{Agent, HalfSession, Subject, Trial};

use crate::arrival::Arrival;
use crate::mint::{Admission, Proven};
use crate::{Auth, Error, Fallback, Refusal, SignedIn};

/// How long somebody with a right password has for their one-time password.
const HALF: Duration = Duration::from_mins(10);
/// How long a browser is known in which an agent has signed in.
const REMEMBERED: Duration = Duration::from_hours(90 * 24);

/// Somebody who says that they are an agent.
#[derive(Clone, Debug)]
pub struct Knock {
    /// As whom.
    pub employee: EmployeeKey,
    /// A code of the platform.
    pub code: Option<String>,
    /// A password.
    pub password: Option<String>,
    /// The cookie of a browser in which an agent has signed in before.
    pub device: Option<Digest>,
    /// As whom the platform vouched for them earlier, if they show a token that says so.
    pub vouched: Option<EmployeeKey>,
    /// From where.
    pub visitor: Visitor,
}

/// What becomes of an agent who knocks.
#[derive(Debug)]
pub enum Entry {
    /// They are signed in.
    Whole(SignedIn),
    /// They are half-way.
    Half(Halved),
}

/// Half of a sign-in.
#[derive(Debug)]
pub struct Halved {
    /// Completes it.
    pub token: Secret<Half>,
    /// Whether the other half is a code of the device that is bound, or binding one.
    pub has_device: bool,
    /// How long there is.
    pub lifetime: Duration,
    /// Until when.
    pub expires_at: Timestamp,
}

impl Auth {
    /// Lets an agent in, or half-way in.
    ///
    /// # Errors
    /// When neither code nor password is good, or the password does not count right now.
    pub async fn agent_login(&self, knock: &Knock) -> Result<Entry, Error> {
        match (&knock.code, &knock.password) {
            (Some(code), None) => Ok(Entry::Whole(self.by_code(code, knock).await?)),
            (Some(code), Some(password)) => self.by_either(code, password, knock).await,
            (None, Some(password)) => {
                self.passwords_count().await?;
                Ok(Entry::Half(self.by_password(password, knock).await?))
            }
            (None, None) => Err(Refusal::PasswordWrong.into()),
        }
    }

    /// By the platform's word, and where it gives none, by password. Whether that counts is found out meanwhile: both may
    /// take as long as a platform that does not answer.
    async fn by_either(&self, code: &str, password: &str, knock: &Knock) -> Result<Entry, Error> {
        let (by_code, counts) = tokio::join!(self.by_code(code, knock), self.passwords_count());
        match (by_code, counts) {
            (Ok(signed_in), _) => Ok(Entry::Whole(signed_in)),
            (Err(Error::Internal(_) | Error::Refused(Refusal::InvalidCode)), Ok(())) => {
                Ok(Entry::Half(self.by_password(password, knock).await?))
            }
            // The platform looked and said no, or a password does not count.
            (Err(refused), _) => Err(refused),
        }
    }

    async fn by_code(&self, code: &str, knock: &Knock) -> Result<SignedIn, Error> {
        let identity = self.identify(code).await?;
        let Arrival::Known(who) = self.recognise(&identity).await? else { return Err(Refusal::NotAMember.into()) };
        if who.key != knock.employee {
            tracing::info!(named = ?knock.employee, is = ?who.key, "somebody's code was brought under another name");
            return Err(Refusal::SomebodyElse.into());
        }
        self.welcome(&who).await?;
        self.enabled_agent(&who.key).await?;
        let (employee, method, proven) = (&who.key, LoginMethod::Oauth2, Proven::of(&who));
        let (source, visitor) = (Some(LoginSource::ItAgent), &knock.visitor);
        self.sign_in(Admission { employee, role: None, method, proven, source, visitor }).await
    }

    /// Whether passwords count right now. What the caller says of the platform does not matter.
    async fn passwords_count(&self) -> Result<(), Refusal> {
        match self.policy.agents.fallback {
            Fallback::Always => Ok(()),
            Fallback::Off => Err(Refusal::PasswordOff),
            Fallback::Outage if self.platform.is_out().await => Ok(()),
            Fallback::Outage => Err(Refusal::PlatformWorks),
        }
    }

    /// Checks a password. To a stranger it is all the same whether the agent, or their password, exists.
    async fn by_password(&self, password: &str, knock: &Knock) -> Result<Halved, Error> {
        let turn = self.locker.turn()?;
        let employee = &knock.employee;
        let trial = self.trial(employee, knock.device).await?;
        self.guess(employee, trial).await?;
        let agent = self.store.agent(employee.clone()).await?.filter(|agent| !agent.disabled);
        let kept = agent.as_ref().and_then(|agent| agent.password.as_deref());
        let right = turn.is_right(password, kept).await?;
        match agent {
            Some(Agent { password: Some(hash), device, key, .. }) if right => {
                self.halve(key, hash, trial, device.is_some(), &knock.visitor).await
            }
            Some(Agent { password: None, .. }) if self.may_know(knock, trial) => Err(Refusal::NoPassword.into()),
            _ => {
                tracing::info!(?employee, ip = %knock.visitor.address.decided, "a password was refused");
                Err(Refusal::PasswordWrong.into())
            }
        }
    }

    /// Whether it is the agent, and no stranger, who is to learn that they have no password yet.
    fn may_know(&self, knock: &Knock, trial: Trial) -> bool {
        let vouched = knock.vouched.as_ref() == Some(&knock.employee);
        self.policy.agents.trusting || vouched || matches!(trial, Trial::KnownBrowser(_))
    }

    /// Which guesses this one counts among. Strangers cannot use up those of a browser the agent has signed in with.
    pub(crate) async fn trial(&self, employee: &EmployeeKey, device: Option<Digest>) -> Result<Trial, Error> {
        let Some(device) = device else { return Ok(Trial::Password) };
        let known = self.store.knows_browser(device, employee.clone(), self.clock.now()).await?;
        Ok(if known { Trial::KnownBrowser(device) } else { Trial::Password })
    }

    /// Counts a guess before anybody looks at it.
    pub(crate) async fn guess(&self, employee: &EmployeeKey, trial: Trial) -> Result<(), Error> {
        let counted = self.store.guess(employee.clone(), trial, self.clock.now()).await?;
        Ok(counted.map_err(Refusal::Shut)?)
    }

    /// Half of a sign-in, for whoever knew the password with this hash.
    async fn halve(
        &self,
        employee: EmployeeKey,
        hash: String,
        trial: Trial,
        has_device: bool,
        visitor: &Visitor,
    ) -> Result<Halved, Error> {
        let (now, token) = (self.clock.now(), Secret::<Half>::generate(&self.entropy)?);
        let expires_at = now + HALF;
        let notice = self.notice(&employee, Subject::PasswordUsed, now, visitor)?;
        let half = HalfSession { digest: token.digest(), employee, expires_at };
        if !self.store.begin_half(half, hash, trial, notice).await? {
            return Err(Refusal::PasswordWrong.into());
        }
        self.noticed.notify_one();
        Ok(Halved { token, has_device, lifetime: HALF, expires_at })
    }

    /// Notes that an agent has signed in with a browser; returns the cookie for it, unless it brought one that is known.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn remember(
        &self,
        agent: &EmployeeKey,
        kept: Option<Digest>,
    ) -> Result<Option<(Secret<KnownBrowser>, Duration)>, Error> {
        let now = self.clock.now();
        if let Some(kept) = kept
            && self.store.knows_browser(kept, agent.clone(), now).await?
        {
            return Ok(None);
        }
        let device = Secret::generate(&self.entropy)?;
        self.store.know_browser(device.digest(), agent.clone(), now + REMEMBERED).await?;
        Ok(Some((device, REMEMBERED)))
    }

    /// Somebody's agent record, if it counts.
    pub(crate) async fn enabled_agent(&self, employee: &EmployeeKey) -> Result<Agent, Error> {
        let agent = self.store.agent(employee.clone()).await?.filter(|agent| !agent.disabled);
        Ok(agent.ok_or(Refusal::NotAnAgent)?)
    }
}
