//! The time until a logout on one node takes effect on another.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::Run;
use crate::connection::Connection;
use crate::error::BenchError;
use crate::plan::LOGOUT_SECONDS;
use crate::progress::grouped;
use crate::report::duration;
use crate::requests::{Requests, WordList};
use crate::server::Server;
use crate::stats::{nanoseconds, now, share};

/// The number of concurrent logouts.
pub(super) const WORKERS: usize = 4;
/// The range of the random delay before a logout, in milliseconds. Without it, the periodic work of the nodes would set the
/// pace, and every logout would come just after a poll.
pub(super) const MAX_DELAY_MILLIS: u64 = 250;
/// How long the other node is polled without a pause.
const BUSY_POLL_PERIOD: Duration = Duration::from_millis(5);
/// The pause between two polls after that.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// The time after which the end of a session counts as lost.
const END_TIMEOUT: Duration = Duration::from_secs(10);

impl Run<'_> {
    /// Times logouts on the first node until the second node rejects the token, with the plan's number of tokens from `start`.
    pub(super) async fn logouts(
        &mut self,
        when: &str,
        nodes: [&Server; 2],
        tokens: &WordList,
        start: usize,
    ) -> Result<(), BenchError> {
        let count = self.plan.logouts;
        self.progress
            .step(format_args!("sign out on one node until the other knows, {when}, {} times", grouped(count)));
        let addresses = nodes.map(|node| node.address);
        let asks = Arc::new(LogoutRequests {
            logout: Requests::logout(tokens.clone()),
            verify: Requests::verify(tokens.clone()),
        });
        let lanes = (0..WORKERS).map(|lane| {
            let mine = (start..start + count).skip(lane).step_by(WORKERS);
            LogoutWorker {
                addresses,
                asks: Arc::clone(&asks),
                rng: Rng::with_seed(u64::try_from(start + lane + 1).unwrap_or(1)),
            }
            .run(mine)
        });
        let (mut busy, mut times): (JoinSet<_>, _) = (lanes.collect(), Vec::with_capacity(count));
        while let Some(lane) = busy.join_next().await {
            times.extend(lane??);
        }
        self.progress.at("logout", times.len(), count);
        times.sort_unstable();
        let [median, p99, most] = [50, 99, 100].map(|percent| share(&times, percent));
        let figure = format!("{}, p99 {}, at most {}", duration(median), duration(p99), duration(most));
        let target = Some((&*format!("{LOGOUT_SECONDS} s"), most <= LOGOUT_SECONDS));
        let name = format!("logout on one node until another refuses, {when}");
        self.report.figure(&name, &format!("median of {}", grouped(count)), &figure, target);
        Ok(())
    }
}

struct LogoutRequests {
    logout: Requests,
    verify: Requests,
}

/// A worker that performs logouts in sequence.
struct LogoutWorker {
    addresses: [SocketAddr; 2],
    asks: Arc<LogoutRequests>,
    rng: Rng,
}

impl LogoutWorker {
    async fn run(mut self, tokens: impl Iterator<Item = usize>) -> Result<Vec<u32>, BenchError> {
        let [here, there] = self.addresses;
        let (mut here, mut there) = (Connection::open(here).await?, Connection::open(there).await?);
        let mut times = Vec::new();
        for token in tokens {
            sleep(Duration::from_millis(self.rng.u64(..MAX_DELAY_MILLIS))).await;
            times.push(nanoseconds(self.logout(token, &mut here, &mut there).await?));
        }
        Ok(times)
    }

    async fn logout(
        &self,
        token: usize,
        here: &mut Connection,
        there: &mut Connection,
    ) -> Result<Duration, BenchError> {
        let LogoutRequests { logout, verify } = &*self.asks;
        if !is_valid(verify, token, there).await? {
            return Err("a token was refused before its logout".into());
        }
        let mut request = Vec::new();
        logout.write(token, &mut request);
        let answer = here.exchange(&request).await?;
        if !logout.accepts(answer) {
            return Err(format!("a logout failed:\n{}", answer.text()).into());
        }
        refused_after(verify, token, there, now()).await
    }
}

/// Waits until a node refuses a token; returns how long after `since` that was.
pub(super) async fn refused_after(
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
