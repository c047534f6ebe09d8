//! Agent login: by a code of the platform, or by a password that a one-time password must complete.

use std::fmt;
use std::time::Duration;

use deskpass_core::{ClientInfo, Digest, EmployeeKey, Half, LoginMethod, LoginSource, Password, Secret, Timestamp};
use deskpass_platform::{CodeRedemption, EntryPoint};
use deskpass_store::{Agent, AttemptKind, NoticeSubject, PartialSessionRecord};

use crate::attempts::CountedAttempt;
use crate::audit::Attempt;
use crate::hash_queue::Priority;
use crate::oauth::CodeDoor;
use crate::password_hasher::HashSlot;
use crate::platform_user::PlatformUser;
use crate::sign_in::{SignInProof, SignInRequest};
use crate::{Auth, BegunSigns, Error, FunnelStep, PasswordPolicy, Refusal, SignedIn, TokenHolder};

/// How long a partial session waits for the one-time password.
pub(crate) const PARTIAL_SESSION_LIFETIME: Duration = Duration::from_mins(10);

/// A login request of an agent.
#[derive(Debug)]
pub struct AgentLogin {
    /// The employee that the request names.
    pub employee: EmployeeKey,
    /// The credentials.
    pub credentials: AgentCredentials,
    /// Whether the code is claimed for this request.
    pub code_claim: Result<(), Error>,
    /// Where a code of the platform was obtained.
    pub entry: EntryPoint,
    /// The address to which the platform sends browsers back.
    pub redirect_uri: String,
    /// The cookie of the browser that started a flow at the platform.
    pub flow: Option<Digest>,
    /// The cookie of a known browser.
    pub browser: Option<Digest>,
    /// The session of a token that the request also carries.
    pub shown: Option<TokenHolder>,
    /// The client.
    pub visitor: ClientInfo,
}

/// The credentials of an agent login.
pub enum AgentCredentials {
    /// A code of the platform.
    Code(String),
    /// A password.
    Password(Password),
    /// A code, and a password in case the platform does not identify the code.
    Either(String, Password),
}

impl fmt::Debug for AgentCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Code(_) => "Code",
            Self::Password(_) => "Password",
            Self::Either(..) => "Either",
        })
    }
}

/// The outcome of an agent login.
#[derive(Debug)]
pub enum AgentLoginOutcome {
    /// A session.
    Full(SignedIn),
    /// A partial session.
    Partial(IssuedPartialSession),
}

impl AgentLoginOutcome {
    /// The employee who is signed in, if the login is complete.
    #[must_use]
    pub fn signed_in(&self) -> Option<&EmployeeKey> {
        match self {
            Self::Full(signed_in) => Some(&signed_in.person.key),
            Self::Partial(_) => None,
        }
    }
}

/// A partial session with its token.
#[derive(Debug)]
pub struct IssuedPartialSession {
    /// The token.
    pub token: Secret<Half>,
    /// Whether a device is bound. If so, its code completes the sign-in; otherwise binding a device does.
    pub has_device: bool,
    /// How long the session lasts.
    pub lifetime: Duration,
    /// When it expires.
    pub expires_at: Timestamp,
}

impl Auth {
    /// Signs an agent in, or begins a partial session.
    pub async fn agent_login(&self, login: &AgentLogin) -> Result<AgentLoginOutcome, Error> {
        let method = match login.credentials {
            AgentCredentials::Code(_) => LoginMethod::Oauth2,
            AgentCredentials::Password(_) | AgentCredentials::Either(..) => LoginMethod::Password,
        };
        let attempt = Attempt::to_sign_in(Some(&login.employee), method, &login.visitor).claimed();
        let attempt = Attempt { source: Some(LoginSource::ItAgent), ..attempt };
        self.audit_outcome(attempt, self.check_credentials(login).await).await
    }

    /// Refuses a login that would find the password queue full, before any work is done for it. A code needs no place
    /// in the queue, and whether a browser is known has to be read first: such logins are left to
    /// [`Auth::agent_login`]. The queue is full only while passwords are accepted.
    pub fn refuse_while_busy(&self, login: &AgentLogin) -> Result<(), Refusal> {
        match (&login.credentials, login.browser) {
            (AgentCredentials::Password(_), None) => self.credential_vault.require_anonymous_slot(),
            _ => Ok(()),
        }
    }

