//! The access token: fetched once however many ask, on however many nodes, renewed ahead of its end, dropped when the
//! platform drops it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deskpass_core::{Clock, Timestamp};
use tokio::time::{Instant, sleep, timeout_at};

use crate::answer::Answer;
use crate::api::{Api, Question};
use crate::flight::{Flight, Needed};
use crate::line::Line;
use crate::plain::is_visible;
use crate::vault::{Kept, Vault, within};
use crate::{Error, Garbled, Unreachable};

/// How long before its end a token is renewed; a short-lived one at two thirds of its life.
const AHEAD: Duration = Duration::from_mins(5);
/// How long to leave a token alone after its renewal failed, or did not help.
const REST: Duration = Duration::from_secs(10);
/// How often to look whether another node has brought a token.
const LOOK: Duration = Duration::from_millis(100);

/// An access token.
pub(crate) struct Token {
    kept: Kept,
    renew_at: Timestamp,
    /// Whether another node fetched it.
    borrowed: bool,
}

impl Token {
    /// What goes into a call.
    pub(crate) fn value(&self) -> &str {
        &self.kept.value
    }

    /// Whether another node fetched it before this moment.
    pub(crate) fn borrowed_from_before(&self, moment: Timestamp) -> bool {
        self.borrowed && self.kept.asked_at < moment
    }

    fn new(kept: Kept) -> Self {
        let life = kept.expires_at.since(kept.asked_at);
        Self { renew_at: kept.expires_at - AHEAD.min(life / 3), kept, borrowed: false }
    }

    fn read(answer: &Answer, asked_at: Timestamp) -> Result<Self, Garbled> {
        let value = answer.text("access_token").filter(|value| is_visible(value));
        let value = value.ok_or(Garbled::Incomplete("access_token"))?.to_owned();
        let seconds = answer.number("expires_in").and_then(|seconds| u64::try_from(seconds).ok());
        let life = seconds.filter(|seconds| *seconds > 0).ok_or(Garbled::Incomplete("expires_in"))?;
        let life = Duration::from_secs(life);
        tracing::info!(expires_in = life.as_secs(), "the platform gave an access token");
        Ok(Self::new(Kept { value, asked_at, expires_at: asked_at + life }))
    }
}

type Outcome = Result<Arc<Token>, Error>;

/// Who we are to the platform.
pub(crate) struct Credentials {
    pub(crate) corp_id: String,
    pub(crate) secret: String,
}

/// What to do where a token is needed.
enum Turn {
    /// Use the one another node has brought.
    Take(Token),
    /// Ask the platform.
    Fetch,
    /// Another node is asking it.
    Wait,
}

/// The token of one application, shared by everyone who needs it.
#[derive(Clone)]
pub(crate) struct Tokens {
    line: Arc<Line>,
    clock: Clock,
    credentials: Arc<Credentials>,
    vault: Arc<dyn Vault>,
    stock: Arc<Mutex<Stock>>,
}

#[derive(Default)]
struct Stock {
    token: Option<Arc<Token>>,
    /// The last one the platform did not take; the vault may still have it.
    refused: Option<Arc<Token>>,
    /// The fetch under way.
    flight: Option<Flight<Outcome>>,
    rest_until: Option<Timestamp>,
    useless_until: Option<Timestamp>,
}

impl Stock {
    fn good(&self, now: Timestamp) -> Option<&Arc<Token>> {
        self.token.as_ref().filter(|token| now < token.kept.expires_at)
    }

    /// Whether a token from the vault is of use. One that is due for renewal is, to whoever has none: it is renewed in time.
    fn wants(&self, token: &Token, now: Timestamp) -> bool {
        let refused = self.refused.as_ref().is_some_and(|refused| refused.kept == token.kept);
        let until = if self.good(now).is_some() { token.renew_at } else { token.kept.expires_at };
        now < until && !refused && is_visible(token.value())
    }
}

impl Tokens {
    pub(crate) fn new(line: Arc<Line>, clock: Clock, credentials: Credentials, vault: Arc<dyn Vault>) -> Self {
        Self { line, clock, credentials: Arc::new(credentials), vault, stock: Arc::default() }
    }

    /// The token, from the stock or from the platform.
    pub(crate) async fn get(&self, deadline: Instant) -> Outcome {
        let token = timeout_at(deadline, self.stocked_or_fetched().get()).await;
        token.map_err(|_| Unreachable::TimedOut)?.ok_or(Unreachable::Broken)?
    }

