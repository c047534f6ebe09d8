//! The amount of work to measure, and the targets.

use std::time::Duration;

use crate::scale_seed::ScaleLayout;

/// A group of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// A single node with embedded stores.
    Embedded,
    /// Nodes that share PostgreSQL and Redis.
    ScaledOut,
    /// Many clients that hold a socket open to receive messages.
    Sockets,
    /// More sessions than fit into memory.
    Cache,
    /// Many employees who sign in within a few minutes.
    Rush,
    /// A store with many millions of rows, and ten nodes.
    Scale,
}

impl Group {
    pub(crate) const ALL: [Self; 6] =
        [Self::Embedded, Self::ScaledOut, Self::Sockets, Self::Cache, Self::Rush, Self::Scale];

    /// The groups that are measured unless one is named: the others take long, and much disk space.
    pub(crate) const DEFAULT: [Self; 4] = [Self::Embedded, Self::ScaledOut, Self::Sockets, Self::Cache];

    /// The groups that are run by hand.
    pub(crate) const LARGE: [Self; 2] = [Self::Rush, Self::Scale];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Embedded => "One node, everything embedded",
            Self::ScaledOut => "PostgreSQL and Redis",
            Self::Sockets => "Sockets",
            Self::Cache => "More sessions than fit into memory",
            Self::Rush => "The nine o'clock rush",
            Self::Scale => "Large stores, and ten nodes",
        }
    }
}

/// Rounds of each side of a comparison, after one warm-up round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    pub(crate) count: usize,
    pub(crate) length: Duration,
}

/// The amount of work to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) quick: bool,
    /// Whether the results are written to the page, and not only printed.
    pub(crate) is_recorded: bool,
    /// How often the comparisons are repeated, each time with a new process on both sides.
    pub(crate) runs: usize,
    /// Rounds of responses that take a few milliseconds at most. They are short, so that both sides meet the same other load on the machine.
    pub(crate) short: Rounds,
    /// Rounds of other responses: at its end, a round waits for the last response of each connection.
    pub(crate) long: Rounds,
    /// The numbers of live sessions with which checks are measured.
    pub(crate) small: usize,
    pub(crate) large: usize,
    /// Live sessions of which a tenth fits into memory.
    pub(crate) stored: usize,
    /// Live sessions on PostgreSQL.
    pub(crate) shared: usize,
    /// The number of access tokens whose users are asked for.
    pub(crate) access_tokens: usize,
    /// The number of timed sign-outs, and of people who leave, with Redis and without.
    pub(crate) ends: usize,
    /// Idle rounds and rounds with many password attempts, after one warm-up round, and the duration of each.
    pub(crate) floods: usize,
    pub(crate) flood: Duration,
    /// The number of sockets, and of messages to all of them.
    pub(crate) sockets: usize,
    pub(crate) broadcasts: usize,
    /// The rows of a large store, the number of calls of each kind, and how long ten nodes are observed, idle and under load.
    pub(crate) scale: ScaleLayout,
    pub(crate) calls: usize,
    pub(crate) observation: Duration,
    pub(crate) rush: RushPlan,
}

/// The employees of a rush, and how fast they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RushPlan {
    pub(crate) employees: usize,
    /// The time within which all of them arrive.
    pub(crate) period: Duration,
    /// How long a QR code is on the screen before the phone scans it.
    pub(crate) scan_delay: Duration,
    /// The pause before each check of a token.
    pub(crate) verify_interval: Duration,
}

impl RushPlan {
    /// The same with another number of employees, and within other minutes, where they are given.
    pub(crate) fn with(self, employees: Option<u32>, minutes: Option<u32>) -> Self {
        let employees = employees.and_then(|count| usize::try_from(count).ok()).unwrap_or(self.employees);
        let period = minutes.map_or(self.period, |minutes| Duration::from_mins(minutes.into()));
        Self { employees, period, ..self }
    }
}

/// Sessions per employee, in the usual layout.
pub(crate) const SESSIONS_EACH: usize = 10;
/// Employees who sign in.
pub(crate) const SIGN_IN_EMPLOYEES: usize = 1_000;
/// The target throughput of checks, relative to a bare handler: with the smaller and with the larger number of sessions.
pub(crate) const CHECK_RATIO: f64 = 0.95;
pub(crate) const LARGE_CHECK_RATIO: f64 = 0.9;
/// The target throughput of sessions that are not in memory, relative to the same look-up.
pub(crate) const MISS_RATIO: f64 = 0.75;
/// The target throughput of sign-ins relative to plain SQLite and to plain PostgreSQL, and on PostgreSQL in a second.
pub(crate) const SIGN_IN_RATIO: f64 = 0.7;
pub(crate) const SHARED_SIGN_IN_RATIO: f64 = 0.5;
pub(crate) const SHARED_SIGN_IN_RATE: f64 = 500.0;
/// The target memory of a cached session, in bytes.
pub(crate) const SESSION_BYTES: f64 = 400.0;
/// The target CPU time of a QR code with its picture, in seconds.
pub(crate) const QR_CODE_SECONDS: f64 = 200e-6;
/// The target memory of a service with 10 000 sockets, in bytes.
pub(crate) const SOCKETS_BYTES: usize = 100 << 20;
/// The target times until a logout takes effect on another node, in seconds: half of all with Redis, half of all without, and each.
pub(crate) const REDIS_LOGOUT_SECONDS: f64 = 0.01;
pub(crate) const LOGOUT_SECONDS: f64 = 0.3;
pub(crate) const END_SECONDS: f64 = 1.0;
/// The target p99 of verify during many password attempts, relative to the idle p99.
pub(crate) const FLOOD_RATIO: f64 = 2.0;
/// The target memory of the password attempts, in bytes.
pub(crate) const FLOOD_BYTES: usize = 128 << 20;
/// The target p99 of a call in a large store, in seconds.
pub(crate) const CALL_SECONDS: f64 = 0.2;

impl Plan {
    pub(crate) fn full() -> Self {
        Self {
            quick: false,
            is_recorded: true,
            runs: 3,
            short: Rounds { count: 15, length: Duration::from_millis(500) },
            long: Rounds { count: 6, length: Duration::from_secs(2) },
            small: 100_000,
            large: 1_000_000,
            stored: 10_000_000,
            shared: 100_000,
            access_tokens: 1_000,
            ends: 1_000,
            floods: 5,
            flood: Duration::from_secs(5),
            sockets: 10_000,
            broadcasts: 5,
            scale: ScaleLayout::FULL,
            calls: 200,
            observation: Duration::from_secs(30),
            rush: RushPlan {
                employees: 10_000,
                period: Duration::from_mins(2),
                scan_delay: Duration::from_secs(3),
                verify_interval: Duration::from_secs(1),
            },
        }
    }

    /// A plan with small numbers.
    pub(crate) fn quick() -> Self {
        Self {
            quick: true,
            is_recorded: false,
            runs: 1,
            short: Rounds { count: 3, length: Duration::from_millis(500) },
            long: Rounds { count: 3, length: Duration::from_millis(500) },
            small: 2_000,
            large: 20_000,
            stored: 20_000,
            shared: 10_000,
            access_tokens: 200,
            ends: 40,
            floods: 2,
            flood: Duration::from_secs(1),
            sockets: 1_000,
            broadcasts: 2,
            scale: ScaleLayout::QUICK,
            calls: 20,
            observation: Duration::from_secs(5),
            rush: RushPlan {
                employees: 200,
                period: Duration::from_secs(4),
                scan_delay: Duration::from_millis(200),
                verify_interval: Duration::from_millis(100),
            },
        }
    }
}