    async fn check_credentials(&self, login: &AgentLogin) -> Result<AgentLoginOutcome, Error> {
        match &login.credentials {
            AgentCredentials::Code(code) => Ok(AgentLoginOutcome::Full(self.login_by_code(code, login).await?)),
            AgentCredentials::Password(password) => {
                self.require_passwords_enabled().await?;
                Ok(AgentLoginOutcome::Partial(self.login_by_password(password, login).await?))
            }
            AgentCredentials::Either(code, password) => self.login_by_code_or_password(code, password, login).await,
        }
    }

    /// Tries the code, then the password. Checks at the same time whether passwords are accepted, because both may wait for a
    /// platform that does not answer.
    async fn login_by_code_or_password(
        &self,
        code: &str,
        password: &Password,
        login: &AgentLogin,
    ) -> Result<AgentLoginOutcome, Error> {
        let (by_code, enabled) = tokio::join!(self.login_by_code(code, login), self.require_passwords_enabled());
        match (by_code, enabled) {
            (Ok(signed_in), _) => Ok(AgentLoginOutcome::Full(signed_in)),
            // The session may have begun: one login does not begin two.
            (Err(error), _) if error.is_outcome_unknown() => Err(error),
            (
                Err(
                    Error::Internal(_)
                    | Error::Refused(Refusal::InvalidCode | Refusal::CodesLimited | Refusal::RateLimited(_)),
                ),
                Ok(()),
            ) => Ok(AgentLoginOutcome::Partial(self.login_by_password(password, login).await?)),
            // The platform refused the user, or passwords are not accepted.
            (Err(refused), _) => Err(refused),
        }
    }

    async fn login_by_code(&self, code: &str, login: &AgentLogin) -> Result<SignedIn, Error> {
        let AgentLogin { entry, redirect_uri, code_claim, flow, .. } = login;
        code_claim.clone()?;
        let address = login.visitor.address.decided;
        let signs = BegunSigns { flow: *flow, ..BegunSigns::default() };
        let sign = self.begun_sign(&signs).await?;
        self.admit_code(sign, address, CodeDoor::AgentLogin).await?;
        let redemption = CodeRedemption { code, entry: *entry, redirect_uri, verifier: None };
        let exchanged = self.exchange_counted_code(redemption, &signs, address).await?;
        let PlatformUser::Known(who) = self.resolve_user(&exchanged).await? else {
            return Err(Refusal::NotAMember.into());
        };
        if who.key != login.employee {
            tracing::info!(employee = %login.employee, code_of = %who.key, "the code belongs to another person");
            return Err(Refusal::CodeOfAnotherPerson.into());
        }
        self.update_person(&who).await?;
        self.enabled_agent(&who.key).await?.ok_or(Refusal::NotAnAgent)?;
        let (employee, method, proof) = (&who.key, LoginMethod::Oauth2, SignInProof::of(&who));
        let (source, visitor) = (Some(LoginSource::ItAgent), &login.visitor);
        self.sign_in(SignInRequest { employee, role: None, method, proof, source, visitor }).await
    }

    /// Whether agents can sign in with a password at the moment.
    pub async fn accepts_passwords(&self) -> bool {
        self.require_passwords_enabled().await.is_ok()
    }

    /// Requires that passwords are accepted at the moment. The service checks the platform itself; the request has no say.
    async fn require_passwords_enabled(&self) -> Result<(), Refusal> {
        match self.policy.agents.fallback {
            PasswordPolicy::Always => Ok(()),
            PasswordPolicy::Off => Err(Refusal::PasswordOff),
            PasswordPolicy::Outage if self.platform.is_down().await => Ok(()),
            PasswordPolicy::Outage => Err(Refusal::PlatformWorks),
        }
    }

