//! The help desk's back end, which receives what employees reply to messages, and whether callers were verified.
//!
//! Its address is the operator's; no request chooses it. Redirects are not followed, the body of a response is not read, and the
//! proxy variables of the environment are ignored.

mod hexadecimal;
mod verification;

use std::error::Error as _;
use std::time::Duration;

use deskpass_auth::{ActiveUser, Error};
use deskpass_core::{Digest, Entropy, MessageId, NoEntropy, Timestamp, TraceParent};
use deskpass_platform::{SettingsError, Url, tls_config};
use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::Client;
use reqwest::header::CONTENT_TYPE;
use reqwest::redirect::Policy;
use serde::Serialize;
use serde_json::Value;
use sha2::Sha256;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use super::App;
use super::resolver::Resolver;
use crate::config::Messages;
use crate::timestamp::Rfc3339;

use hexadecimal::hexadecimal;
pub(crate) use verification::{AnsweredVerification, verification_id};

/// The maximum number of attempts to deliver a reply.
const MAX_ATTEMPTS: u32 = 3;
/// The timeout of one attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);
/// The timeout of all attempts, including the pauses: an employee waits for the outcome.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause after the first attempt; it grows with each.
const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// The maximum number of concurrent deliveries. A slow back end must not use up the sockets.
const MAX_CONCURRENT_DELIVERIES: usize = 64;
/// The same for answers about callers, which replies of employees must not hold up.
const MAX_CONCURRENT_VERIFICATIONS: usize = 32;

/// The back end.
#[derive(Debug)]
pub(crate) struct ReplyBackend {
    http: Client,
    url: Url,
    /// Signs requests; it holds the secret.
    mac: Hmac<Sha256>,
    permits: Semaphore,
    verification_permits: Semaphore,
}

/// The content of a reply.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReplyContent {
    /// An option of the message, as it was in the message.
    Option(Value),
    /// A text of the employee.
    Text(String),
}

/// Why a reply was not delivered.
#[derive(Debug)]
pub(crate) enum ReplyError {
    /// No back end is configured.
    Off,
    /// Too many replies are being delivered.
    TooMany,
    /// The session has ended, or could not be checked.
    Session(Error),
    /// The back end did not respond, for this reason.
    Unreachable(String),
    /// The back end did not accept the reply, with this status.
    Refused(u16),
}

/// A reply on its way: the same in each attempt, except for the time of the signature.
struct ReplyDelivery {
    id: String,
    body: String,
    /// The trace of the employee's request, passed on to the back end.
    trace: Option<TraceParent>,
}

/// The body of a request to the back end.
#[derive(Serialize)]
struct Payload<'a> {
    id: &'a str,
    message_id: String,
    #[serde(flatten)]
    content: &'a ReplyContent,
    employee: PayloadEmployee<'a>,
    role: &'static str,
    at: Rfc3339,
}

#[derive(Serialize)]
struct PayloadEmployee<'a> {
    corp_id: &'a str,
    employee_id: &'a str,
    name: &'a str,
}

impl App {
    /// Delivers a reply of an employee, and returns the id of the delivery once the back end has accepted it. The back end gets
    /// the caller's `trace`.
    pub(crate) async fn send_reply(
        &self,
        caller: &ActiveUser,
        message: MessageId,
        content: &ReplyContent,
        trace: Option<TraceParent>,
    ) -> Result<String, ReplyError> {
        let backend = self.reply_backend.as_ref().ok_or(ReplyError::Off)?;
        let sent = match backend.permits.try_acquire() {
            Ok(_permit) => self.deliver(backend, caller, message, content, trace).await,
            Err(_) => Err(ReplyError::TooMany),
        };
        self.metrics.count_reply(sent.as_ref().err().map_or("delivered", ReplyError::outcome));
        sent
    }

