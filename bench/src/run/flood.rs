//! The effect of many concurrent password attempts on other requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::{DRAWS, Run, template};
use crate::connection::Connection;
use crate::error::BenchError;
use crate::plan::{FLOOD_BYTES, FLOOD_RATIO};
use crate::progress::grouped;
use crate::report::duration;
use crate::requests::{Requests, WordList};
use crate::seed::employees;
use crate::server::{Server, cpu};
use crate::stats::{float, median, nanoseconds, now, share};

/// The number of clients that try passwords concurrently.
const LOGIN_CLIENTS: usize = 500;
/// The period over which the first attempts are spread: otherwise all clients would send at the same moment, and the
/// generator would be the bottleneck.
const START_PERIOD: Duration = Duration::from_secs(1);
/// The connections that verify a token meanwhile, and their rate: low enough that the generator is not the bottleneck.
const VERIFY_CLIENTS: usize = 2;
const VERIFY_INTERVAL: Duration = Duration::from_millis(4);
/// The interval at which the memory is sampled.
const MEMORY_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The user of the token.
const VERIFY_USER: &str = "user01";

/// The requests, shared by all clients.
#[derive(Clone)]
struct FloodRequests {
    address: SocketAddr,
    verify: Arc<Requests>,
    login: Arc<Requests>,
    /// The number of names tried.
    tried: Arc<AtomicUsize>,
}

/// The latencies of verify, in seconds.
#[derive(Clone, Copy)]
struct Latencies {
    p50: f64,
    p99: f64,
}

/// The outcomes of the password attempts.
#[derive(Clone, Copy, Default)]
struct LoginAttempts {
    checked: usize,
    rejected: usize,
}

/// The results of the rounds.
struct FloodResults {
    calm: Vec<Latencies>,
    busy: Vec<Latencies>,
    tries: LoginAttempts,
    /// The share of a core that the benchmark used in each busy round.
    own: Vec<f64>,
    before: usize,
    most: usize,
}

impl Run<'_> {
    pub(super) async fn flood(&mut self) -> Result<(), BenchError> {
        let (rounds, length) = (self.plan.floods, self.plan.flood);
        self.progress.step(format_args!(
            "verify while {LOGIN_CLIENTS} try passwords and come back at once (beside it: the same, idle)"
        ));
        let server = Server::deskpass(&self.workspace, &self.workspace.path().join("flood"))?;
        let asks = FloodRequests::new(&server).await?;
        let (calm, busy, own) = (Vec::new(), Vec::new(), Vec::new());
        let mut flood = FloodResults { calm, busy, own, tries: LoginAttempts::default(), before: 0, most: 0 };
        for round in 0..=rounds {
            let calm = asks.call(now() + length).await?;
            if round == 0 {
                flood.before = server.resident()?;
            }
            let busy = flood.busy(&server, &asks, length).await?;
            // The first round is a warm-up; its memory counts.
            if round > 0 {
                flood.calm.push(calm);
                flood.busy.push(busy);
                self.progress.at("round", round, rounds);
            }
        }
        self.report_flood(&flood);
        server.stop()
    }

    fn report_flood(&mut self, flood: &FloodResults) {
        let middle = |times: &[Latencies], figure: fn(&Latencies) -> f64| median(times.iter().map(figure));
        let (calm, busy) = (middle(&flood.calm, |times| times.p99), middle(&flood.busy, |times| times.p99));
        let halves = [&flood.busy, &flood.calm].map(|times| duration(middle(times, |times| times.p50)));
        let (ratio, own) = (busy / calm, median(flood.own.iter().copied()) * 100.0);
        let name = format!("verify's p99 while {LOGIN_CLIENTS} try passwords and come back at once");
        let seen = format!("{}; p50 {}; generator {own:.0} %", duration(busy), halves[0]);
        let figure = format!("{ratio:.2} times the idle one ({}; p50 {})", duration(calm), halves[1]);
        let target = Some((&*format!("{FLOOD_RATIO} times"), ratio <= FLOOD_RATIO));
        self.report.figure(&name, &seen, &figure, target);

        let (grown, before) = (flood.most.saturating_sub(flood.before), flood.before >> 20);
        let target = Some((&*format!("{} MiB", FLOOD_BYTES >> 20), grown <= FLOOD_BYTES));
        let name = format!("memory that {LOGIN_CLIENTS} who try passwords take");
        self.report.figure(&name, &format!("at most, beside {before} MiB"), &format!("{} MiB", grown >> 20), target);

        let LoginAttempts { checked, rejected } = flood.tries;
        let all = checked + rejected;
        let seen = format!("{} of {} attempts; {} checked", grouped(rejected), grouped(all), grouped(checked));
        let figure = format!("{:.1} %", float(rejected) * 100.0 / float(all.max(1)));
        self.report.figure("passwords rejected unchecked (1006)", &seen, &figure, None);
    }
}