    /// Checks a password. The refusal does not reveal whether the agent exists or has a password.
    async fn login_by_password(&self, password: &Password, login: &AgentLogin) -> Result<IssuedPartialSession, Error> {
        let employee = &login.employee;
        let trial = self.attempt_counter(employee, login.browser).await?;
        let priority = if trial == AttemptKind::Password { Priority::Anonymous } else { Priority::Known };
        let slot = self.credential_vault.reserve(priority, employee)?;
        let counted = self.count_attempt(employee, trial).await?;
        let agent = self.enabled_agent(employee).await?;
        let stored = agent.as_ref().and_then(|agent| agent.password.as_deref());
        let right = slot.verify(password, stored, counted).await?;
        self.observer.step(FunnelStep::PasswordChecked);
        match agent {
            Some(Agent { password: Some(hash), device, .. }) if right => {
                let hash = self.move_password(&slot, password, hash, counted, login).await;
                self.begin_partial_session(hash, device.is_some(), counted, login).await
            }
            Some(Agent { password: None, .. }) if self.may_learn_of_missing_password(login, counted) => {
                Err(Refusal::NoPassword.into())
            }
            _ => Err(Refusal::PasswordWrong.into()),
        }
    }

    /// Hashes a password that was just verified with the current key, if it was hashed with an older one, and returns the stored
    /// hash. If that fails, the password stays as it is, and moves at its next use.
    async fn move_password(
        &self,
        slot: &HashSlot,
        password: &Password,
        hash: String,
        counted: CountedAttempt,
        login: &AgentLogin,
    ) -> String {
        if slot.is_current(&hash) {
            return hash;
        }
        match self.rehash(slot, password, hash.clone(), counted, &login.employee).await {
            Ok(moved) => moved.unwrap_or(hash),
            Err(error) => {
                tracing::warn!(%error, employee = %login.employee, "a password stays hashed with an older key for now");
                hash
            }
        }
    }

    /// The stored hash of the password, made with the key that the data uses; `None` if the password was changed meanwhile.
    async fn rehash(
        &self,
        slot: &HashSlot,
        password: &Password,
        before: String,
        counted: CountedAttempt,
        employee: &EmployeeKey,
    ) -> Result<Option<String>, Error> {
        // The hash may be newer than what this node knows about the keys: it must not move back to a key that was replaced.
        self.follow_keys().await?;
        if slot.is_current(&before) {
            return Ok(Some(before));
        }
        let after = slot.hash(password, &self.entropy).await?;
        if self.store.rehash_password(employee.clone(), before, after.clone()).await? {
            return Ok(Some(after));
        }
        // Another sign-in was faster.
        let stored = self.enabled_agent(employee).await?.and_then(|agent| agent.password);
        let is_same = slot.verify(password, stored.as_deref(), counted).await?;
        Ok(stored.filter(|_| is_same))
    }

    /// Whether the client may learn that the agent has no password yet. Only the agent may, not a stranger.
    fn may_learn_of_missing_password(&self, login: &AgentLogin, CountedAttempt(trial): CountedAttempt) -> bool {
        let shown = login.shown.as_ref().map(TokenHolder::session);
        let vouched = shown.is_some_and(|session| session.is_vouched_for() && session.employee == login.employee);
        self.policy.agents.trust_unproven || vouched || matches!(trial, AttemptKind::KnownBrowser(_))
    }

    /// Begins a partial session after the password with this hash was verified.
    async fn begin_partial_session(
        &self,
        hash: String,
        has_device: bool,
        CountedAttempt(trial): CountedAttempt,
        login: &AgentLogin,
    ) -> Result<IssuedPartialSession, Error> {
        let (now, token) = (self.clock.now(), Secret::<Half>::generate(&self.entropy)?);
        let (employee, expires_at) = (login.employee.clone(), now + PARTIAL_SESSION_LIFETIME);
        let notice = self.new_notice(&employee, NoticeSubject::PasswordUsed, now, &login.visitor)?;
        let half = PartialSessionRecord { digest: token.digest(), employee, expires_at };
        if !self.store.begin_partial_session(half, hash, trial, notice).await? {
            return Err(Refusal::PasswordWrong.into());
        }
        self.observer.step(FunnelStep::PasswordAccepted);
        self.notices_due.notify_one();
        Ok(IssuedPartialSession { token, has_device, lifetime: PARTIAL_SESSION_LIFETIME, expires_at })
    }

    /// The employee's agent record, if it is enabled.
    pub(crate) async fn enabled_agent(&self, employee: &EmployeeKey) -> Result<Option<Agent>, Error> {
        Ok(self.store.agent(employee.clone()).await?.filter(|agent| !(agent.disabled || agent.device_only)))
    }
}
