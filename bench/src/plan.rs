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
    /// Programs that sign their users in with OpenID Connect.
    Oidc,
    /// People who leave, and the synchronisation with the platform's directory.
    People,
    /// Many employees who sign in within a few minutes.
    Rush,
    /// More sessions than fit into memory.
    Cache,
    /// A store with many millions of rows, and ten nodes.
    Scale,
}

impl Group {
    pub(crate) const ALL: [Self; 8] = [
        Self::Embedded,
        Self::ScaledOut,
        Self::Sockets,
        Self::Oidc,
        Self::People,
        Self::Rush,
        Self::Cache,
        Self::Scale,
    ];

    /// The groups that are measured unless one is named: the other takes too long, and too much disk space.
    pub(crate) const DEFAULT: [Self; 7] =
        [Self::Embedded, Self::ScaledOut, Self::Sockets, Self::Oidc, Self::People, Self::Rush, Self::Cache];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Embedded => "One node, everything embedded",
            Self::ScaledOut => "PostgreSQL and Redis",
            Self::Sockets => "Sockets",
            Self::Oidc => "OpenID Connect",
            Self::People => "People who come and go",
            Self::Rush => "The nine o'clock rush",
            Self::Cache => "More sessions than fit into memory",
            Self::Scale => "Large stores, and ten nodes",
        }
    }

    /// The number of steps that the run reports.
    pub(crate) const fn steps(self) -> usize {
        match self {
            Self::Embedded => 22,
            Self::ScaledOut => 26,
            Self::Sockets => 15,
            Self::Oidc => 6,
            Self::People => 10,
            Self::Rush => 5,
            Self::Cache => 7,
            Self::Scale => 28,
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
    /// Rounds of responses that take a few milliseconds at most. They are short, so that both sides meet the same other load on the machine.
    pub(crate) short: Rounds,
    /// Rounds of other responses: at its end, a round waits for the last response of each connection.
    pub(crate) long: Rounds,
    pub(crate) small: Size,
    pub(crate) large: Size,
    /// Live sessions of which a tenth fits into memory.
    pub(crate) stored: usize,
    /// Live sessions on PostgreSQL.
    pub(crate) shared: usize,
    /// The number of timed starts of the service.
    pub(crate) starts: usize,
    /// The number of QR codes that wait to be scanned.
    pub(crate) waiting: usize,
    /// The number of timed sign-ins by QR code.
    pub(crate) scans: usize,
    /// The number of sign-ins by QR code after which the memory is read.
    pub(crate) qr_sign_ins: usize,
    /// The number of timed sign-outs, with Redis and without.
    pub(crate) logouts: usize,
    /// Idle rounds and rounds with many password attempts, after one warm-up round, and the duration of each.
    pub(crate) floods: usize,
    pub(crate) flood: Duration,
    /// The number of sockets on a single node, on a single node where the limit of open files allows it, and on one of two nodes.
    pub(crate) sockets: usize,
    pub(crate) many_sockets: usize,
    pub(crate) shared_sockets: usize,
    /// The number of messages to one socket, and of messages to all.
    pub(crate) messages: usize,
    pub(crate) broadcasts: usize,
    /// The number of access tokens whose users are asked for, of codes that are redeemed in a round, and of timed sign-outs that a
    /// program is told of.
    pub(crate) access_tokens: usize,
    pub(crate) codes: usize,
    pub(crate) notices: usize,
    /// The number of people who leave, with Redis and without, and of people who are synchronised.
    pub(crate) leavers: usize,
    pub(crate) members: usize,
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

/// A number of live sessions, and the target throughput relative to a bare handler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) sessions: usize,
    pub(crate) ratio: f64,
}

/// Sessions per employee, in the usual layout.
pub(crate) const SESSIONS_EACH: usize = 10;
/// Employees who sign in.
pub(crate) const SIGN_IN_EMPLOYEES: usize = 1_000;
/// The target throughput of sign-ins relative to plain SQLite, and to plain PostgreSQL.
pub(crate) const SIGN_IN_RATIO: f64 = 0.9;
pub(crate) const SHARED_SIGN_IN_RATIO: f64 = 0.85;
/// The target throughput of status requests for a waiting ticket, relative to a bare handler.
pub(crate) const STATUS_RATIO: f64 = 0.8;
/// The target CPU time of a QR code with its picture, in seconds.
pub(crate) const QR_CODE_SECONDS: f64 = 200e-6;
/// The target size of the picture of a QR code, in bytes.
pub(crate) const PICTURE_BYTES: usize = 4_000;
/// The target throughput of userinfo, relative to a bare handler.
pub(crate) const USERINFO_RATIO: f64 = 0.85;
/// The target time until a program is told of a logout, in seconds.
pub(crate) const NOTICE_SECONDS: f64 = 1.0;
/// The target time until a leaver is refused on every node, in seconds.
pub(crate) const LEAVER_SECONDS: f64 = 1.0;
/// The target time of a synchronisation, in seconds.
pub(crate) const SYNC_SECONDS: f64 = 60.0;
/// The target p99 of a call in a large store, in seconds.
pub(crate) const CALL_SECONDS: f64 = 0.2;
/// The target throughput of verify on a node with shared data, relative to a bare handler.
pub(crate) const SHARED_RATIO: f64 = 0.8;
/// The target CPU time of a request on two nodes of one service, relative to that on one node with as many requests for each, and to that
/// on two nodes that share nothing: the least and the most.
pub(crate) const TWO_NODES_COST: (f64, f64) = (0.95, 1.05);
/// The target time until a logout takes effect on every node, in seconds.
pub(crate) const LOGOUT_SECONDS: f64 = 1.0;
/// The target start-up time, in seconds.
pub(crate) const START_SECONDS: f64 = 2.0;
/// The target p99 of verify during many password attempts, relative to the idle p99.
pub(crate) const FLOOD_RATIO: f64 = 2.0;
/// The target memory of the password attempts, in bytes.
pub(crate) const FLOOD_BYTES: usize = 128 << 20;
/// The target memory of a service with 10 000 sockets, in bytes.
pub(crate) const SOCKETS_BYTES: usize = 120 << 20;
/// The target memory of a service after many sign-ins that are over, in bytes.
pub(crate) const QR_MEMORY_BYTES: usize = 100 << 20;
/// The target times in seconds until a message reaches one of many sockets, until it reaches all, and until the sockets of
/// ended sessions are closed.
pub(crate) const SOCKET_SECONDS: f64 = 0.005;
pub(crate) const SOCKETS_SECONDS: f64 = 2.0;
pub(crate) const SOCKETS_END_SECONDS: f64 = 1.0;
/// The target time in seconds until a message reaches one of many sockets at another node.
pub(crate) const SHARED_SOCKET_SECONDS: f64 = 0.003;
/// The target memory of a cached session, in bytes: of employees who have ten each, and one each.
pub(crate) const SESSION_BYTES: f64 = 150.0;
pub(crate) const LONE_SESSION_BYTES: f64 = 400.0;
/// The target throughput of verify with the larger number of sessions, relative to a bare handler.
pub(crate) const LARGE_VERIFY_RATIO: f64 = 0.95;
/// The target throughput of sessions that are not in memory, relative to the same lookups alone.
pub(crate) const MISS_RATIO: f64 = 0.8;
/// The target throughput of sessions that are in memory where most are not, relative to a bare handler.
pub(crate) const CACHE_HIT_RATIO: f64 = 0.9;

impl Plan {
    pub(crate) fn full() -> Self {
        Self {
            quick: false,
            is_recorded: true,
            short: Rounds { count: 41, length: Duration::from_millis(500) },
            long: Rounds { count: 13, length: Duration::from_secs(2) },
            small: Size { sessions: 100_000, ratio: 1.0 },
            large: Size { sessions: 1_000_000, ratio: 0.80 },
            stored: 10_000_000,
            starts: 5,
            // They expire three minutes after the request; the measurement must finish before that.
            waiting: 10_000,
            scans: 500,
            qr_sign_ins: 100_000,
            shared: 100_000,
            logouts: 1_000,
            floods: 5,
            flood: Duration::from_secs(5),
            sockets: 10_000,
            many_sockets: 50_000,
            shared_sockets: 2_000,
            messages: 1_000,
            broadcasts: 5,
            access_tokens: 1_000,
            // They expire a minute after the request; a round must finish before that.
            codes: 4_000,
            notices: 500,
            leavers: 1_000,
            members: 10_000,
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
        let full = Self::full();
        Self {
            quick: true,
            is_recorded: false,
            short: Rounds { count: 3, length: Duration::from_millis(500) },
            long: Rounds { count: 3, length: Duration::from_millis(500) },
            small: Size { sessions: 2_000, ..full.small },
            large: Size { sessions: 20_000, ..full.large },
            scans: 100,
            qr_sign_ins: 200,
            stored: 20_000,
            shared: 10_000,
            logouts: 40,
            floods: 2,
            flood: Duration::from_secs(1),
            sockets: 1_000,
            many_sockets: 2_000,
            shared_sockets: 200,
            messages: 100,
            broadcasts: 2,
            access_tokens: 200,
            codes: 400,
            notices: 40,
            leavers: 40,
            members: 500,
            scale: ScaleLayout::QUICK,
            calls: 20,
            observation: Duration::from_secs(5),
            rush: RushPlan {
                employees: 200,
                period: Duration::from_secs(4),
                scan_delay: Duration::from_millis(200),
                verify_interval: Duration::from_millis(100),
            },
            ..full
        }
    }
}
