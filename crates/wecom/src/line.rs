//! The line to the platform: one call, with its limits, and the few repeats that are worth it.

use std::error::Error as _;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use deskpass_core::Clock;
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Proxy, Response};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;

use crate::answer::Answer;
use crate::api::{Api, Question};
use crate::circuit::Breakers;
use crate::errcode::{Actor, Meaning, meaning};
use crate::remark::Remark;
use crate::trust::trust;
use crate::{Error, Garbled, Patience, Settings, SettingsError, Unreachable};

/// The largest body read; the platform's own are a few hundred bytes.
const LARGEST: usize = 64 * 1024;
/// Calls under way at once. The platform complains (45033) at several hundred, and a slow one must not use up our sockets.
const AT_ONCE: usize = 128;
/// How long a connection is kept for the next call: shorter than servers keep theirs, or we would now and then speak into
/// one that is just being closed, and somebody's code would be lost.
const IDLE: Duration = Duration::from_secs(15);
/// How often a call is repeated when the platform is busy, and the first pause before it.
const REPEATS: u32 = 2;
pub(crate) const PAUSE: Duration = Duration::from_millis(100);
/// The platform is busy (-1), or two writers met (6000): both pass.
pub(crate) const BUSY: [i64; 2] = [-1, 6000];

/// How long the date of a response is kept before another one replaces it.
const DATE_KEPT: Duration = Duration::from_secs(10);

/// The line to the platform.
pub(crate) struct Line {
    http: Client,
    api: Url,
    patience: Patience,
    breakers: Breakers,
    turns: Semaphore,
    clock: Clock,
    date_seen: Mutex<Option<DateSeen>>,
}

/// The date of a response of the platform.
#[derive(Clone, Debug)]
pub struct DateSeen {
    /// As the platform wrote it.
    pub date: String,
    /// The uptime of this machine when the response came.
    pub at: Duration,
}

impl Line {
    /// A line as the settings have it. The environment has no say in it: where the secret goes is for the settings alone.
    pub(crate) fn new(settings: &Settings, clock: Clock) -> Result<Self, SettingsError> {
        let mut http = Client::builder()
            .tls_backend_preconfigured(trust(settings)?)
            .user_agent(concat!("deskpass/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(settings.patience.connect)
            .pool_idle_timeout(IDLE)
            .redirect(Policy::none())
            .referer(false)
            .no_proxy();
        if let Some(proxy) = &settings.proxy {
            http = http.proxy(Proxy::all(proxy.clone()).map_err(|_| SettingsError::Proxy)?);
        }
        Ok(Self {
            http: http.build().map_err(|_| SettingsError::Client)?,
            api: settings.hosts.api.clone(),
            patience: settings.patience,
            breakers: Breakers::new(clock.clone()),
            turns: Semaphore::new(AT_ONCE),
            clock,
            date_seen: Mutex::default(),
        })
    }

    /// When an operation that begins now must be over.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.patience.whole
    }

    /// When not to ask.
    pub(crate) fn breakers(&self) -> &Breakers {
        &self.breakers
    }

    /// Asks, and asks again for a while when the platform is busy.
    pub(crate) async fn ask(&self, question: &Question<'_>, deadline: Instant) -> Result<Answer, Error> {
        for repeat in 0..REPEATS {
            let outcome = self.ask_once(question, deadline).await;
            let busy = matches!(&outcome, Err(Error::Refused { errcode, .. }) if BUSY.contains(errcode));
            let pause = PAUSE * 2_u32.pow(repeat);
            if !busy || Instant::now() + pause >= deadline {
                return outcome;
            }
            sleep(pause).await;
        }
        self.ask_once(question, deadline).await
    }

    async fn ask_once(&self, question: &Question<'_>, deadline: Instant) -> Result<Answer, Error> {
        let _turn = if question.first { None } else { Some(self.turn(deadline).await?) };
        self.breakers.admit(question.api)?;
        let outcome = self.call(question, deadline).await.and_then(|body| understand(question, &body));
        self.breakers.learn(question.api, &outcome);
        outcome
    }

    async fn turn(&self, deadline: Instant) -> Result<tokio::sync::SemaphorePermit<'_>, Unreachable> {
        let turn = timeout_at(deadline, self.turns.acquire()).await.map_err(|_| Unreachable::TimedOut)?;
        turn.map_err(|_| Unreachable::Broken)
    }

