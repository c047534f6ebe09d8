//! The metrics of the service, and the places where they are counted.

use std::sync::atomic::Ordering;

use deskpass_auth::{
    AttemptedCredential, AuthEvent, EventOutcome, FunnelStep, LeaverSource, LogoutOutcome, NoticeOutcome,
    PersonCheckOutcome, TokenGrant, TokenOutcome, audited_reasons,
};
use deskpass_core::LoginMethod;
use deskpass_platform::{CallOutcome, CallReport};
use deskpass_store::{AuditEvent, Operation, OperationReport, StoreErrorKind};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;

use super::catalogue::{self as metric, Metric};
use super::registry::{Gauge, MetricRegistry};

/// The metrics of the service.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub(super) registry: MetricRegistry,
    /// The open connections.
    pub(crate) connections: Gauge,
    /// Connections that were closed immediately: their address has too many, or the reserve is exhausted.
    pub(crate) rejected_connections: Counter,
    /// Connections that were closed to make room for others.
    pub(crate) evicted_connections: Counter,
    pub(crate) reserve_connections: Counter,
    /// Requests whose proxy is not trusted.
    pub(crate) untrusted_proxy_requests: Counter,
    /// Requests under host names that are not listed, by whether they were answered.
    unlisted_hosts: [(bool, Counter); 2],
    /// Messages that were sent on sockets.
    pub(crate) socket_messages: Counter,
    socket_closes: [(u16, Counter); CLOSE_CODES.len()],
    refused_sign_ins: [(&'static str, Counter); SIGN_IN_ERRORS.len()],
    replies: [(&'static str, Counter); REPLY_OUTCOMES.len()],
    steps: [(FunnelStep, Counter); FunnelStep::ALL.len()],
    sign_ins: [(LoginMethod, Counter); LoginMethod::ALL.len()],
    lockouts: [(AttemptedCredential, Counter); AttemptedCredential::ALL.len()],
    notices: [(NoticeOutcome, Counter); NoticeOutcome::ALL.len()],
    platform_events: [(EventOutcome, Counter); EventOutcome::ALL.len()],
    people_checked: [(PersonCheckOutcome, Counter); PersonCheckOutcome::ALL.len()],
    people_left: [(LeaverSource, Counter); LeaverSource::ALL.len()],
    oidc_tokens: [(TokenGrant, [(TokenOutcome, Counter); TokenOutcome::ALL.len()]); TokenGrant::ALL.len()],
    platform_calls: Vec<PlatformCalls>,
    reads: StoreOperations,
    writes: StoreOperations,
}

/// The metrics of an API of the platform.
#[derive(Debug)]
struct PlatformCalls {
    api: &'static str,
    outcomes: [(CallOutcome, Counter); CallOutcome::ALL.len()],
    seconds: Histogram,
}

/// The metrics of a kind of operations of the database.
#[derive(Debug)]
struct StoreOperations {
    outcomes: [(Option<StoreErrorKind>, Counter); STORE_OUTCOMES.len()],
    seconds: Histogram,
}

/// The reasons why a sign-in through the platform is refused, as the landing address names them.
const SIGN_IN_ERRORS: [&str; 11] = [
    "denied",
    "invalid_code",
    "not_a_member",
    "no_role",
    "disabled",
    "holder_unconfirmed",
    "not_asked",
    "phone_needed",
    "question_over",
    "platform_unavailable",
    "internal",
];

/// The outcomes of replies to messages.
const REPLY_OUTCOMES: [&str; 5] = ["delivered", "refused", "unreachable", "too_many", "not_allowed"];

/// The close codes of sockets; 1006 stands for a broken connection.
const CLOSE_CODES: [u16; 13] = [1000, 1001, 1002, 1003, 1006, 1007, 1008, 1009, 1012, 1013, 4401, 4403, 4409];

/// The outcomes of operations of the database.
const STORE_OUTCOMES: [(Option<StoreErrorKind>, &str); 5] = [
    (None, "ok"),
    (Some(StoreErrorKind::Unavailable), "unavailable"),
    (Some(StoreErrorKind::OutcomeUnknown), "outcome_unknown"),
    (Some(StoreErrorKind::Overloaded), "overloaded"),
    (Some(StoreErrorKind::Damaged), "damaged"),
];

impl Metrics {
    /// Metrics of a service that calls these APIs of the platform.
    pub(crate) fn new(platform_apis: &[&'static str]) -> Self {
        let registry = MetricRegistry::new();
        let plain = |counter| registry.counter(counter, []);
        registry.gauge(metric::BUILD_INFO, [env!("CARGO_PKG_VERSION"), env!("BUILD_COMMIT")]).set(1.0);
        // Present from the start, so that the first refusal is an increase. Other events add theirs when they happen.
        for reason in audited_reasons() {
            drop(registry.counter(metric::REFUSALS, [AuditEvent::SignInRefused.name(), reason]));
        }
        Self {
            connections: registry.gauge(metric::CONNECTIONS, []),
            rejected_connections: plain(metric::CONNECTIONS_REJECTED),
            evicted_connections: plain(metric::CONNECTIONS_EVICTED),
            reserve_connections: plain(metric::CONNECTIONS_RESERVE),
            untrusted_proxy_requests: plain(metric::UNTRUSTED_PROXY),
            unlisted_hosts: [(true, "ok"), (false, "refused")]
                .map(|(answered, outcome)| (answered, registry.counter(metric::UNLISTED_HOST, [outcome]))),
            socket_messages: plain(metric::SOCKET_MESSAGES),
            socket_closes: CLOSE_CODES
                .map(|code| (code, registry.counter(metric::SOCKETS_CLOSED, [&*code.to_string()]))),
            refused_sign_ins: SIGN_IN_ERRORS
                .map(|word| (word, registry.counter(metric::PLATFORM_SIGN_INS_REFUSED, [word]))),
            replies: REPLY_OUTCOMES.map(|outcome| (outcome, registry.counter(metric::REPLIES, [outcome]))),
            steps: FunnelStep::ALL.map(|step| (step, registry.counter(metric::SIGN_IN_STEPS, step.names()))),
            sign_ins: LoginMethod::ALL.map(|method| (method, registry.counter(metric::SIGN_INS, [method.name()]))),
            lockouts: AttemptedCredential::ALL.map(|what| (what, registry.counter(metric::LOCKOUTS, [what.name()]))),
            notices: NoticeOutcome::ALL.map(|outcome| (outcome, registry.counter(metric::NOTICES, [outcome.name()]))),
            platform_events: EventOutcome::ALL
                .map(|outcome| (outcome, registry.counter(metric::PLATFORM_EVENTS, [outcome.name()]))),
            people_checked: PersonCheckOutcome::ALL
                .map(|outcome| (outcome, registry.counter(metric::PEOPLE_CHECKED, [outcome.name()]))),
            people_left: LeaverSource::ALL
                .map(|source| (source, registry.counter(metric::PEOPLE_LEFT, [source.name()]))),
            oidc_tokens: TokenGrant::ALL.map(|grant| (grant, token_counters(&registry, grant))),
            platform_calls: platform_apis.iter().map(|&api| PlatformCalls::new(&registry, api)).collect(),
            reads: StoreOperations::new(&registry, "read"),
            writes: StoreOperations::new(&registry, "write"),
            registry,
        }
    }

    /// Counts a reply to a message, by its outcome.
    pub(crate) fn count_reply(&self, outcome: &'static str) {
        count(&self.replies, outcome);
    }

    /// Counts a closed socket by its close code.
    pub(crate) fn count_socket_close(&self, code: u16) {
        count(&self.socket_closes, code);
    }

    /// Counts a request under a host name that is not listed.
    pub(crate) fn count_unlisted_host(&self, is_answered: bool) {
        count(&self.unlisted_hosts, is_answered);
    }

    /// Counts a refused sign-in through the platform, by its reason.
    pub(crate) fn count_refused_sign_in(&self, word: &'static str) {
        count(&self.refused_sign_ins, word);
    }

    /// Counts an event of the flows.
    pub(crate) fn count_auth_event(&self, event: AuthEvent) {
        match event {
            AuthEvent::Step(step) => count(&self.steps, step),
            AuthEvent::SignedIn(method) => count(&self.sign_ins, method),
            AuthEvent::LockedOut(credential) => count(&self.lockouts, credential),
            AuthEvent::Notice(outcome) => count(&self.notices, outcome),
            AuthEvent::OidcTokens(grant, outcome) => {
                if let Some((_, outcomes)) = self.oidc_tokens.iter().find(|(known, _)| *known == grant) {
                    count(outcomes, outcome);
                }
            }
            AuthEvent::OidcLogout(client, outcome) => {
                self.registry.counter(metric::OIDC_LOGOUTS, [&*client, outcome.name()]).inc();
            }
            AuthEvent::PlatformEvents(outcome) => count(&self.platform_events, outcome),
            AuthEvent::PersonChecked(outcome) => count(&self.people_checked, outcome),
            AuthEvent::PersonLeft(source) => count(&self.people_left, source),
            AuthEvent::Refused { event, reason } => {
                self.registry.counter(metric::REFUSALS, [event.name(), reason]).inc();
            }
        }
    }

    /// Shows the counters of a client's logouts from the start, so that the first one is an increase.
    pub(crate) fn show_logouts_of(&self, client: &str) {
        for outcome in LogoutOutcome::ALL {
            drop(self.registry.counter(metric::OIDC_LOGOUTS, [client, outcome.name()]));
        }
    }

    /// Counts a call to the platform.
    pub(crate) fn count_platform_call(&self, CallReport { api, outcome, elapsed }: CallReport) {
        let Some(calls) = self.platform_calls.iter().find(|calls| calls.api == api) else { return };
        count(&calls.outcomes, outcome);
        if outcome != CallOutcome::Suspended {
            calls.seconds.observe(elapsed.as_secs_f64());
        }
    }

    /// Counts an operation of the database.
    pub(crate) fn count_store_operation(&self, OperationReport { operation, failure, elapsed }: OperationReport) {
        let operations = match operation {
            Operation::Read => &self.reads,
            Operation::Write => &self.writes,
        };
        count(&operations.outcomes, failure);
        operations.seconds.observe(elapsed.as_secs_f64());
    }

    /// Sets a gauge without labels.
    pub(crate) fn set(&self, gauge: Metric, value: f64) {
        self.registry.gauge(gauge, []).set(value);
    }

    /// Sets a gauge with one label.
    pub(crate) fn set_labelled(&self, gauge: Metric, label: &'static str, value: f64) {
        self.registry.gauge(gauge, [label]).set(value);
    }

    /// Sets a counter that is counted elsewhere.
    pub(crate) fn set_counter(&self, counter: Metric, value: u64) {
        self.registry.counter(counter, []).inner().fetch_max(value, Ordering::Relaxed);
    }

    /// All metrics in the text format of OpenMetrics.
    pub(crate) fn render(&self) -> String {
        self.registry.render()
    }
}

impl PlatformCalls {
    fn new(registry: &MetricRegistry, api: &'static str) -> Self {
        Self {
            api,
            outcomes: CallOutcome::ALL
                .map(|outcome| (outcome, registry.counter(metric::PLATFORM_CALLS, [api, outcome.name()]))),
            seconds: registry.histogram(metric::PLATFORM_CALL_DURATION, [api]),
        }
    }
}

impl StoreOperations {
    fn new(registry: &MetricRegistry, operation: &'static str) -> Self {
        Self {
            outcomes: STORE_OUTCOMES
                .map(|(failure, name)| (failure, registry.counter(metric::STORE_OPERATIONS, [operation, name]))),
            seconds: registry.histogram(metric::STORE_OPERATION_DURATION, [operation]),
        }
    }
}

fn token_counters(registry: &MetricRegistry, grant: TokenGrant) -> [(TokenOutcome, Counter); TokenOutcome::ALL.len()] {
    TokenOutcome::ALL.map(|outcome| (outcome, registry.counter(metric::OIDC_TOKENS, [grant.name(), outcome.name()])))
}

/// Counts one of a closed list.
fn count<K: Copy + PartialEq>(counters: &[(K, Counter)], key: K) {
    if let Some((_, counter)) = counters.iter().find(|(known, _)| *known == key) {
        counter.inc();
    }
}
