//! One request to the service, with the platform's deadline.

use std::time::Duration;

use deskpass_platform::tls_config;
use reqwest::Client;
use reqwest::redirect::Policy;
use tokio::time::Instant;
use url::Url;

/// The longest answer that is read.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// A request.
pub(super) struct Outgoing {
    pub(super) url: Url,
    /// The body; without one, the method is GET.
    pub(super) body: Option<String>,
    pub(super) headers: Vec<(&'static str, String)>,
}

/// An answer.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: String,
}

/// Sends a request; returns also how long it took. An error is that no whole answer came in time.
pub(super) async fn exchange(request: Outgoing, deadline: Duration) -> (Result<Answer, String>, Duration) {
    let began = Instant::now();
    let answer = send(request, deadline).await.map_err(|error| {
        let is_late = error.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_timeout);
        if is_late { format!("no answer within {deadline:?}") } else { format!("no answer: {error}") }
    });
    (answer, began.elapsed())
}

async fn send(
    Outgoing { url, body, headers }: Outgoing,
    deadline: Duration,
) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
    let tls = tls_config(url.scheme() == "https")?;
    let http = Client::builder().tls_backend_preconfigured(tls).redirect(Policy::none()).no_proxy().build()?;
    let request = match body {
        Some(body) => http.post(url).body(body),
        None => http.get(url),
    };
    let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    let mut response = request.timeout(deadline).send().await?;
    let (status, mut body) = (response.status().as_u16(), Vec::new());
    while let Some(part) = response.chunk().await? {
        if body.len() + part.len() > MAX_ANSWER_BYTES {
            return Err("the answer is too large".into());
        }
        body.extend_from_slice(&part);
    }
    Ok(Answer { status, body: String::from_utf8_lossy(&body).into_owned() })
}
