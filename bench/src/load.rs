//! The load generator: many connections, each with one request in flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::connection::{Connection, HttpResponse};
use crate::error::BenchError;
use crate::progress::Progress;
use crate::requests::Requests;
use crate::server::{Server, cpu};
use crate::stats::{Cost, Round, nanoseconds, now};

/// The number of concurrent connections.
pub(crate) const CONNECTIONS: usize = 64;

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

    /// Sends requests for the duration of a round, starting over after the last request.
    pub(crate) async fn round(&self, server: &Server, length: Duration) -> Result<Round, BenchError> {
        let connections = connect(server).await?;
        let (before, own, start) = (server.cpu()?, cpu("self")?, now());
        let mut clients = self.clients(connections, Some(start + length));
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
        let mut clients = self.clients(connect(server).await?, None);
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

    fn clients(&self, connections: Vec<Connection>, end: Option<Instant>) -> JoinSet<Result<ClientStats, BenchError>> {
        connections.into_iter().map(|to| client(to, self.clone(), end)).collect()
    }
}

async fn connect(server: &Server) -> Result<Vec<Connection>, BenchError> {
    let mut connections = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        connections.push(Connection::open(server.address).await?);
    }
    Ok(connections)
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