    /// Whether a token is at hand that has not expired.
    pub(crate) fn in_hand(&self) -> bool {
        self.stock().good(self.clock.now()).is_some()
    }

    /// Drops a token that the platform no longer takes; a newer one stays. Returns the time where there may be a better one.
    pub(crate) fn drop_token(&self, refused: &Arc<Token>) -> Option<Timestamp> {
        let now = self.clock.now();
        let mut stock = self.stock();
        if stock.useless_until.is_some_and(|until| now < until) {
            return None;
        }
        if stock.token.as_ref().is_some_and(|token| Arc::ptr_eq(token, refused)) {
            stock.refused = stock.token.take();
        }
        Some(now)
    }

    /// Notes that a new token did not help either: the trouble is another, and asking for one token after the other is what
    /// the platform bans callers for.
    pub(crate) fn another_is_useless(&self) {
        self.stock().useless_until = Some(self.clock.now() + REST);
    }

    /// A good token, or the fetch that will bring one. Starts a fetch where one is due and none is under way.
    fn stocked_or_fetched(&self) -> Needed<Outcome> {
        let now = self.clock.now();
        let mut stock = self.stock();
        let flight = stock.flight.clone().filter(Flight::is_under_way);
        let Some(token) = stock.good(now).cloned() else {
            return Needed::Coming(flight.unwrap_or_else(|| stock.flight.insert(self.depart()).clone()));
        };
        let resting = stock.rest_until.is_some_and(|until| now < until);
        if now >= token.renew_at && !resting && flight.is_none() {
            stock.flight = Some(self.depart());
        }
        Needed::Here(Ok(token))
    }

    /// Starts a fetch.
    fn depart(&self) -> Flight<Outcome> {
        let this = self.clone();
        Flight::depart(async move {
            let outcome = this.obtain().await.map(Arc::new);
            this.land(&outcome);
            outcome
        })
    }

    /// A token from another node or from the platform.
    async fn obtain(&self) -> Result<Token, Error> {
        let deadline = self.line.deadline();
        loop {
            match self.turn().await.unwrap_or(Turn::Fetch) {
                Turn::Take(token) => {
                    tracing::info!("another node's access token is used");
                    return Ok(token);
                }
                Turn::Fetch => return self.fetch().await,
                Turn::Wait if Instant::now() + LOOK >= deadline => {
                    tracing::warn!("another node is asking for an access token, and none came in time");
                    return Err(Unreachable::TimedOut.into());
                }
                Turn::Wait => sleep(LOOK).await,
            }
        }
    }

    /// Whose turn it is; nothing where the vault does not answer.
    async fn turn(&self) -> Option<Turn> {
        if let Some(token) = self.recall().await? {
            return Some(Turn::Take(token));
        }
        if !within(self.vault.claim()).await? {
            return Some(Turn::Wait);
        }
        // Whoever had the claim before us may have kept a token after we looked.
        let Some(token) = self.recall().await? else { return Some(Turn::Fetch) };
        within(self.vault.release()).await;
        Some(Turn::Take(token))
    }

    async fn recall(&self) -> Option<Option<Token>> {
        let kept = within(self.vault.recall()).await?;
        let token = kept.map(|kept| Token { borrowed: true, ..Token::new(kept) });
        let now = self.clock.now();
        Some(token.filter(|token| self.stock().wants(token, now)))
    }

    async fn fetch(&self) -> Result<Token, Error> {
        let fetched = self.ask().await;
        // Before anybody has the token: were it refused, an older one would still be in the vault.
        match &fetched {
            Ok(token) => within(self.vault.keep(token.kept.clone())).await,
            Err(_) => within(self.vault.release()).await,
        };
        fetched
    }

    async fn ask(&self) -> Result<Token, Error> {
        let asked_at = self.clock.now();
        let Credentials { corp_id, secret } = &*self.credentials;
        let question = Question::get(Api::Token, &[("corpid", corp_id), ("corpsecret", secret)]).first();
        let answer = self.line.ask(&question, self.line.deadline()).await?;
        Ok(Token::read(&answer, asked_at)?)
    }

    fn land(&self, outcome: &Outcome) {
        let now = self.clock.now();
        let mut stock = self.stock();
        stock.flight = None;
        match outcome {
            Ok(token) => stock.token = Some(Arc::clone(token)),
            Err(_) => stock.rest_until = Some(now + REST),
        }
    }

    fn stock(&self) -> MutexGuard<'_, Stock> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
