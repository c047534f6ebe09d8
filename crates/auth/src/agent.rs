//! The agents' own way in: a code of the platform, else a password, to which a one-time password must still be added.

use std::fmt;
use std::time::Duration;

use deskpass_core::{
    Digest, EmployeeKey, Half, KnownBrowser, LoginMethod, LoginSource, Password, Secret, Timestamp, Visitor,
};
use deskpass_store::{Agent, HalfSession, Subject, Trial};

use crate::arrival::Arrival;
use crate::hasher::Rank;
use crate::log::Attempt;
use crate::mint::{Admission, Proven};
use crate::{Auth, Error, Fallback, Holder, Refusal, SignedIn};

/// How long somebody with a right password has for their one-time password.
pub(crate) const HALF_LIFETIME: Duration = Duration::from_mins(10);
/// How long a browser is known in which an agent has been.
const REMEMBERED: Duration = Duration::from_hours(90 * 24);

/// Somebody who says that they are an agent.
#[derive(Debug)]
pub struct Knock {
    /// As whom.
    pub employee: EmployeeKey,
    /// What they bring to show it.
    pub evidence: Evidence,
    /// The cookie of a browser in which an agent has been before.
    pub browser: Option<Digest>,
    /// The session of a token that they show besides.
    pub shown: Option<Holder>,
    /// From where.
    pub visitor: Visitor,
}

/// What somebody brings to show that they are an agent.
pub enum Evidence {
    /// A code of the platform.
    Code(String),
    /// A password.
    Password(Password),
    /// A code, and a password should the platform not say whose it is.
    Either(String, Password),
}

impl fmt::Debug for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Code(_) => "Code",
            Self::Password(_) => "Password",
            Self::Either(..) => "Either",
        })
    }
}

/// What becomes of an agent who knocks.
#[derive(Debug)]
pub enum AgentEntry {
    /// They are signed in.
    Whole(SignedIn),
    /// They are half-way.
    Half(HalfSignIn),
}

impl AgentEntry {
    /// Who is signed in, if anybody is.
    #[must_use]
    pub fn signed_in(&self) -> Option<&EmployeeKey> {
        match self {
            Self::Whole(signed_in) => Some(&signed_in.person.key),
            Self::Half(_) => None,
        }
    }
}

/// Half of a sign-in.
#[derive(Debug)]
pub struct HalfSignIn {
    /// Completes it.
    pub token: Secret<Half>,
    /// Whether the other half is a code of the device that is bound, or binding one.
    pub has_device: bool,
    /// How long there is.
    pub lifetime: Duration,
    /// Until when.
    pub expires_at: Timestamp,
}

/// That a guess was counted, without which nobody looks whether it is right.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) struct Counted(pub(crate) Trial);

impl Auth {
    /// Lets an agent in, or half-way in.
    ///
    /// # Errors
    /// When neither code nor password is good, or the password does not count right now.
    pub async fn agent_login(&self, knock: &Knock) -> Result<AgentEntry, Error> {
        let method = match knock.evidence {
            Evidence::Code(_) => LoginMethod::Oauth2,
            Evidence::Password(_) | Evidence::Either(..) => LoginMethod::Password,
        };
        let attempt = Attempt::to_sign_in(Some(&knock.employee), method, &knock.visitor).claimed();
        let attempt = Attempt { source: Some(LoginSource::ItAgent), ..attempt };
        self.recorded(attempt, self.look_at(knock).await).await
    }

    async fn look_at(&self, knock: &Knock) -> Result<AgentEntry, Error> {
        match &knock.evidence {
            Evidence::Code(code) => Ok(AgentEntry::Whole(self.by_code(code, knock).await?)),
            Evidence::Password(password) => {
                self.passwords_count().await?;
                Ok(AgentEntry::Half(self.by_password(password, knock).await?))
            }
            Evidence::Either(code, password) => self.by_either(code, password, knock).await,
        }
    }

