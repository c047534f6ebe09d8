//! The access token: fetched once however many ask, renewed ahead of its end, dropped when the platform drops it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deskpass_core::{Clock, Timestamp};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;

use crate::answer::Answer;
use crate::api::{Api, Question};
use crate::line::Line;
use crate::plain::is_visible;
use crate::{Error, Garbled, Unreachable};

/// How long before its end a token is renewed; a short-lived one at two thirds of its life.
const AHEAD: Duration = Duration::from_mins(5);
/// How long to leave a token alone after its renewal failed, or did not help.
const REST: Duration = Duration::from_secs(10);

/// An access token.
pub(crate) struct Token {
    value: String,
    renew_at: Timestamp,
    expires_at: Timestamp,
}

impl Token {
    /// What goes into a call.
    pub(crate) fn value(&self) -> &str {
        &self.value
    }

    fn read(answer: &Answer, asked_at: Timestamp) -> Result<Self, Garbled> {
        let value = answer.text("access_token").filter(|value| is_visible(value));
        let value = value.ok_or(Garbled::Incomplete("access_token"))?.to_owned();
        let seconds = answer.number("expires_in").and_then(|seconds| u64::try_from(seconds).ok());
        let life = seconds.filter(|seconds| *seconds > 0).ok_or(Garbled::Incomplete("expires_in"))?;
        let life = Duration::from_secs(life);
        tracing::info!(expires_in = life.as_secs(), "the platform gave an access token");
        let expires_at = asked_at + life;
        Ok(Self { value, renew_at: expires_at - AHEAD.min(life / 3), expires_at })
    }
}

type Outcome = Result<Arc<Token>, Error>;
type Flight = watch::Receiver<Option<Outcome>>;

/// Who we are to the platform.
pub(crate) struct Credentials {
    pub(crate) corp_id: String,
    pub(crate) secret: String,
}

/// The token of one application, shared by everyone who needs it.
#[derive(Clone)]
pub(crate) struct Tokens {
    line: Arc<Line>,
    clock: Clock,
    credentials: Arc<Credentials>,
    stock: Arc<Mutex<Stock>>,
}

#[derive(Default)]
struct Stock {
    token: Option<Arc<Token>>,
    flight: Option<Flight>,
    rest_until: Option<Timestamp>,
    useless_until: Option<Timestamp>,
}

impl Stock {
    fn good(&self, now: Timestamp) -> Option<&Arc<Token>> {
        self.token.as_ref().filter(|token| now < token.expires_at)
    }

    /// The fetch under way. One that ended without a word, as when its runtime stopped, does not count.
    fn flight(&self) -> Option<Flight> {
        self.flight.clone().filter(|flight| flight.has_changed().is_ok())
    }
}

impl Tokens {
    pub(crate) fn new(line: Arc<Line>, clock: Clock, credentials: Credentials) -> Self {
        Self { line, clock, credentials: Arc::new(credentials), stock: Arc::default() }
    }

    /// The token, from the stock or from the platform.
    pub(crate) async fn get(&self, deadline: Instant) -> Outcome {
        let mut flight = match self.look() {
            Ok(token) => return Ok(token),
            Err(flight) => flight,
        };
        let landed = timeout_at(deadline, flight.wait_for(Option::is_some)).await;
        let landed = landed.map_err(|_| Unreachable::TimedOut)?.map_err(|_| Unreachable::Broken)?;
        landed.clone().unwrap_or(Err(Unreachable::Broken.into()))
    }

    /// Whether a token is at hand that has not expired.
    pub(crate) fn in_hand(&self) -> bool {
        self.stock().good(self.clock.now()).is_some()
    }

    /// Drops a token that the platform no longer takes; a newer one stays. Returns whether there may be a better one.
    pub(crate) fn drop_token(&self, refused: &Arc<Token>) -> bool {
        let mut stock = self.stock();
        if stock.useless_until.is_some_and(|until| self.clock.now() < until) {
            return false;
        }
        if stock.token.as_ref().is_some_and(|token| Arc::ptr_eq(token, refused)) {
            stock.token = None;
        }
        true
    }

    /// Notes that a new token did not help either: the trouble is another, and asking for one token after the other is what
    /// the platform bans callers for.
    pub(crate) fn another_is_useless(&self) {
        self.stock().useless_until = Some(self.clock.now() + REST);
    }

    /// A good token, or the fetch that will bring one. Starts a fetch where one is due and none is under way.
    fn look(&self) -> Result<Arc<Token>, Flight> {
        let now = self.clock.now();
        let mut stock = self.stock();
        let Some(token) = stock.good(now).cloned() else {
            return Err(stock.flight().unwrap_or_else(|| self.depart(&mut stock)));
        };
        let resting = stock.rest_until.is_some_and(|until| now < until);
        if now >= token.renew_at && !resting && stock.flight().is_none() {
            self.depart(&mut stock);
        }
        Ok(token)
    }

    /// Starts a fetch as a task of its own: whoever asked first may give up without leaving the others waiting.
    fn depart(&self, stock: &mut Stock) -> Flight {
        let (sender, flight) = watch::channel(None);
        stock.flight = Some(flight.clone());
        let this = self.clone();
        let fetch = async move {
            let outcome = this.fetch().await.map(Arc::new);
            this.land(&outcome);
            // Nobody may be waiting any more.
            drop(sender.send(Some(outcome)));
        };
        drop(tokio::spawn(fetch.in_current_span()));
        flight
    }

    async fn fetch(&self) -> Result<Token, Error> {
        let asked_at = self.clock.now();
        let Credentials { corp_id, secret } = &*self.credentials;
        let question = Question::get(Api::Token, &[("corpid", corp_id), ("corpsecret", secret)]);
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