    async fn deliver(
        &self,
        backend: &ReplyBackend,
        caller: &ActiveUser,
        message: MessageId,
        content: &ReplyContent,
        trace: Option<TraceParent>,
    ) -> Result<String, ReplyError> {
        let deadline = Instant::now() + DELIVERY_TIMEOUT;
        // The body of the request may have arrived long after its head, and a session may end between two attempts.
        let caller = self.auth.reauthenticate(caller).await?;
        let delivery = ReplyDelivery::new(&caller, message, content, self.auth.clock.now(), self.auth.entropy)?;
        let delivery = ReplyDelivery { trace, ..delivery };
        let mut attempt = 1;
        while let Err(error) = backend.post(&delivery, self.auth.clock.now(), deadline).await {
            error.wait_to_retry(attempt, deadline).await?;
            attempt += 1;
            self.auth.reauthenticate(&caller).await?;
        }
        tracing::info!(employee = %caller.0.session().employee, delivery = delivery.id, attempt, "reply delivered");
        Ok(delivery.id)
    }
}

impl ReplyBackend {
    /// The back end that the settings describe, if there is one.
    pub(crate) fn open(settings: &Messages) -> Result<Option<Self>, SettingsError> {
        let (Some(url), Some(secret)) = (&settings.reply_url, &settings.reply_secret) else { return Ok(None) };
        let url = Url::parse(url).map_err(|_| SettingsError::Address("reply_url"))?;
        let http = Client::builder()
            .tls_backend_preconfigured(tls_config(url.scheme() == "https")?)
            .user_agent(concat!("deskpass/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .referer(false)
            .no_proxy()
            .dns_resolver(Resolver::for_operator().map_err(|_| SettingsError::Client)?)
            .build()
            .map_err(|_| SettingsError::Client)?;
        let mac = Hmac::new_from_slice(secret.expose().as_bytes()).map_err(|_| SettingsError::Client)?;
        let permits = Semaphore::new(MAX_CONCURRENT_DELIVERIES);
        let verification_permits = Semaphore::new(MAX_CONCURRENT_VERIFICATIONS);
        Ok(Some(Self { http, url, mac, permits, verification_permits }))
    }

    /// Makes one attempt. Any status of success means that the back end has accepted the reply.
    async fn post(&self, delivery: &ReplyDelivery, now: Timestamp, deadline: Instant) -> Result<(), ReplyError> {
        let seconds = now.millis().div_euclid(1_000).to_string();
        let mut request = self
            .http
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("X-Deskpass-Delivery", &delivery.id)
            .header("X-Deskpass-Timestamp", &seconds)
            .header("X-Deskpass-Signature", format!("v1={}", self.signature(&seconds, &delivery.body)))
            .timeout(ATTEMPT_TIMEOUT.min(deadline.saturating_duration_since(Instant::now())))
            .body(delivery.body.clone());
        if let Some(trace) = &delivery.trace {
            request = request.header("traceparent", trace.as_str());
        }
        let response = request.send().await.map_err(|error| unreachable(&error))?;
        if response.status().is_success() { Ok(()) } else { Err(ReplyError::Refused(response.status().as_u16())) }
    }

    /// Covers the time as well as the body, so that an old request is not taken for a new one.
    fn signature(&self, seconds: &str, body: &str) -> String {
        let signed = self.mac.clone().chain_update(seconds).chain_update(".").chain_update(body);
        hexadecimal(&signed.finalize().into_bytes())
    }

    /// Whether the back end responds, with any status but a redirect, which would be final. Sends no reply.
    pub(crate) async fn reach(&self) -> Result<(), ReplyError> {
        let response = self.http.head(self.url.clone()).timeout(ATTEMPT_TIMEOUT).send().await;
        let status = response.map_err(|error| unreachable(&error))?.status();
        if status.is_redirection() { Err(ReplyError::Refused(status.as_u16())) } else { Ok(()) }
    }
}

impl ReplyDelivery {
    /// A delivery has a random id. The same option of the same message has the same id, however often the employee presses it.
    fn new(
        ActiveUser(holder): &ActiveUser,
        message: MessageId,
        content: &ReplyContent,
        at: Timestamp,
        entropy: Entropy,
    ) -> Result<Self, ReplyError> {
        let (session, person) = (holder.session(), holder.person());
        let message_id = message.to_string();
        let id = match content {
            ReplyContent::Option(option) => {
                let (employee, option) = (session.employee.to_string(), option.to_string());
                let parts = ["deskpass reply", &employee, &message_id, &option].map(str::as_bytes);
                hexadecimal(Digest::of(&parts).bytes().iter().take(16))
            }
            ReplyContent::Text(_) => hexadecimal(&entropy.bytes::<16>()?),
        };
        let (corp_id, employee_id, name) = (session.employee.corp(), person.employee_id(), person.name());
        let employee = PayloadEmployee { corp_id, employee_id, name };
        let role = session.current_role.name();
        let payload = Payload { id: &id, message_id, content, employee, role, at: Rfc3339(at) };
        // Every member is a text or JSON already, so it can be written.
        let body = serde_json::to_string(&payload).unwrap_or_default();
        Ok(Self { id, body, trace: None })
    }
}

impl ReplyError {
    /// Whether another attempt may succeed.
    fn is_temporary(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Refused(429 | 500..))
    }

    /// Waits after a failed attempt until the next one may be made. Fails if none is to be made: because it would fail as well, or
    /// would come too late.
    async fn wait_to_retry(self, attempt: u32, deadline: Instant) -> Result<(), Self> {
        let pause = RETRY_PAUSE * attempt;
        if attempt >= MAX_ATTEMPTS || !self.is_temporary() || Instant::now() + pause >= deadline {
            return Err(self);
        }
        sleep(pause).await;
        Ok(())
    }

    /// The outcome as metrics name it.
    fn outcome(&self) -> &'static str {
        match self {
            Self::Off | Self::Session(_) => "not_allowed",
            Self::TooMany => "too_many",
            Self::Unreachable(_) => "unreachable",
            Self::Refused(_) => "refused",
        }
    }
}

