//! How much is measured, and what was promised.

use std::time::Duration;

/// What is measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// One node that has everything in it.
    Embedded,
    /// Nodes that share PostgreSQL and Redis.
    ScaledOut,
    /// Many who hold a connection open to be told something.
    Sockets,
}

impl Group {
    pub(crate) const ALL: [Self; 3] = [Self::Embedded, Self::ScaledOut, Self::Sockets];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Embedded => "One node, everything embedded",
            Self::ScaledOut => "PostgreSQL and Redis",
            Self::Sockets => "Sockets",
        }
    }

    /// Steps that its run tells about.
    pub(crate) const fn steps(self) -> usize {
        match self {
            Self::Embedded | Self::ScaledOut => 19,
            Self::Sockets => 12,
        }
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) quick: bool,
    /// Rounds of each side, after one that warms up.
    pub(crate) rounds: usize,
    pub(crate) round: Duration,
    pub(crate) small: Size,
    pub(crate) large: Size,
    /// Live sessions on PostgreSQL.
    pub(crate) shared: usize,
    /// How often the service is started to time it.
    pub(crate) starts: usize,
    /// QR codes that wait to be scanned.
    pub(crate) waiting: usize,
    /// How often somebody signs in by QR code to time it.
    pub(crate) scans: usize,
    /// How often somebody signs out to time it, with Redis and without.
    pub(crate) logouts: usize,
    /// Rounds of idleness and of many who try passwords, after one that warms up, and how long each takes.
    pub(crate) floods: usize,
    pub(crate) flood: Duration,
    /// Sockets at one node, and at one of two.
    pub(crate) sockets: usize,
    pub(crate) shared_sockets: usize,
    /// How often one of them is told something, and how often all are.
    pub(crate) messages: usize,
    pub(crate) broadcasts: usize,
}

/// How many live sessions there are, and the throughput promised with them, beside a bare handler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) sessions: usize,
    pub(crate) ratio: f64,
}

/// Sessions of one employee, in the usual layout.
pub(crate) const SESSIONS_EACH: usize = 10;
/// Employees who sign in.
pub(crate) const SIGN_IN_EMPLOYEES: usize = 1_000;
/// Promised throughput of sign-ins, beside SQLite alone.
pub(crate) const SIGN_IN_RATIO: f64 = 0.5;
/// Promised throughput of a look at a waiting ticket, beside a bare handler.
pub(crate) const STATUS_RATIO: f64 = 0.8;
/// Promised throughput of verify on a node that shares its data, beside a bare handler.
pub(crate) const SHARED_RATIO: f64 = 0.8;
/// Promised time until a logout counts on every node, in seconds.
pub(crate) const LOGOUT_SECONDS: f64 = 1.0;
/// Promised time to start, in seconds.
pub(crate) const START_SECONDS: f64 = 2.0;
/// Promised p99 of verify while many try passwords, beside the idle one.
pub(crate) const FLOOD_RATIO: f64 = 2.0;
/// Promised memory that they take, in bytes.
pub(crate) const FLOOD_BYTES: usize = 128 << 20;
/// Promised memory of a service that holds many sockets, in bytes.
pub(crate) const SOCKETS_BYTES: usize = 400 << 20;
/// Promised times until one of many sockets is told something, until all are, and until those are closed whose sessions ended;
/// in seconds.
pub(crate) const SOCKET_SECONDS: f64 = 0.005;
pub(crate) const SOCKETS_SECONDS: f64 = 2.0;
pub(crate) const SOCKETS_END_SECONDS: f64 = 1.0;
/// Promised memory of a cached session, in bytes.
pub(crate) const SESSION_BYTES: f64 = 300.0;

impl Plan {
    pub(crate) fn full() -> Self {
        Self {
            quick: false,
            rounds: 9,
            round: Duration::from_secs(2),
            small: Size { sessions: 100_000, ratio: 0.85 },
            large: Size { sessions: 1_000_000, ratio: 0.80 },
            starts: 5,
            // Looking at them must be over before they are, three minutes after they were asked for.
            waiting: 10_000,
            scans: 500,
            shared: 100_000,
            logouts: 1_000,
            floods: 5,
            flood: Duration::from_secs(5),
            sockets: 10_000,
            shared_sockets: 2_000,
            messages: 1_000,
            broadcasts: 5,
        }
    }

    /// The same with little of everything.
    pub(crate) fn quick() -> Self {
        let full = Self::full();
        Self {
            quick: true,
            rounds: 3,
            round: Duration::from_millis(500),
            small: Size { sessions: 2_000, ..full.small },
            large: Size { sessions: 20_000, ..full.large },
            scans: 100,
            shared: 10_000,
            logouts: 40,
            floods: 2,
            flood: Duration::from_secs(1),
            sockets: 1_000,
            shared_sockets: 200,
            messages: 100,
            broadcasts: 2,
            ..full
        }
    }
}
