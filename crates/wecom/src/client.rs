//! The client: what this service asks of the platform.

use std::fmt;
use std::sync::Arc;

use deskpass_core::Clock;
use tokio::time::Instant;

use crate::access_token::{Credentials, Token, Tokens};
use crate::answer::Answer;
use crate::api::{Api, Question};
use crate::circuit::Breakers;
use crate::department::Departments;
use crate::line::{DateSeen, Line};
use crate::outage::Lookout;
use crate::plain::{is_visible, plain};
use crate::vault::{Alone, Vault};
use crate::{Circuit, Error, Hosts, Identity, Settings, SettingsError};

/// The platform does not take the access token (any more). 40001 is about the secret where a token is asked for, and about
/// the token everywhere else.
const TOKEN_REFUSED: [i64; 3] = [40001, 40014, 42001];
/// The platform's own number for a missing agent id.
pub(crate) const NO_AGENT_ID: i64 = 41011;

type Outcome = Result<Answer, Error>;

/// The platform, as this service asks it. Clones share the access token, the circuit and the connections.
#[derive(Clone)]
pub struct Wecom(Arc<Inner>);

struct Inner {
    corp_id: String,
    agent_id: Option<String>,
    hosts: Hosts,
    line: Arc<Line>,
    tokens: Tokens,
    departments: Departments,
    lookout: Lookout,
}

/// The application as the platform has it on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// Its name.
    pub name: String,
    /// Whether an administrator switched it off.
    pub closed: bool,
    /// The domain that codes may be sent to; empty where none is set.
    pub redirect_domain: String,
}

impl Wecom {
    /// A client for these settings.
    ///
    /// # Errors
    /// When no client can be made of them.
    pub fn new(settings: Settings, clock: Clock) -> Result<Self, SettingsError> {
        Self::with_vault(settings, clock, Arc::new(Alone))
    }

    /// A client that shares its access token with the other nodes that use this vault.
    ///
    /// # Errors
    /// When no client can be made of the settings.
    pub fn with_vault(settings: Settings, clock: Clock, vault: Arc<dyn Vault>) -> Result<Self, SettingsError> {
        settings.check()?;
        let line = Arc::new(Line::new(&settings, clock.clone())?);
        let credentials = Credentials { corp_id: settings.corp_id.clone(), secret: settings.secret };
        Ok(Self(Arc::new(Inner {
            corp_id: settings.corp_id,
            agent_id: settings.agent_id,
            hosts: settings.hosts,
            tokens: Tokens::new(Arc::clone(&line), clock.clone(), credentials, vault),
            line,
            departments: Departments::new(clock),
            lookout: Lookout::default(),
        })))
    }

    /// Who a code stands for.
    ///
    /// # Errors
    /// When the code cannot be one, or the platform does not say whose it is.
    pub async fn identify(&self, code: &str) -> Result<Identity, Error> {
        if !is_visible(code) {
            return Err(Error::BadCode);
        }
        let question = Question::get(Api::UserInfo, &[("code", code)]);
        let answer = self.ask(&question, self.deadline()).await?;
        Ok(Identity::read(&answer)?)
    }

    /// The application as the platform has it on record: a call that fails where signing in would, unlike the one for
    /// a token, which the platform answers to any address.
    ///
    /// # Errors
    /// When the platform does not say, or no agent id is configured.
    pub async fn application(&self) -> Result<Application, Error> {
        let Some(agent_id) = self.agent_id() else {
            return Err(Error::refused(NO_AGENT_ID));
        };
        let answer = self.ask(&Question::get(Api::Agent, &[("agentid", agent_id)]), self.deadline()).await?;
        let text = |name| plain(answer.text(name).unwrap_or_default(), 128);
        let closed = answer.number("close") == Some(1);
        Ok(Application { name: text("name"), closed, redirect_domain: text("redirect_domain") })
    }

    /// Whether the platform accepts the corporation and its secret; a token at hand is proof enough.
    ///
    /// # Errors
    /// When it does not, or does not say.
    pub async fn check_credentials(&self) -> Result<(), Error> {
        self.token(self.deadline()).await
    }

    /// The time by the platform's clock, as it writes it.
    ///
    /// # Errors
    /// When the platform cannot be reached.
    pub async fn date(&self) -> Result<Option<String>, Error> {
        self.0.line.date().await
    }

    /// The newest date that a response of the platform had, without asking.
    #[must_use]
    pub fn date_seen(&self) -> Option<DateSeen> {
        self.0.line.date_seen()
    }

    /// Whether the platform is being asked.
    #[must_use]
    pub fn circuit(&self) -> Circuit {
        self.breakers().report(self.0.tokens.in_hand())
    }

    /// Asks with the access token, and once more with a new one where the platform does not take it. The same code may be
    /// sent again: it is not used up by a call that failed for its token.
    pub(crate) async fn ask(&self, question: &Question<'_>, deadline: Instant) -> Result<Answer, Error> {
        let tokens = &self.0.tokens;
        let (token, outcome) = self.ask_once(question, deadline).await?;
        let Some(dropped_at) = token_refused(&outcome).then(|| tokens.drop_token(&token)).flatten() else {
            return outcome;
        };
        let (token, mut again) = self.ask_once(question, deadline).await?;
        // One that another node had all along is not new: the platform may have dropped both together.
        let old = token.borrowed_from_before(dropped_at);
        if token_refused(&again) && old && tokens.drop_token(&token).is_some() {
            (_, again) = self.ask_once(question, deadline).await?;
        }
        if token_refused(&again) {
            tokens.another_is_useless();
        }
        again
    }

    async fn ask_once(&self, question: &Question<'_>, deadline: Instant) -> Result<(Arc<Token>, Outcome), Error> {
        let token = self.0.tokens.get(deadline).await?;
        let outcome = self.0.line.ask(&question.with_token(token.value()), deadline).await;
        Ok((token, outcome))
    }

    /// Sees to it that a token is at hand.
    pub(crate) async fn token(&self, deadline: Instant) -> Result<(), Error> {
        self.0.tokens.get(deadline).await.map(drop)
    }

    pub(crate) fn breakers(&self) -> &Breakers {
        self.0.line.breakers()
    }

    pub(crate) fn lookout(&self) -> &Lookout {
        &self.0.lookout
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.0.line.deadline()
    }

    pub(crate) fn departments(&self) -> &Departments {
        &self.0.departments
    }

    pub(crate) fn corp_id(&self) -> &str {
        &self.0.corp_id
    }

    pub(crate) fn agent_id(&self) -> Option<&str> {
        self.0.agent_id.as_deref()
    }

    pub(crate) fn hosts(&self) -> &Hosts {
        &self.0.hosts
    }
}

/// Whether the platform did not take the access token.
fn token_refused(outcome: &Outcome) -> bool {
    matches!(outcome, Err(Error::Refused { errcode, .. }) if TOKEN_REFUSED.contains(errcode))
}

impl fmt::Debug for Wecom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wecom")
            .field("corp_id", &self.0.corp_id)
            .field("agent_id", &self.0.agent_id)
            .field("circuit", &self.circuit())
            .finish_non_exhaustive()
    }
}