impl From<Error> for ReplyError {
    fn from(error: Error) -> Self {
        Self::Session(error)
    }
}

impl From<NoEntropy> for ReplyError {
    fn from(error: NoEntropy) -> Self {
        Self::Session(error.into())
    }
}

/// The cause of a missing response, without the address, which may contain a secret of the back end.
fn unreachable(error: &reqwest::Error) -> ReplyError {
    let how = match error {
        error if error.is_timeout() => "no response in time",
        error if error.is_connect() => "cannot connect",
        _ => "connection lost",
    };
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    let cause = causes.filter(|cause| !cause.is::<reqwest::Error>()).last();
    ReplyError::Unreachable(cause.map_or_else(|| how.to_owned(), |cause| format!("{how}: {cause}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let again = |status| ReplyError::Refused(status).is_temporary();
        assert!([429, 500, 503, 599].into_iter().all(again) && ReplyError::Unreachable(String::new()).is_temporary());
        assert!(![301, 400, 401, 404, 409, 413].into_iter().any(again) && !ReplyError::Off.is_temporary());
    }

    #[tokio::test]
    async fn no_attempt_is_made_in_vain_after_the_last_or_after_the_deadline() {
        let (soon, later) = (Instant::now() + RETRY_PAUSE / 2, Instant::now() + DELIVERY_TIMEOUT);
        for (status, attempt, deadline) in [(404, 1, later), (503, MAX_ATTEMPTS, later), (503, 1, soon)] {
            let waited = ReplyError::Refused(status).wait_to_retry(attempt, deadline).await;
            assert!(matches!(waited, Err(ReplyError::Refused(given_up)) if given_up == status), "{waited:?}");
        }
        assert!(ReplyError::Refused(503).wait_to_retry(0, later).await.is_ok());
    }
}
