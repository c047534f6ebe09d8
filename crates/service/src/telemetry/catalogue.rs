//! All metrics, each declared once: name, kind, unit, labels and help. docs/operations.md explains them to operators.
//!
//! Names follow Prometheus' conventions: base units, `_total` for counters, the unit as the suffix. Every label has a closed set
//! of values: no request can add a series. The OpenID Connect clients are those that administrators registered.

use prometheus_client::registry::Unit;

/// A metric.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(super) kind: MetricKind,
    pub(super) unit: MetricUnit,
    /// The names of its labels.
    pub(super) labels: &'static [&'static str],
    pub(super) help: &'static str,
}

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// The unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetricUnit {
    /// A number of what the name says.
    Count,
    /// A size.
    Bytes,
    /// A duration.
    Seconds,
    /// A time, in seconds since 1970.
    UnixSeconds,
    /// 1 for yes, 0 for no.
    Boolean,
    /// Always 1; the labels are the information.
    Info,
}

impl MetricUnit {
    /// The unit with which a name ends.
    pub(super) const fn suffix(self) -> Option<Unit> {
        match self {
            Self::Bytes => Some(Unit::Bytes),
            Self::Seconds | Self::UnixSeconds => Some(Unit::Seconds),
            Self::Count | Self::Boolean | Self::Info => None,
        }
    }
}

macro_rules! catalogue {
    ($($constant:ident = $kind:ident $unit:ident $name:literal [$($label:literal),*] $help:literal;)+) => {
        $(
            pub(crate) const $constant: Metric = Metric {
                name: $name,
                kind: MetricKind::$kind,
                unit: MetricUnit::$unit,
                labels: &[$($label),*],
                help: $help,
            };
        )+

        /// All metrics but those of the process.
        pub(super) const ALL: &[Metric] = &[$($constant),+];
    };
}

