//! Sends logout tokens to clients.
//!
//! The address is that of the registration; no request chooses it. The body of the response is not read.

use std::error::Error as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deskpass_platform::Pending;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, StatusCode};
use tokio::task::JoinSet;

use super::logout_queue::LogoutQueues;

/// How long a client may take to respond.
pub(super) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest description of a failed attempt, in characters.
const MAX_STATUS_CHARS: usize = 160;

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

/// Sends a logout token; the error says what went wrong, for operators.
pub(super) async fn post(http: &Client, address: &str, token: &str) -> Result<(), String> {
    let request = http
        .post(address)
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .timeout(ATTEMPT_TIMEOUT)
        // A signed token has no character that a form escapes.
        .body(format!("logout_token={token}"));
    let status = request.send().await.map_err(|error| describe(&error))?.status();
    if matches!(status, StatusCode::OK | StatusCode::NO_CONTENT) {
        return Ok(());
    }
    Err(format!("status {}", status.as_u16()))
}

/// What went wrong, without the address, which may contain a secret of the client.
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
