//! The HTTP transport to the platform: single calls with their limits, and a few retries.

use std::error::Error as _;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deskpass_core::Clock;
use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Proxy, Response, StatusCode};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;

use super::api::{Api, ApiCall, ApiPurpose, Verb};
use super::breakers::Breakers;
use super::call_report::CallObserver;
use super::error_message::Secrets;
use super::protocol::{PlatformRefusal, Protocol};
use super::response::ApiResponse;
use super::settings::{ClientSettings, SettingsError, Timeouts};
use super::tls::tls_config;
use crate::{Error, FixableBy, InvalidResponse, Meaning, Refused, Unreachable};

/// The maximum size of a body: most take a few hundred bytes. Where a platform has no pages, a list takes some hundred bytes for
/// each member.
const MAX_BODY_BYTES: usize = 64 * 1024;
const MAX_LIST_BODY_BYTES: usize = 4 * 1024 * 1024;
/// The maximum number of concurrent calls. Platforms refuse several hundred; slow calls must not use up the sockets.
const MAX_CONCURRENT_CALLS: usize = 128;
/// How long an idle connection is kept: shorter than servers keep theirs. Otherwise a call could go to a connection that is
/// just being closed, and the code it carries would be lost.
const IDLE_CONNECTION_TIMEOUT: Duration = Duration::from_secs(15);
/// The number of retries when the platform is busy, and the first pause between them.
const MAX_RETRIES: u32 = 2;
pub(super) const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause that a platform can ask for.
const MAX_ASKED_PAUSE: Duration = Duration::from_mins(10);

/// The interval at which the recorded date of a response is replaced.
const DATE_REFRESH_INTERVAL: Duration = Duration::from_secs(10);

pub(super) struct HttpTransport {
    pub(super) protocol: Arc<dyn Protocol>,
    http: Client,
    api: Url,
    timeouts: Timeouts,
    pub(super) breakers: Breakers,
    /// Receives a report of each call.
    pub(super) observer: CallObserver,
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

/// A response, as it was received.
struct Received {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl HttpTransport {
    /// Creates a transport from the settings. The environment is ignored: only the settings decide where the secret is sent.
    pub(super) fn new(
        protocol: Arc<dyn Protocol>,
        settings: &ClientSettings,
        clock: Clock,
    ) -> Result<Self, SettingsError> {
        let mut called = std::iter::once(&settings.api).chain(&settings.other_apis).chain(&settings.proxy);
        let encrypted = called.any(|url| url.scheme() == "https");
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
        let breakers = Breakers::new(clock.clone(), protocol.is_metered());
        Ok(Self {
            protocol,
            http: http.build().map_err(|_| SettingsError::Client)?,
            api: settings.api.clone(),
            timeouts: settings.timeouts,
            breakers,
            observer: CallObserver::default(),
            permits: Semaphore::new(MAX_CONCURRENT_CALLS),
            clock,
            last_date: Mutex::default(),
        })
    }

    /// The deadline of an operation that begins now.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.timeouts.operation
    }

    /// Makes a call, and retries for a limited time while the platform is busy.
    pub(super) async fn request(&self, call: &ApiCall, deadline: Instant) -> Result<ApiResponse, Error> {
        for repeat in 0..MAX_RETRIES {
            let outcome = self.request_once(call, deadline).await;
            let busy = outcome.as_ref().is_err_and(|error| error.is_refused_as(Meaning::Retry));
            let pause = RETRY_PAUSE * 2_u32.pow(repeat);
            if !busy || call.once || Instant::now() + pause >= deadline {
                return outcome;
            }
            sleep(pause).await;
        }
        self.request_once(call, deadline).await
    }

    async fn request_once(&self, call: &ApiCall, deadline: Instant) -> Result<ApiResponse, Error> {
        let _permit = if call.urgent { None } else { Some(self.permit(deadline).await?) };
        let began = Instant::now();
        // The earlier calls of the operation took too long, which is no failure of this one.
        if began >= deadline {
            return Err(Unreachable::TimedOut.into());
        }
        let admitted = self.breakers.admit(call.api);
        if admitted.is_err() {
            self.observer.report(call.api, &admitted, began.elapsed());
        }
        admitted?;
        let (outcome, asked_pause) = self.exchange(call, deadline).await;
        self.breakers.record(call, &outcome, |refused, repeats| {
            asked_pause.or_else(|| self.protocol.pause(call.api, &refused.code, repeats))
        });
        self.observer.report(call.api, &outcome, began.elapsed());
        outcome
    }

    async fn permit(&self, deadline: Instant) -> Result<tokio::sync::SemaphorePermit<'_>, Unreachable> {
        let permit = timeout_at(deadline, self.permits.acquire()).await.map_err(|_| Unreachable::TimedOut)?;
        permit.map_err(|_| Unreachable::ConnectionLost)
    }

