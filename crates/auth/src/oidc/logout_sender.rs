//! Sends logout tokens to clients.
//!
//! The address is that of the registration; no request chooses it. The body of the response is not read.

use std::error::Error as _;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deskpass_core::Timestamp;
use deskpass_core::oidc::is_written_for_logouts;
use deskpass_platform::Pending;
use jiff::fmt::rfc2822;
use reqwest::header::{CONTENT_TYPE, DATE};
use reqwest::{Client, Response, StatusCode};
use tokio::task::JoinSet;

use super::logout_queue::LogoutQueues;

/// How long a client may take to respond.
pub(super) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest description of a failed attempt, in characters.
const MAX_STATUS_CHARS: usize = 160;
/// From how many seconds on the clock of a program is called wrong.
const CLEARLY_WRONG_SECONDS: i64 = 30;
const REFUSED: &str = "refused";
const UNREACHABLE: &str = "unreachable";

/// Sends logout tokens. Deliveries in progress stop when it is dropped; they are repeated later.
#[derive(Debug)]
pub struct LogoutSender {
    pub(super) http: Client,
    pub(super) queues: Arc<LogoutQueues>,
    workers: Mutex<JoinSet<()>>,
}

impl LogoutSender {
    /// Sends with this client, which must not follow redirects.
    #[must_use]
    pub fn new(http: Client) -> Self {
        Self { http, queues: Arc::default(), workers: Mutex::default() }
    }

    /// Starts a worker, and forgets those that have ended.
    pub(super) fn start(&self, worker: impl Future<Output = ()> + Send + 'static) {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        while workers.try_join_next().is_some() {}
        let worker: Pending<'static, ()> = Box::pin(worker);
        workers.spawn(worker);
    }
}

/// Why a program was not told of a logout. It says nothing of what else may be at the address: whoever registers programs reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undelivered {
    /// It answered, and did not accept. If its clock is wrong, by how many seconds it is ahead.
    Refused { clock_ahead: Option<i64> },
    /// There was no answer.
    Unreachable,
}

impl fmt::Display for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { clock_ahead: None } => f.write_str(REFUSED),
            Self::Refused { clock_ahead: Some(seconds) } => {
                let direction = if *seconds > 0 { "ahead" } else { "behind" };
                write!(f, "{REFUSED}; its clock is {} s {direction}", seconds.unsigned_abs())
            }
            Self::Unreachable => f.write_str(UNREACHABLE),
        }
    }
}

/// A stored status as it is shown. Nodes of version 0.2.0 store more than may be shown.
pub(crate) fn shown_status(stored: &str) -> String {
    match stored {
        // Not tried yet.
        "" => String::new(),
        told if told.starts_with(REFUSED) => told.to_owned(),
        detailed if detailed.starts_with("status ") => REFUSED.to_owned(),
        _ => UNREACHABLE.to_owned(),
    }
}

/// Sends a logout token. `now` is the time of this machine.
pub(super) async fn post(http: &Client, address: &str, token: &str, now: Timestamp) -> Result<(), Undelivered> {
    if !is_written_for_logouts(address) {
        return Err(Undelivered::Unreachable);
    }
    let request = http
        .post(address)
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .timeout(ATTEMPT_TIMEOUT)
        // A signed token has no character that a form escapes.
        .body(format!("logout_token={token}"));
    let response = request.send().await.map_err(|error| {
        tracing::debug!(why = describe(&error), "a client was not told of a logout");
        Undelivered::Unreachable
    })?;
    let status = response.status();
    if matches!(status, StatusCode::OK | StatusCode::NO_CONTENT) {
        return Ok(());
    }
    tracing::debug!(status = status.as_u16(), "a client refused a logout");
    Err(Undelivered::Refused { clock_ahead: clock_ahead(&response, now) })
}

/// By how many seconds the clock of a program is ahead, if it is clearly wrong.
fn clock_ahead(response: &Response, now: Timestamp) -> Option<i64> {
    let date = response.headers().get(DATE)?.to_str().ok()?;
    let theirs = rfc2822::parse(date).ok()?.timestamp().as_second();
    let ahead = theirs.saturating_sub(now.millis().div_euclid(1_000));
    (ahead.abs() >= CLEARLY_WRONG_SECONDS).then_some(ahead)
}

/// What went wrong, for the service log, without the address, which may contain a secret of the client.
fn describe(error: &reqwest::Error) -> String {
    let how = match error {
        error if error.is_timeout() => "no response in time",
        error if error.is_connect() => "cannot connect",
        error if error.is_builder() => "the address cannot be used",
        _ => "connection lost",
    };
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    let cause = causes.filter(|cause| !cause.is::<reqwest::Error>()).last();
    let text = cause.map_or_else(|| how.to_owned(), |cause| format!("{how}: {cause}"));
    text.chars().filter(|c| !c.is_control()).take(MAX_STATUS_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_says_nothing_of_the_address() {
        let refused = Undelivered::Refused { clock_ahead: Some(200) }.to_string();
        assert_eq!(refused, "refused; its clock is 200 s ahead");
        assert_eq!(Undelivered::Refused { clock_ahead: Some(-45) }.to_string(), "refused; its clock is 45 s behind");
        assert_eq!(shown_status(&refused), refused);
        assert_eq!(shown_status(&Undelivered::Refused { clock_ahead: None }.to_string()), "refused");
        assert_eq!(shown_status(&Undelivered::Unreachable.to_string()), "unreachable");
        assert_eq!(shown_status(""), "");
        assert_eq!(shown_status("status 404"), "refused");
        assert_eq!(shown_status("cannot connect: Connection refused (os error 111)"), "unreachable");
    }
}
