//! The HTTP transport to the platform: single calls with their limits, and a few retries.

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

use crate::api::{Api, ApiCall};
use crate::call_report::CallObserver;
use crate::circuit::Breakers;
use crate::errcode::{ErrcodeInfo, FixableBy, explain};
use crate::error_message::ErrorMessage;
use crate::response::ApiResponse;
use crate::tls::tls_config;
use crate::{Error, InvalidResponse, SettingsError, Timeouts, Unreachable, WecomSettings};

/// The maximum size of a body; the platform's bodies are a few hundred bytes.
const MAX_BODY_BYTES: usize = 64 * 1024;
/// The maximum number of concurrent calls. The platform returns 45033 at several hundred; slow calls must not use up the sockets.
const MAX_CONCURRENT_CALLS: usize = 128;
/// How long an idle connection is kept: shorter than servers keep theirs. Otherwise a call could go to a connection that is
/// just being closed, and the code it carries would be lost.
const IDLE_CONNECTION_TIMEOUT: Duration = Duration::from_secs(15);
/// The number of retries when the platform is busy, and the first pause between them.
const MAX_RETRIES: u32 = 2;
pub(crate) const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// The platform is busy (-1), or two writes collided (6000): both are temporary.
pub(crate) const BUSY_ERRCODES: [i64; 2] = [-1, 6000];

/// The interval at which the recorded date of a response is replaced.
const DATE_REFRESH_INTERVAL: Duration = Duration::from_secs(10);

pub(crate) struct HttpTransport {
    http: Client,
    api: Url,
    timeouts: Timeouts,
    pub(crate) breakers: Breakers,
    /// Receives a report of each call.
    pub(crate) observer: CallObserver,
    permits: Semaphore,
    clock: Clock,
    last_date: Mutex<Option<ObservedDate>>,
}

/// The date of a response of the platform.
#[derive(Clone, Debug)]
pub struct ObservedDate {
    /// The date as the platform wrote it.
    pub date: String,
    /// The uptime of this machine when the response arrived.
    pub at: Duration,
}

impl HttpTransport {
    /// Creates a transport from the settings. The environment is ignored: only the settings decide where the secret is sent.
    pub(crate) fn new(settings: &WecomSettings, clock: Clock) -> Result<Self, SettingsError> {
        let encrypted = std::iter::once(&settings.hosts.api).chain(&settings.proxy).any(|url| url.scheme() == "https");
        let mut http = Client::builder()
            .tls_backend_preconfigured(tls_config(encrypted)?)
            .user_agent(concat!("deskpass/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(settings.timeouts.connect)
            .pool_idle_timeout(IDLE_CONNECTION_TIMEOUT)
            .redirect(Policy::none())
            .referer(false)
            .no_proxy();
        if let Some(proxy) = &settings.proxy {
            http = http.proxy(Proxy::all(proxy.clone()).map_err(|_| SettingsError::Proxy)?);
        }
        Ok(Self {
            http: http.build().map_err(|_| SettingsError::Client)?,
            api: settings.hosts.api.clone(),
            timeouts: settings.timeouts,
            breakers: Breakers::new(clock.clone()),
            observer: CallObserver::default(),
            permits: Semaphore::new(MAX_CONCURRENT_CALLS),
            clock,
            last_date: Mutex::default(),
        })
    }

    /// The deadline of an operation that begins now.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.timeouts.operation
    }

    /// Makes a call, and retries for a limited time while the platform is busy.
    pub(crate) async fn request(&self, call: &ApiCall<'_>, deadline: Instant) -> Result<ApiResponse, Error> {
        for repeat in 0..MAX_RETRIES {
            let outcome = self.request_once(call, deadline).await;
            let busy = matches!(&outcome, Err(Error::Refused { errcode, .. }) if BUSY_ERRCODES.contains(errcode));
            let pause = RETRY_PAUSE * 2_u32.pow(repeat);
            if !busy || Instant::now() + pause >= deadline {
                return outcome;
            }
            sleep(pause).await;
        }
        self.request_once(call, deadline).await
    }

    async fn request_once(&self, call: &ApiCall<'_>, deadline: Instant) -> Result<ApiResponse, Error> {
        let _permit = if call.urgent { None } else { Some(self.permit(deadline).await?) };
        let began = Instant::now();
        let admitted = self.breakers.admit(call.api);
        if admitted.is_err() {
            self.observer.report(call.api, &admitted, began.elapsed());
        }
        admitted?;
        let outcome = self.send(call, deadline).await.and_then(|body| parse_response(call, &body));
        self.breakers.record(call.api, &outcome);
        self.observer.report(call.api, &outcome, began.elapsed());
        outcome
    }

    async fn permit(&self, deadline: Instant) -> Result<tokio::sync::SemaphorePermit<'_>, Unreachable> {
        let permit = timeout_at(deadline, self.permits.acquire()).await.map_err(|_| Unreachable::TimedOut)?;
        permit.map_err(|_| Unreachable::ConnectionLost)
    }

