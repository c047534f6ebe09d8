//! The load generator: many connections, each with one request in flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until};

use crate::connection::{Connection, HttpResponse};
use crate::error::BenchError;
use crate::progress::Progress;
use crate::requests::Requests;
use crate::server::{Server, cpu};
use crate::stats::{Cost, Round, nanoseconds, now};

/// The number of concurrent connections.
pub(crate) const CONNECTIONS: usize = 64;

/// The rate of a paced round, for all servers together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Requests per second.
    pub(crate) rate: u32,
    pub(crate) connections: usize,
}

/// An ordered list of requests and the current position. Clones share the position.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    requests: Arc<Requests>,
    used: Arc<AtomicUsize>,
}

/// The results of one connection.
#[derive(Debug, Default)]
struct ClientStats {
    latencies: Vec<u32>,
    failures: usize,
    /// The first unexpected response.
    example: Option<String>,
}

impl Load {
    pub(crate) fn new(requests: Arc<Requests>) -> Self {
        Self { requests, used: Arc::default() }
    }

    /// Sends requests for the duration of a round, starting over after the last request. Several servers share the connections
    /// and count as one.
    pub(crate) async fn round(&self, servers: &[&Server], length: Duration) -> Result<Round, BenchError> {
        round_of(connect(servers, CONNECTIONS).await?, servers, length, |to, _, end| {
            client(to, self.clone(), Some(end))
        })
        .await
    }

    /// The same at a rate that must be lower than the servers can answer.
    pub(crate) async fn paced_round(
        &self,
        servers: &[&Server],
        pace: Pace,
        length: Duration,
    ) -> Result<Round, BenchError> {
        // The connections take turns, so that the requests are spread over time.
        let turn = Duration::from_secs(1) / pace.rate;
        let pause = turn * u32::try_from(pace.connections)?;
        let paced = |to, place: u32, end| paced_client(to, self.clone(), (turn * place, pause), end);
        round_of(connect(servers, pace.connections).await?, servers, length, paced).await
    }

    /// Sends every request once, as a round: for requests that cannot be repeated.
    pub(crate) async fn once(&self, server: &Server) -> Result<Round, BenchError> {
        let connections = connect(&[server], CONNECTIONS).await?;
        let (before, own, start) = (server.cpu()?, cpu("self")?, now());
        let mut clients: JoinSet<_> = connections.into_iter().map(|to| client(to, self.clone(), None)).collect();
        let mut all = ClientStats::default();
        while let Some(tally) = clients.join_next().await {
            all.add(tally??);
        }
        let (elapsed, spent) = (start.elapsed(), server.cpu()?.saturating_sub(before));
        let cost = Cost { elapsed, cpu: spent, own: cpu("self")?.saturating_sub(own) };
        Ok(Round::of(all.latencies.len(), cost, all.checked()?))
    }

    /// Sends every request once.
    pub(crate) async fn all(&self, server: &Server, what: &str, progress: &Progress) -> Result<(), BenchError> {
        let connections = connect(&[server], CONNECTIONS).await?;
        let mut clients: JoinSet<_> = connections.into_iter().map(|to| client(to, self.clone(), None)).collect();
        let mut all = ClientStats::default();
        let of = self.requests.len();
        loop {
            tokio::select! {
                tally = clients.join_next() => match tally {
                    Some(tally) => all.add(tally??),
                    None => break,
                },
                () = sleep(Duration::from_secs(2)) => progress.at(what, self.used.load(Ordering::Relaxed).min(of), of),
            }
        }
        progress.at(what, all.checked()?.len(), of);
        Ok(())
    }
}

/// A round of clients, each of which gets a connection, its place among them, and the end of the round.
async fn round_of<C: Future<Output = Result<ClientStats, BenchError>> + Send + 'static>(
    connections: Vec<Connection>,
    servers: &[&Server],
    length: Duration,
    start_client: impl Fn(Connection, u32, Instant) -> C,
) -> Result<Round, BenchError> {
    let (before, own, start) = (used_by(servers)?, cpu("self")?, now());
    let clients = connections.into_iter().zip(0..).map(|(to, place)| start_client(to, place, start + length));
    let (mut clients, mut all): (JoinSet<_>, _) = (clients.collect(), ClientStats::default());
    while let Some(tally) = clients.join_next().await {
        all.add(tally??);
    }
    let (elapsed, spent) = (start.elapsed(), used_by(servers)?.saturating_sub(before));
    let cost = Cost { elapsed, cpu: spent, own: cpu("self")?.saturating_sub(own) };
    Ok(Round::of(all.latencies.len(), cost, all.checked()?))
}

/// Opens this number of connections, spread over the servers.
async fn connect(servers: &[&Server], count: usize) -> Result<Vec<Connection>, BenchError> {
    let mut connections = Vec::with_capacity(count);
    for server in servers.iter().cycle().take(count) {
        connections.push(Connection::open(server.address).await?);
    }
    Ok(connections)
}

/// The total CPU time that these servers have used so far.
fn used_by(servers: &[&Server]) -> Result<Duration, BenchError> {
    servers.iter().map(|server| server.cpu()).sum()
}

/// Sends requests until `end`, or if there is no end, until every request has been sent.
async fn client(mut connection: Connection, load: Load, end: Option<Instant>) -> Result<ClientStats, BenchError> {
    let (mut request, mut tally) = (Vec::with_capacity(1024), ClientStats::default());
    // Reads the clock once per request: the end of a request is the start of the next.
    let mut last = now();
    while end.is_none_or(|end| last < end) {
        let mut at = load.used.fetch_add(1, Ordering::Relaxed);
        if end.is_some() {
            at %= load.requests.len().max(1);
        }
        if !load.requests.write(at, &mut request) {
            break;
        }
        let answer = connection.exchange(&request).await?;
        let done = now();
        tally.count(&load, answer, done - last);
        last = done;
    }
    Ok(tally)
}

/// Sends a request after `first`, and then one every `pause` until `end`; a late one delays no later one.
async fn paced_client(
    mut connection: Connection,
    load: Load,
    (first, pause): (Duration, Duration),
    end: Instant,
) -> Result<ClientStats, BenchError> {
    let (mut request, mut tally) = (Vec::with_capacity(1024), ClientStats::default());
    let mut due = now() + first;
    while due < end {
        sleep_until(due.into()).await;
        load.requests.write(load.used.fetch_add(1, Ordering::Relaxed) % load.requests.len().max(1), &mut request);
        let sent = now();
        let answer = connection.exchange(&request).await?;
        tally.count(&load, answer, sent.elapsed());
        due += pause;
    }
    Ok(tally)
}

impl ClientStats {
    /// Counts a response.
    fn count(&mut self, load: &Load, answer: HttpResponse<'_>, elapsed: Duration) {
        if !load.requests.accepts(answer) {
            self.failures += 1;
            self.example.get_or_insert_with(|| answer.text());
        }
        self.latencies.push(nanoseconds(elapsed));
    }

    fn add(&mut self, other: Self) {
        self.latencies.extend(other.latencies);
        self.failures += other.failures;
        self.example = self.example.take().or(other.example);
    }

    /// The latencies, or an error if a request failed: a server that fails fast must not look fast.
    fn checked(self) -> Result<Vec<u32>, BenchError> {
        match (self.failures, self.example) {
            (0, _) => Ok(self.latencies),
            (failures, example) => {
                let (of, example) = (self.latencies.len(), example.unwrap_or_default());
                Err(format!("{failures} of {of} requests failed; one was answered with:\n{example}").into())
            }
        }
    }
}
