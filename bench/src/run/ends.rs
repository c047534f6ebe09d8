//! The time until the end of sessions on one node takes effect on another: by a logout, and by an event about a person who left.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deskpass_platform::envelope::Envelope;
use fastrand::Rng;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::Run;
use crate::connection::Connection;
use crate::error::BenchError;
use crate::plan::END_SECONDS;
use crate::progress::grouped;
use crate::report::duration;
use crate::requests::{Requests, WordList, post_xml};
use crate::seed::{self, CORP};
use crate::server::Server;
use crate::stats::{nanoseconds, now, share};

/// What authenticates the events of the platform.
const TOKEN: &str = "eventtoken";
const AES_KEY: &str = "4Ma3YBrSBbX2aez8MJpXGBne5LSDwgGqHbhM9WPYIws";
/// The settings of nodes that get such events.
pub(super) const EVENT_KEYS: [(&str, &str); 2] =
    [("DESKPASS_PLATFORM__EVENTS__TOKEN", TOKEN), ("DESKPASS_PLATFORM__EVENTS__AES_KEY", AES_KEY)];

/// The number of sessions that end at the same time.
const WORKERS: usize = 4;
/// The range of the random delay before an end, in milliseconds. Without it, the periodic work of the nodes would set the
/// pace, and every end would come just after a poll.
const MAX_DELAY_MILLIS: u64 = 250;
/// How long the other node is polled without a pause.
const BUSY_POLL_PERIOD: Duration = Duration::from_millis(5);
/// The pause between two polls after that.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// The time after which the end of a session counts as lost.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// Sessions that end on one node, and how.
pub(super) struct Ending {
    verify: Requests,
    by: EndRequest,
}

enum EndRequest {
    /// Timed from its answer.
    Logout(Requests),
    /// Timed from the moment at which it is sent.
    LeaverEvent(Envelope),
}

impl Ending {
    /// Logouts with these tokens.
    pub(super) fn by_logouts(tokens: &WordList) -> Self {
        let by = EndRequest::Logout(Requests::logout(tokens.clone()));
        Self { verify: Requests::verify(tokens.clone()), by }
    }

    /// Events about the people whose tokens these are: the first token belongs to the first employee.
    pub(super) fn by_leavers(tokens: &WordList) -> Result<Self, BenchError> {
        let by = EndRequest::LeaverEvent(Envelope::new(TOKEN.to_owned(), AES_KEY)?);
        Ok(Self { verify: Requests::verify(tokens.clone()), by })
    }

    /// The request that ends the session with this number, or all sessions of its person.
    fn request(&self, number: usize, rng: &mut Rng) -> Vec<u8> {
        match &self.by {
            EndRequest::Logout(logouts) => {
                let mut request = Vec::new();
                logouts.write(number, &mut request);
                request
            }
            EndRequest::LeaverEvent(envelope) => leaver_event(envelope, &seed::employee(number), rng),
        }
    }
}

/// The event that WeCom sends when a member leaves.
fn leaver_event(envelope: &Envelope, employee: &str, rng: &mut Rng) -> Vec<u8> {
    let seconds = seed::now().millis() / 1_000;
    let text = format!(
        "<xml><ToUserName>{CORP}</ToUserName><FromUserName>{employee}</FromUserName><CreateTime>{seconds}</CreateTime>\
         <MsgType>event</MsgType><Event>unsubscribe</Event></xml>"
    );
    let (timestamp, nonce, random) = (seconds.to_string(), rng.u64(..).to_string(), rng.u128(..));
    let sealed = envelope.seal(&text, CORP, &random.to_be_bytes(), &timestamp, &nonce);
    let query = format!("msg_signature={}&timestamp={timestamp}&nonce={nonce}", sealed.signature);
    let body = format!("<xml><ToUserName>{CORP}</ToUserName><Encrypt>{}</Encrypt></xml>", sealed.encrypted);
    post_xml(&format!("/api/platform/events?{query}"), &body)
}