    /// Makes one call and returns the body of a response with status 200.
    async fn send(&self, call: &ApiCall<'_>, deadline: Instant) -> Result<Vec<u8>, Error> {
        let mut url = self.api.clone();
        url.set_path(&format!("{}/cgi-bin/{}", self.api.path().trim_end_matches('/'), call.api.name()));
        url.query_pairs_mut().extend_pairs(&call.query);
        let mut request = self.http.request(if call.body.is_some() { Method::POST } else { Method::GET }, url);
        if let Some(body) = &call.body {
            request = request.header(reqwest::header::CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let name = call.api.name();
        let answered = request.timeout(self.remaining(deadline)).send().await;
        let response = answered.map_err(|error| classify_error(name, &error))?;
        self.record_date(&response);
        let body = match response.status().as_u16() {
            200 => read(name, response).await,
            300..=399 => Err(InvalidResponse::Redirected.into()),
            status => Err(InvalidResponse::Status(status).into()),
        };
        body.inspect_err(|error| log_invalid_response(call.api, error))
    }

    /// The `Date` header from the API's address. The call contains no secret and counts against no limit.
    pub(crate) async fn date(&self) -> Result<Option<String>, Error> {
        let deadline = self.deadline();
        let _permit = self.permit(deadline).await?;
        let answered = self.http.get(self.api.clone()).timeout(self.remaining(deadline)).send().await;
        let response = answered.map_err(|error| classify_error("date", &error)).inspect_err(|error| {
            // Without a local socket no call was made.
            if !matches!(error, Error::Unreachable(Unreachable::NoLocalSockets)) {
                self.breakers.failed();
            }
        })?;
        self.breakers.reached();
        self.record_date(&response);
        Ok(date(&response).map(str::to_owned))
    }

    /// The newest date in a response of the platform, if there was one.
    pub(crate) fn last_date(&self) -> Option<ObservedDate> {
        self.last_date.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records the date of a response, at most every few seconds.
    fn record_date(&self, response: &Response) {
        let at = self.clock.uptime();
        let mut seen = self.last_date.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.as_ref().is_none_or(|seen| at.saturating_sub(seen.at) >= DATE_REFRESH_INTERVAL) {
            *seen = date(response).map(|date| ObservedDate { date: date.to_owned(), at });
        }
    }

    /// The timeout of one call, given the deadline of the operation.
    fn remaining(&self, deadline: Instant) -> Duration {
        self.timeouts.call.min(deadline.saturating_duration_since(Instant::now()))
    }
}

fn date(response: &Response) -> Option<&str> {
    let date = response.headers().get(reqwest::header::DATE).and_then(|date| date.to_str().ok());
    date.filter(|date| date.len() <= 64)
}

/// Reads a body up to the limit.
async fn read(api: &'static str, mut response: Response) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| classify_error(api, &error))? {
        if body.len() + chunk.len() > MAX_BODY_BYTES {
            return Err(InvalidResponse::TooLarge.into());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Separates refusals from successes. The error code is checked first: a refusal may contain the fields of a success.
fn parse_response(call: &ApiCall<'_>, body: &[u8]) -> Result<ApiResponse, Error> {
    let api = call.api;
    let read = ApiResponse::read(body).and_then(|response| Ok((response.errcode()?, response)));
    let (errcode, response) = read.map_err(Error::from).inspect_err(|error| log_invalid_response(api, error))?;
    if errcode == 0 {
        return Ok(response);
    }
    let message = ErrorMessage::new(response.text("errmsg").unwrap_or_default(), call.secrets());
    let (hint, from_ip) = (message.hint(), message.address());
    // Any client can bring a bad code, and its refusal has a line of its own; the other errors deserve attention.
    let ErrcodeInfo { fixable_by, text: [meaning, _] } = explain(errcode);
    if fixable_by == FixableBy::Person {
        tracing::debug!(api = api.name(), errcode, hint, errmsg = message.0, "the platform refused");
    } else {
        tracing::warn!(api = api.name(), errcode, hint, errmsg = message.0, meaning, "the platform refused");
    }
    Err(Error::Refused { errcode, hint, from_ip })
}

fn log_invalid_response(api: Api, error: &Error) {
    if let Error::InvalidResponse(how) = error {
        tracing::warn!(api = api.name(), %how, "cannot read the platform's response");
    }
}

/// Whether this machine has no free sockets. Strangers can cause that, so it must not count as a failure of the platform.
fn is_out_of_sockets() -> bool {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).is_err()
}

/// Classifies a call without a response. The error itself contains the URL with its secrets, so only its cause is logged.
fn classify_error(api: &'static str, error: &reqwest::Error) -> Error {
    let how = match error {
        error if error.is_connect() && is_out_of_sockets() => Unreachable::NoLocalSockets,
        error if error.is_connect() => Unreachable::Connect,
        error if error.is_timeout() => Unreachable::TimedOut,
        _ => Unreachable::ConnectionLost,
    };
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    let cause = causes.filter(|cause| !cause.is::<reqwest::Error>()).last().map(ToString::to_string);
    tracing::warn!(api, %how, cause, "cannot reach the platform");
    how.into()
}