catalogue! {
    BUILD_INFO = Gauge Info "deskpass_build_info" ["version", "commit"]
        "The running version and its commit; always 1.";

    REQUESTS = Counter Count "deskpass_requests_total" ["method", "route", "outcome"]
        "Requests by route and outcome: ok, refused (4xx) or failed (5xx).";
    REQUEST_DURATION = Histogram Seconds "deskpass_http_request_duration_seconds" ["method", "route"]
        "Time from the head of a request to the head of its response.";
    RATE_LIMITED = Counter Count "deskpass_rate_limited_requests_total" ["route"]
        "Requests refused because their client exceeded the rate limit of the route.";
    UNTRUSTED_PROXY = Counter Count "deskpass_untrusted_proxy_requests_total" []
        "Requests with X-Forwarded-For from a proxy that is not in trusted_proxies.";
    UNLISTED_HOST = Counter Count "deskpass_unlisted_host_requests_total" ["outcome"]
        "Requests under a host name that is not the service's own: refused, or still answered (ok).";

    CONNECTIONS = Gauge Count "deskpass_connections" []
        "Open connections, with those of the reserve.";
    CONNECTION_LIMIT = Gauge Count "deskpass_connection_limit" []
        "The value of server.max_connections.";
    CONNECTIONS_REJECTED = Counter Count "deskpass_connections_turned_away_total" []
        "Connections closed immediately: their address has too many, or the reserve is exhausted.";
    CONNECTIONS_EVICTED = Counter Count "deskpass_connections_evicted_total" []
        "Connections closed to make room for others, because all were in use.";
    CONNECTIONS_RESERVE = Counter Count "deskpass_connections_from_reserve_total" []
        "Connections served from the reserve for health checks and operators.";

    SIGN_IN_STEPS = Counter Count "deskpass_sign_in_steps_total" ["method", "step"]
        "Steps of sign-ins: QR codes shown, scanned, confirmed and collected; OAuth started, returned and signed in; passwords checked and accepted.";
    SIGN_INS = Counter Count "deskpass_sign_ins_total" ["method"]
        "Sessions that began, by login method.";
    REFUSALS = Counter Count "deskpass_refusals_total" ["event", "reason"]
        "Refusals of the audit log, by event and reason, with those that are only summarised there.";
    PLATFORM_SIGN_INS_REFUSED = Counter Count "deskpass_platform_sign_ins_refused_total" ["reason"]
        "Sign-ins through the platform that ended with an error, by the word in the landing address.";
    LOCKOUTS = Counter Count "deskpass_agent_lockouts_total" ["credential"]
        "Attempts at passwords and one-time passwords that were refused unchecked, because the account is locked out.";
    SIGN_INS_UNDER_WAY = Gauge Count "deskpass_sign_ins_under_way" []
        "QR codes that can still be scanned and tokens that can still be collected.";
    CACHED_SESSIONS = Gauge Count "deskpass_cached_sessions" []
        "Sessions in the cache of this node.";
    HASH_QUEUE = Gauge Count "deskpass_password_hash_queue_length" []
        "Passwords that wait to be hashed.";
    HASH_QUEUE_REJECTIONS = Counter Count "deskpass_password_hash_queue_rejections_total" []
        "Requests with a password that were refused because the queue was full.";

    PLATFORM_UP = Gauge Boolean "deskpass_platform_up" []
        "1 unless the last calls to the platform failed.";
    PLATFORM_CIRCUIT = Gauge Boolean "deskpass_platform_circuit_state" ["state"]
        "1 for the state of the circuit breaker: closed, open, failing, refused or untried.";
    PLATFORM_CALLS = Counter Count "deskpass_platform_calls_total" ["api", "outcome"]
        "Calls to the platform by API and outcome: ok, refused, unreachable, invalid, or suspended by the circuit breaker.";
    PLATFORM_CALL_DURATION = Histogram Seconds "deskpass_platform_call_duration_seconds" ["api"]
        "Duration of calls to the platform that were made.";

    STORE_UP = Gauge Boolean "deskpass_store_up" []
        "1 if the database accepted a write just now.";
    STORE_OPERATIONS = Counter Count "deskpass_store_operations_total" ["operation", "outcome"]
        "Operations of the database: read or write, and ok, unavailable, outcome_unknown, overloaded or damaged.";
    STORE_OPERATION_DURATION = Histogram Seconds "deskpass_store_operation_duration_seconds" ["operation"]
        "Duration of operations of the database, with the wait for their turn; of writes, with the commit.";
    STORE_WAITING = Gauge Count "deskpass_store_waiting_operations" []
        "Operations that wait: SQLite: writes in the queue; PostgreSQL: for a connection.";
    STORE_CONNECTIONS = Gauge Count "deskpass_store_connections_in_use" []
        "Connections to PostgreSQL that are in use; missing with SQLite.";
    STORE_CONNECTION_LIMIT = Gauge Count "deskpass_store_connection_limit" []
        "Connections to PostgreSQL that this node may use; missing with SQLite.";
    DISK_FREE = Gauge Bytes "deskpass_disk_free_bytes" []
        "Free space of the disk with the data directory; missing with PostgreSQL.";
    DISK_SIZE = Gauge Bytes "deskpass_disk_size_bytes" []
        "Size of the disk with the data directory; missing with PostgreSQL.";
    SHARED_STORE_UP = Gauge Boolean "deskpass_shared_store_up" []
        "1 if Redis accepted a write just now; always 1 without Redis.";
    CACHE_IN_STEP = Gauge Boolean "deskpass_cache_in_step" []
        "1 if this node knows the changes of other nodes, and uses its cache.";

    SOCKETS = Gauge Count "deskpass_sockets" []
        "Open WebSockets.";
    SOCKETS_CLOSED = Counter Count "deskpass_sockets_closed_total" ["code"]
        "Closed WebSockets by close code; 1006 stands for a broken connection.";
    SOCKET_MESSAGES = Counter Count "deskpass_socket_messages_total" []
        "Messages sent on WebSockets.";
    MESSAGES_DROPPED = Counter Count "deskpass_messages_dropped_total" []
        "Messages found in Redis although they were delivered, or not sent lately.";
    REPLIES = Counter Count "deskpass_replies_total" ["outcome"]
        "Replies to messages: delivered, refused, unreachable, too_many or not_allowed.";

    NOTICES_PENDING = Gauge Count "deskpass_notices_pending" []
        "Notices that are not delivered yet, on all nodes; counting stops at ten thousand.";
    NOTICES = Counter Count "deskpass_notices_total" ["outcome"]
        "Attempts to deliver notices: delivered, dropped or postponed.";

    OIDC_TOKENS = Counter Count "deskpass_oidc_tokens_total" ["grant_type", "outcome"]
        "Requests of OpenID Connect clients for tokens, by grant and outcome: issued, refused or failed.";
    OIDC_LOGOUTS = Counter Count "deskpass_oidc_logouts_total" ["client", "outcome"]
        "Attempts to tell OpenID Connect clients that a session ended: delivered, postponed or abandoned.";
    OIDC_LOGOUTS_PENDING = Gauge Count "deskpass_oidc_logouts_pending" []
        "Ends of sessions that OpenID Connect clients have not accepted yet, on all nodes.";

    PLATFORM_EVENTS = Counter Count "deskpass_platform_events_total" ["outcome"]
        "Requests of the platform with events, by outcome: accepted, repeated, or why they were refused.";
    PEOPLE_CHECKED = Counter Count "deskpass_people_checked_total" ["outcome"]
        "People with sessions about whom the platform was asked: active, left, held or failed.";
    PEOPLE_LEFT = Counter Count "deskpass_people_left_total" ["source"]
        "People who were locked out because the platform says that they left, by what said so: event, recheck, sync or sign_in.";
    LEAVERS_HALTED = Gauge Boolean "deskpass_leavers_halted" []
        "1 if nobody is locked out at present because too many people seem to have left at once.";

    CLOCK_TRUSTED = Gauge Boolean "deskpass_clock_trusted" []
        "1 if the machine's clock is trusted.";
    CLOCK_SKEW = Gauge Seconds "deskpass_clock_skew_seconds" ["reference"]
        "How far the machine's clock is ahead of the service's, the database's and the platform's.";

    TLS_CERTIFICATE_EXPIRY = Gauge UnixSeconds "deskpass_tls_certificate_expiry_timestamp_seconds" []
        "When the certificate in server.tls.certificate expires; missing without one.";
    CONFIG_RELOAD_SUCCESSFUL = Gauge Boolean "deskpass_config_last_reload_successful" []
        "1 if the last reload of the settings succeeded.";
    CONFIG_RELOAD_TIME = Gauge UnixSeconds "deskpass_config_last_reload_success_timestamp_seconds" []
        "When the settings were last read successfully.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::process;

    const OPERATIONS: [&str; 2] =
        [include_str!("../../../../docs/operations.md"), include_str!("../../../../docs/zh/operations.md")];

    #[test]
    fn names_say_kind_and_unit() {
        for Metric { name, kind, unit, .. } in ALL {
            assert!(name.starts_with("deskpass_"), "{name}");
            assert_eq!(*kind == MetricKind::Counter, name.ends_with("_total"), "{name}");
            assert_eq!(*unit == MetricUnit::Info, name.ends_with("_info"), "{name}");
            assert_eq!(*unit == MetricUnit::UnixSeconds, name.ends_with("_timestamp_seconds"), "{name}");
            assert_eq!(*unit == MetricUnit::Bytes, name.ends_with("_bytes"), "{name}");
            let in_seconds = matches!(unit, MetricUnit::Seconds | MetricUnit::UnixSeconds);
            assert_eq!(in_seconds, name.ends_with("_seconds"), "{name}");
            assert_eq!(*kind == MetricKind::Histogram, name.ends_with("_duration_seconds"), "{name}");
        }
    }

    #[test]
    fn every_metric_is_declared_once_and_helps() {
        for (at, Metric { name, help, labels, .. }) in ALL.iter().enumerate() {
            assert!(ALL.iter().skip(at + 1).all(|other| other.name != *name), "{name}");
            assert!(help.ends_with('.') && labels.iter().all(|label| *label != "le"), "{name}");
        }
    }

    #[test]
    fn operators_find_every_metric_in_the_documentation() {
        for name in ALL.iter().map(|metric| metric.name).chain(process::NAMES) {
            for text in OPERATIONS {
                let has_row = ["`", "{"].iter().any(|end| text.contains(&format!("| `{name}{end}")));
                assert!(has_row, "{name} has no row in operations.md");
            }
        }
    }
}