impl Run<'_> {
    /// Ends sessions on the first node, and times each until the second node rejects the token. `half` is the target of half of them, in
    /// seconds.
    pub(super) async fn ends(
        &mut self,
        name: &str,
        nodes: [&Server; 2],
        ending: &Arc<Ending>,
        numbers: Range<usize>,
        half: Option<f64>,
    ) -> Result<(), BenchError> {
        let count = grouped(numbers.len());
        self.progress.step(format_args!("{name}, {count} times"));
        let workers = (0..WORKERS).map(|lane| {
            let rng = Rng::with_seed(u64::try_from(numbers.start + lane + 1).unwrap_or(1));
            let worker = EndWorker { addresses: nodes.map(|node| node.address), ending: Arc::clone(ending), rng };
            worker.run(numbers.clone().skip(lane).step_by(WORKERS))
        });
        let (mut busy, mut times): (JoinSet<_>, _) = (workers.collect(), Vec::with_capacity(numbers.len()));
        while let Some(done) = busy.join_next().await {
            times.extend(done??);
        }
        times.sort_unstable();
        let [median, p99, most] = [50, 99, 100].map(|percent| share(&times, percent));
        let figure = format!("{}, p99 {}, at most {}", duration(median), duration(p99), duration(most));
        let is_met = most <= END_SECONDS && half.is_none_or(|half| median <= half);
        let target = half.map_or_else(String::new, |half| format!("{:.0} ms, each ≤ ", half * 1e3));
        let target = Some((&*format!("{target}{END_SECONDS} s"), is_met));
        self.report.figure(name, &format!("median of {count}"), &figure, target);
        Ok(())
    }
}

/// A worker that ends sessions one after the other.
struct EndWorker {
    addresses: [SocketAddr; 2],
    ending: Arc<Ending>,
    rng: Rng,
}

impl EndWorker {
    async fn run(mut self, numbers: impl Iterator<Item = usize>) -> Result<Vec<u32>, BenchError> {
        let [here, there] = self.addresses;
        let (mut here, mut there) = (Connection::open(here).await?, Connection::open(there).await?);
        let mut times = Vec::new();
        for number in numbers {
            sleep(Duration::from_millis(self.rng.u64(..MAX_DELAY_MILLIS))).await;
            if !is_valid(&self.ending.verify, number, &mut there).await? {
                return Err("a token was refused before its end".into());
            }
            let request = self.ending.request(number, &mut self.rng);
            let sent = now();
            let answer = here.exchange(&request).await?;
            if !answer.is_ok() {
                return Err(format!("a session was not ended:\n{}", answer.text()).into());
            }
            let since = if matches!(self.ending.by, EndRequest::Logout(_)) { now() } else { sent };
            times.push(nanoseconds(refused_after(&self.ending.verify, number, &mut there, since).await?));
        }
        Ok(times)
    }
}

/// Waits until a node refuses a token; returns how long after `since` that was.
async fn refused_after(
    verify: &Requests,
    token: usize,
    node: &mut Connection,
    since: Instant,
) -> Result<Duration, BenchError> {
    while is_valid(verify, token, node).await? {
        let waited = since.elapsed();
        if waited > END_TIMEOUT {
            return Err(format!("a token is still valid {END_TIMEOUT:?} after its end").into());
        }
        if waited > BUSY_POLL_PERIOD {
            sleep(POLL_INTERVAL).await;
        }
    }
    Ok(since.elapsed())
}

/// Whether a node accepts a token. Any other response is an error.
pub(super) async fn is_valid(verify: &Requests, token: usize, node: &mut Connection) -> Result<bool, BenchError> {
    let mut request = Vec::new();
    if !verify.write(token, &mut request) {
        return Err("there are not so many tokens".into());
    }
    let answer = node.exchange(&request).await?;
    match verify.accepts(answer) {
        false if answer.is_ok() && answer.has(b"\"valid\":false") => Ok(false),
        false => Err(format!("neither valid nor refused:\n{}", answer.text()).into()),
        true => Ok(true),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn no_two_events_are_the_same() {
        let (ending, mut rng) = (Ending::by_leavers(&WordList::one("token")).unwrap(), Rng::with_seed(1));
        let (one, other) = (ending.request(1, &mut rng), ending.request(1, &mut rng));
        assert!(one.starts_with(b"POST /api/platform/events?msg_signature=") && one != other);
    }
}