    /// Makes one call and reads the response; also returns the pause that the platform asks for.
    async fn exchange(&self, call: &ApiCall, deadline: Instant) -> (Result<ApiResponse, Error>, Option<Duration>) {
        let received = match self.send(call, deadline).await {
            Ok(received) => received,
            Err(error) => return (Err(error), None),
        };
        match self.read_response(&received) {
            Ok(Ok(response)) => (Ok(response), None),
            Ok(Err(refusal)) => {
                let pause = refusal.retry_after.map(|pause| pause.min(MAX_ASKED_PAUSE));
                (Err(Error::Refused(Box::new(self.refuse(call, refusal)))), pause)
            }
            Err(how) => {
                let error = how.into();
                log_invalid_response(call.api, &error);
                (Err(error), None)
            }
        }
    }

    /// Separates refusals from successes.
    fn read_response(&self, received: &Received) -> Result<Result<ApiResponse, PlatformRefusal>, InvalidResponse> {
        let Received { status, headers, body } = received;
        let refusal = |why| self.protocol.refusal_without_json(*status, body).ok_or(why);
        if !self.protocol.is_answer(*status) {
            return refusal(InvalidResponse::Status(*status)).map(Err);
        }
        let response = match ApiResponse::read(body) {
            Ok(response) => response,
            // A page of a gateway, where the status says more than that it is not JSON.
            Err(_) if *status != 200 => return refusal(InvalidResponse::Status(*status)).map(Err),
            Err(why) => return refusal(why).map(Err),
        };
        let header = |name: &str| headers.get(name)?.to_str().ok().map(str::to_owned);
        Ok(self.protocol.refusal(*status, &header, &response)?.map_or(Ok(response), Err))
    }

    /// Logs a refusal. Any client can bring a bad code, and its refusal has a line of its own; the other errors deserve attention.
    fn refuse(&self, call: &ApiCall, refusal: PlatformRefusal) -> Refused {
        let PlatformRefusal { code, message, hint, from_ip, .. } = refusal;
        let secrets = Secrets::new(&call.secrets);
        let errmsg = secrets.message(&message);
        let hint = hint.and_then(|hint| secrets.hint(hint));
        // A user can choose a code that looks like an error code, so the platform's own words decide about the meaning.
        let (refused_as, explanation) = (self.protocol.meaning(call.api, &code), self.protocol.explain(&code));
        let code = secrets.code(code);
        let (api, errcode, word) = (call.api.name, code.number(), code.as_word());
        if explanation.fixable_by == FixableBy::Person {
            tracing::debug!(api, errcode, code = word, hint, errmsg, "the platform refused");
        } else {
            let [meaning, _] = explanation.text;
            tracing::warn!(api, errcode, code = word, hint, errmsg, meaning, "the platform refused");
        }
        Refused { meaning: refused_as, code, hint, from_ip }
    }

    /// Makes one call.
    async fn send(&self, call: &ApiCall, deadline: Instant) -> Result<Received, Error> {
        let method = match call.verb {
            Verb::Get => Method::GET,
            Verb::Post => Method::POST,
            Verb::Patch => Method::PATCH,
        };
        let mut request = self.http.request(method, call.url.clone());
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        if let Some(body) = &call.body {
            request = request.header(reqwest::header::CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let name = call.api.name;
        let answered = request.timeout(self.remaining(deadline)).send().await;
        let response = answered.map_err(|error| classify_error(name, &error))?;
        self.record_date(&response);
        let status = response.status().as_u16();
        if (300..=399).contains(&status) {
            let error = InvalidResponse::Redirected.into();
            log_invalid_response(call.api, &error);
            return Err(error);
        }
        let headers = response.headers().clone();
        let body = read(call.api, response).await.inspect_err(|error| log_invalid_response(call.api, error))?;
        Ok(Received { status, headers, body })
    }

    /// The `Date` header from the API's address. The call contains no secret and counts against no limit.
    pub(super) async fn date(&self) -> Result<Option<String>, Error> {
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
    pub(super) fn last_date(&self) -> Option<ObservedDate> {
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

/// Reads a body up to the limit. With another status than that of a success, the beginning of a page is sufficient: the status
/// says more than that it is long.
async fn read(api: Api, mut response: Response) -> Result<Vec<u8>, Error> {
    let is_success = response.status() == StatusCode::OK;
    let is_long = is_success && api.purpose == ApiPurpose::List;
    let limit = if is_long { MAX_LIST_BODY_BYTES } else { MAX_BODY_BYTES };
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| classify_error(api.name, &error))? {
        if body.len() + chunk.len() <= limit {
            body.extend_from_slice(&chunk);
        } else if is_success {
            return Err(InvalidResponse::TooLarge.into());
        } else {
            body.extend(chunk.iter().take(limit - body.len()));
            break;
        }
    }
    Ok(body)
}

fn log_invalid_response(api: Api, error: &Error) {
    if let Error::InvalidResponse(how) = error {
        tracing::warn!(api = api.name, %how, "cannot read the platform's response");
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