impl FloodResults {
    /// A round with all clients active.
    async fn busy(&mut self, server: &Server, asks: &FloodRequests, length: Duration) -> Result<Latencies, BenchError> {
        let mut crowd = Vec::with_capacity(LOGIN_CLIENTS);
        for _ in 0..LOGIN_CLIENTS {
            crowd.push(Connection::open(asks.address).await?);
        }
        let (own, end) = (cpu("self")?, now() + length);
        let mut crowd: JoinSet<_> =
            crowd.into_iter().enumerate().map(|(at, client)| asks.clone().try_passwords(client, at, end)).collect();
        let (times, most) = tokio::join!(asks.call(end), watch(server, end));
        self.own.push(cpu("self")?.saturating_sub(own).as_secs_f64() / length.as_secs_f64());
        self.most = self.most.max(most?);
        while let Some(tries) = crowd.join_next().await {
            self.tries.add(tries??);
        }
        times
    }
}

/// The peak memory of the server until `end`.
async fn watch(server: &Server, end: Instant) -> Result<usize, BenchError> {
    let mut most = 0;
    while now() < end {
        most = server.resident()?.max(most);
        sleep(MEMORY_POLL_INTERVAL).await;
    }
    Ok(most)
}

impl FloodRequests {
    async fn new(server: &Server) -> Result<Self, BenchError> {
        let mut connection = Connection::open(server.address).await?;
        let (bind, mut request) = (Requests::bind(WordList::one(VERIFY_USER)), Vec::new());
        bind.write(0, &mut request);
        let answer: serde_json::Value = serde_json::from_slice(connection.exchange(&request).await?.body())?;
        let token = answer.pointer("/data/token").and_then(serde_json::Value::as_str).ok_or("no token")?;
        let (verify, login) = (Requests::verify(WordList::one(token)), Requests::login(employees(DRAWS)));
        template(server, &verify).await?;
        Ok(Self { address: server.address, verify: verify.into(), login: login.into(), tried: Arc::default() })
    }

    /// Verifies a token at a steady rate until `end`, on a thread of its own: a response must not wait for its turn
    /// among those to the other clients.
    async fn call(&self, end: Instant) -> Result<Latencies, BenchError> {
        let asks = self.clone();
        let measured = spawn_blocking(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(asks.measure(end))
        });
        measured.await?
    }

    async fn measure(self, end: Instant) -> Result<Latencies, BenchError> {
        let mut callers: JoinSet<_> = (0..VERIFY_CLIENTS).map(|_| self.clone().verify_at_interval(end)).collect();
        let mut all = Vec::new();
        while let Some(times) = callers.join_next().await {
            all.extend(times??);
        }
        all.sort_unstable();
        Ok(Latencies { p50: share(&all, 50), p99: share(&all, 99) })
    }

    async fn verify_at_interval(self, end: Instant) -> Result<Vec<u32>, BenchError> {
        let (mut client, mut request, mut times) = (Connection::open(self.address).await?, Vec::new(), Vec::new());
        self.verify.write(0, &mut request);
        let mut beat = interval(VERIFY_INTERVAL);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while now() < end {
            beat.tick().await;
            let asked = now();
            let answer = client.exchange(&request).await?;
            if !self.verify.accepts(answer) {
                return Err(format!("a token was refused:\n{}", answer.text()).into());
            }
            times.push(nanoseconds(asked.elapsed()));
        }
        Ok(times)
    }

    /// Tries one password after another until `end`, without the pause that a rejection asks for, and each for a
    /// different name, because attempts per name are limited.
    async fn try_passwords(self, mut client: Connection, at: usize, end: Instant) -> Result<LoginAttempts, BenchError> {
        let (mut request, mut tries) = (Vec::new(), LoginAttempts::default());
        sleep(START_PERIOD * u32::try_from(at)? / u32::try_from(LOGIN_CLIENTS)?).await;
        while now() < end {
            let name = self.tried.fetch_add(1, Ordering::Relaxed) % self.login.len();
            self.login.write(name, &mut request);
            let answer = client.exchange(&request).await?;
            if answer.has(b"\"code\":1011") {
                tries.checked += 1;
            } else if answer.has(b"\"code\":1006") {
                tries.rejected += 1;
            } else {
                return Err(format!("neither wrong nor too many:\n{}", answer.text()).into());
            }
        }
        Ok(tries)
    }
}

impl LoginAttempts {
    fn add(&mut self, other: Self) {
        self.checked += other.checked;
        self.rejected += other.rejected;
    }
}