    /// By the platform's word, and where it gives none, by password. Whether that counts is found out meanwhile: both may
    /// take as long as a platform that does not answer.
    async fn by_either(&self, code: &str, password: &Password, knock: &Knock) -> Result<AgentEntry, Error> {
        let (by_code, counts) = tokio::join!(self.by_code(code, knock), self.passwords_count());
        match (by_code, counts) {
            (Ok(signed_in), _) => Ok(AgentEntry::Whole(signed_in)),
            (Err(Error::Internal(_) | Error::Refused(Refusal::InvalidCode)), Ok(())) => {
                Ok(AgentEntry::Half(self.by_password(password, knock).await?))
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
        self.agent(&who.key).await?.ok_or(Refusal::NotAnAgent)?;
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
    async fn by_password(&self, password: &Password, knock: &Knock) -> Result<HalfSignIn, Error> {
        let employee = &knock.employee;
        let trial = self.trial(employee, knock.browser).await?;
        let rank = if trial == Trial::Password { Rank::Stranger } else { Rank::Known };
        let turn = self.locker.turn(rank, employee)?;
        let counted = self.guess(employee, trial).await?;
        let agent = self.agent(employee).await?;
        let kept = agent.as_ref().and_then(|agent| agent.password.as_deref());
        let right = turn.is_right(password, kept, counted).await?;
        match agent {
            Some(Agent { password: Some(hash), device, .. }) if right => {
                self.halve(hash, device.is_some(), counted, knock).await
            }
            Some(Agent { password: None, .. }) if self.may_know(knock, counted) => Err(Refusal::NoPassword.into()),
            _ => Err(Refusal::PasswordWrong.into()),
        }
    }

    /// Whether it is the agent, and no stranger, who is to learn that they have no password yet.
    fn may_know(&self, knock: &Knock, Counted(trial): Counted) -> bool {
        let shown = knock.shown.as_ref().map(Holder::session);
        let vouched = shown.is_some_and(|session| session.is_vouched_for() && session.employee == knock.employee);
        self.policy.agents.trusting || vouched || matches!(trial, Trial::KnownBrowser(_))
    }

    /// Which guesses at a password this one counts among. Strangers cannot use up those of a browser in which the agent has
    /// been.
    pub(crate) async fn trial(&self, employee: &EmployeeKey, browser: Option<Digest>) -> Result<Trial, Error> {
        match browser {
            Some(browser) if self.knows(browser, employee).await? => Ok(Trial::KnownBrowser(browser)),
            _ => Ok(Trial::Password),
        }
    }

    /// Counts a guess before anybody looks at it.
    pub(crate) async fn guess(&self, employee: &EmployeeKey, trial: Trial) -> Result<Counted, Error> {
        let counted = self.store.guess(employee.clone(), trial, self.clock.now()).await?;
        Ok(counted.map(|()| Counted(trial)).map_err(Refusal::Shut)?)
    }

    /// Half of a sign-in, for whoever knew the password with this hash.
    async fn halve(
        &self,
        hash: String,
        has_device: bool,
        Counted(trial): Counted,
        knock: &Knock,
    ) -> Result<HalfSignIn, Error> {
        let (now, token) = (self.clock.now(), Secret::<Half>::generate(&self.entropy)?);
        let (employee, expires_at) = (knock.employee.clone(), now + HALF_LIFETIME);
        let notice = self.notice(&employee, Subject::PasswordUsed, now, &knock.visitor)?;
        let half = HalfSession { digest: token.digest(), employee, expires_at };
        if !self.store.begin_half(half, hash, trial, notice).await? {
            return Err(Refusal::PasswordWrong.into());
        }
        self.noticed.notify_one();
        Ok(HalfSignIn { token, has_device, lifetime: HALF_LIFETIME, expires_at })
    }

    /// Notes that an agent has been in a browser, for as long again; returns the cookie for it, which is the one that it
    /// brought, if any agent's was.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn remember(
        &self,
        agent: &EmployeeKey,
        kept: Option<Secret<KnownBrowser>>,
    ) -> Result<(Secret<KnownBrowser>, Duration), Error> {
        let now = self.clock.now();
        let browser = match kept {
            Some(kept) if self.store.is_browser_known(kept.digest(), now).await? => kept,
            _ => Secret::generate(&self.entropy)?,
        };
        self.store.know_browser(browser.digest(), agent.clone(), now + REMEMBERED).await?;
        Ok((browser, REMEMBERED))
    }

    async fn knows(&self, browser: Digest, agent: &EmployeeKey) -> Result<bool, Error> {
        Ok(self.store.knows_browser(browser, agent.clone(), self.clock.now()).await?)
    }

    /// Somebody's agent record, if it counts.
    pub(crate) async fn agent(&self, employee: &EmployeeKey) -> Result<Option<Agent>, Error> {
        Ok(self.store.agent(employee.clone()).await?.filter(|agent| !agent.disabled))
    }
}