    /// One call: the body of an answer with status 200.
    async fn call(&self, question: &Question<'_>, deadline: Instant) -> Result<Vec<u8>, Error> {
        let mut url = self.api.clone();
        url.set_path(&format!("{}/cgi-bin/{}", self.api.path().trim_end_matches('/'), question.api.name()));
        url.query_pairs_mut().extend_pairs(&question.query);
        let mut request = self.http.request(if question.body.is_some() { Method::POST } else { Method::GET }, url);
        if let Some(body) = &question.body {
            request = request.header(reqwest::header::CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let name = question.api.name();
        let answered = request.timeout(self.left(deadline)).send().await;
        let response = answered.map_err(|error| unreachable(name, &error))?;
        self.note_date(&response);
        let body = match response.status().as_u16() {
            200 => read(name, response).await,
            300..=399 => Err(Garbled::Redirected.into()),
            status => Err(Garbled::Status(status).into()),
        };
        body.inspect_err(|error| garbled(question.api, error))
    }

    /// The `Date` of whatever stands at the API's address. No secret goes out, and nothing is counted against us.
    pub(crate) async fn date(&self) -> Result<Option<String>, Error> {
        let deadline = self.deadline();
        let _turn = self.turn(deadline).await?;
        let answered = self.http.get(self.api.clone()).timeout(self.left(deadline)).send().await;
        let response = answered.map_err(|error| {
            self.breakers.missed();
            unreachable("date", &error)
        })?;
        self.breakers.reached();
        self.note_date(&response);
        Ok(date(&response).map(str::to_owned))
    }

    /// The newest date that a response of the platform had, if there was one.
    pub(crate) fn date_seen(&self) -> Option<DateSeen> {
        self.date_seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers the date of a response, every few seconds at most.
    fn note_date(&self, response: &Response) {
        let at = self.clock.uptime();
        let mut seen = self.date_seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.as_ref().is_none_or(|seen| at.saturating_sub(seen.at) >= DATE_KEPT) {
            *seen = date(response).map(|date| DateSeen { date: date.to_owned(), at });
        }
    }

    /// How long one call may take, with this much left of the whole.
    fn left(&self, deadline: Instant) -> Duration {
        self.patience.call.min(deadline.saturating_duration_since(Instant::now()))
    }
}

/// The date of a response.
fn date(response: &Response) -> Option<&str> {
    let date = response.headers().get(reqwest::header::DATE).and_then(|date| date.to_str().ok());
    date.filter(|date| date.len() <= 64)
}

/// Reads a body up to the limit.
async fn read(api: &'static str, mut response: Response) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unreachable(api, &error))? {
        if body.len() + chunk.len() > LARGEST {
            return Err(Garbled::TooLarge.into());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Tells a refusal from an answer. The error number comes first: a refusal may carry an answer's members, too.
fn understand(question: &Question<'_>, body: &[u8]) -> Result<Answer, Error> {
    let api = question.api;
    let read = Answer::read(body).and_then(|answer| Ok((answer.errcode()?, answer)));
    let (errcode, answer) = read.map_err(Error::from).inspect_err(|error| garbled(api, error))?;
    if errcode == 0 {
        return Ok(answer);
    }
    let remark = Remark::new(answer.text("errmsg").unwrap_or_default(), question.secrets());
    let (hint, from_ip) = (remark.hint(), remark.address());
    // A stale code is an everyday thing, the others are worth a look.
    let Meaning { actor, text: [meaning, _] } = meaning(errcode);
    if actor == Actor::Person {
        tracing::info!(api = api.name(), errcode, hint, errmsg = remark.words(), "the platform refused");
    } else {
        tracing::warn!(api = api.name(), errcode, hint, errmsg = remark.words(), meaning, "the platform refused");
    }
    Err(Error::Refused { errcode, hint, from_ip })
}

fn garbled(api: Api, error: &Error) {
    if let Error::Garbled(how) = error {
        tracing::warn!(api = api.name(), %how, "the platform's answer cannot be read");
    }
}

/// Whether this machine has no sockets to spare. Strangers can bring that about by holding many connections, so it must not
/// pass for the platform's fault.
fn is_short() -> bool {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).is_err()
}

/// What became of a call without an answer. The error itself has the address with its secrets, so only its cause is told.
fn unreachable(api: &'static str, error: &reqwest::Error) -> Error {
    let how = match error {
        error if error.is_connect() && is_short() => Unreachable::Shortage,
        error if error.is_connect() => Unreachable::Connect,
        error if error.is_timeout() => Unreachable::TimedOut,
        _ => Unreachable::Broken,
    };
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    let cause = causes.filter(|cause| !cause.is::<reqwest::Error>()).last().map(ToString::to_string);
    tracing::warn!(api, %how, cause, "the platform cannot be reached");
    how.into()
}
