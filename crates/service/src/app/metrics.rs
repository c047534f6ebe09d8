//! The state of the service, as metrics.

use std::sync::Arc;
use std::time::Duration;

use deskpass_auth::{AuthObserver, Error};
use deskpass_core::{ClockTrust, Timestamp};
use deskpass_platform::{Circuit, Messenger};
use deskpass_store::{Store, StoreLoad};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::App;
use super::disk_space::DiskSpace;
use crate::telemetry::{Metrics, catalogue as metric};

/// How long a scrape waits for the stores: a store that hangs must not hide the other metrics.
const PROBE_TIMEOUT: Duration = Duration::from_millis(800);

/// The states of the circuit breaker.
const CIRCUIT_STATES: [&str; 5] = ["closed", "open", "failing", "refused", "untried"];

/// Counts what the store and the platform's client report; the returned observer counts what the flows report.
pub(super) fn start(store: &Store, platform: &dyn Messenger) -> (Arc<Metrics>, AuthObserver) {
    let metrics = Arc::new(Metrics::new(platform.apis()));
    let (of_store, of_flows) = (Arc::clone(&metrics), Arc::clone(&metrics));
    store.observe_operations(move |report| of_store.count_store_operation(report));
    observe_platform(&metrics, platform);
    (metrics, AuthObserver::new(move |event| of_flows.count_auth_event(event)))
}

/// Counts the calls of this client.
pub(super) fn observe_platform(metrics: &Arc<Metrics>, platform: &dyn Messenger) {
    let metrics = Arc::clone(metrics);
    platform.observe_calls(Box::new(move |report| metrics.count_platform_call(report)));
}

impl App {
    /// All metrics in the text format of OpenMetrics.
    pub(crate) async fn render_metrics(&self) -> String {
        let pending = timeout(PROBE_TIMEOUT, self.auth.store.pending_notices());
        let logouts = timeout(PROBE_TIMEOUT, self.show_logouts());
        let halted = timeout(PROBE_TIMEOUT, self.auth.leavers_halted());
        let (health, pending, _, halted) =
            tokio::join!(self.store_health(Some(PROBE_TIMEOUT)), pending, logouts, halted);
        if let Ok(Ok(halted)) = halted {
            self.metrics.set(metric::LEAVERS_HALTED, boolean(halted));
        }
        if let Ok(Ok(pending)) = pending {
            self.metrics.set(metric::NOTICES_PENDING, number(pending));
        }
        self.metrics.set(metric::STORE_UP, boolean(health.store));
        self.metrics.set(metric::SHARED_STORE_UP, boolean(health.shared));
        self.set_gauges();
        self.set_disk_gauges().await;
        self.set_platform_gauges();
        self.set_clock_gauges();
        self.set_settings_gauges();
        self.metrics.render()
    }

    /// Sets the number of pending logouts, and shows the counters of every client that is told about them.
    async fn show_logouts(&self) -> Result<(), Error> {
        let (rules, file) = (self.auth.store.access_rules().await?, &self.auth.policy.oidc.clients);
        let registered = rules.oidc_clients().map(|client| (&client.id, &client.registration));
        let clients = registered.chain(file.iter().map(|(id, client)| (id, &client.registration)));
        for (id, _) in clients.filter(|(_, registration)| registration.backchannel_logout_uri.is_some()) {
            self.metrics.show_logouts_of(id);
        }
        let backlogs = self.auth.store.pending_logouts().await?;
        self.metrics.set(metric::OIDC_LOGOUTS_PENDING, number(backlogs.iter().map(|backlog| backlog.count).sum()));
        Ok(())
    }

    fn set_gauges(&self) {
        let (auth, metrics) = (&self.auth, &self.metrics);
        metrics.set(metric::CONNECTION_LIMIT, number(self.settings.server.max_connections));
        metrics.set(metric::CACHED_SESSIONS, number(auth.store.cached_sessions()));
        metrics.set(metric::CACHE_IN_STEP, boolean(auth.store.is_cache_trusted()));
        metrics.set(metric::SIGN_INS_UNDER_WAY, number(auth.shared.sign_ins.len()));
        metrics.set(metric::SOCKETS, number(auth.sockets.len()));
        metrics.set_counter(metric::MESSAGES_DROPPED, auth.shared.messages.dropped());
        let queue = auth.credential_vault.hash_queue();
        metrics.set(metric::HASH_QUEUE, number(queue.waiting));
        metrics.set_counter(metric::HASH_QUEUE_REJECTIONS, queue.rejected);
        let StoreLoad { waiting, connections } = auth.store.load();
        metrics.set(metric::STORE_WAITING, number(waiting));
        if let Some((in_use, limit)) = connections {
            metrics.set(metric::STORE_CONNECTIONS, number(in_use));
            metrics.set(metric::STORE_CONNECTION_LIMIT, number(limit));
        }
    }

    /// Sets the space of the disk. A disk that does not respond must not hide the other metrics.
    async fn set_disk_gauges(&self) {
        if self.settings.store.url.is_some() {
            return;
        }
        let data = self.settings.data.clone();
        let looked = timeout(PROBE_TIMEOUT, spawn_blocking(move || DiskSpace::of(&data))).await;
        if let Ok(Ok(Ok(space))) = looked {
            self.metrics.set(metric::DISK_FREE, bytes(space.free_bytes));
            self.metrics.set(metric::DISK_SIZE, bytes(space.size_bytes));
        }
    }

    fn set_settings_gauges(&self) {
        let (metrics, status) = (&self.metrics, &self.reload_status);
        metrics.set(metric::CONFIG_RELOAD_SUCCESSFUL, boolean(status.is_successful()));
        metrics.set(metric::CONFIG_RELOAD_TIME, seconds(status.last_success()));
        if let Some(end) = self.tls.as_ref().and_then(|tls| tls.expires_at()) {
            metrics.set(metric::TLS_CERTIFICATE_EXPIRY, seconds(end));
        }
    }

    /// Clears the end of the certificate, when the service no longer speaks TLS: its last value would cause an alert later.
    pub(crate) fn clear_certificate_gauge(&self) {
        self.metrics.set(metric::TLS_CERTIFICATE_EXPIRY, f64::NAN);
    }

    fn set_platform_gauges(&self) {
        let state = match self.auth.platform.circuit() {
            Circuit::Closed => "closed",
            Circuit::Open { .. } => "open",
            Circuit::Failing => "failing",
            Circuit::Refused { .. } => "refused",
            Circuit::Untried => "untried",
        };
        for known in CIRCUIT_STATES {
            self.metrics.set_labelled(metric::PLATFORM_CIRCUIT, known, boolean(known == state));
        }
        self.metrics.set(metric::PLATFORM_UP, boolean(matches!(state, "closed" | "untried")));
    }

    fn set_clock_gauges(&self) {
        let clock = &self.auth.clock;
        self.metrics.set(metric::CLOCK_TRUSTED, boolean(clock.trust() == ClockTrust::Trusted));
        self.record_clock_skew("service", clock.machine(), clock.now());
        // In development mode the platform is simulated by this process, with the same clock.
        if self.settings.development.enabled {
            return;
        }
        match self.platform_date() {
            Some(date) => self.record_clock_skew("platform", clock.machine(), date),
            None => self.clear_clock_skew("platform"),
        }
    }

    /// Clears the difference to a clock whose time is not known now: a value of before may be wrong by now.
    pub(super) fn clear_clock_skew(&self, reference: &'static str) {
        self.metrics.set_labelled(metric::CLOCK_SKEW, reference, f64::NAN);
    }

    /// Records how far the machine's clock is ahead of another one.
    pub(super) fn record_clock_skew(&self, reference: &'static str, machine: Timestamp, other: Timestamp) {
        let ahead = machine.since(other).as_secs_f64() - other.since(machine).as_secs_f64();
        self.metrics.set_labelled(metric::CLOCK_SKEW, reference, ahead);
    }
}

const fn boolean(is_so: bool) -> f64 {
    if is_so { 1.0 } else { 0.0 }
}

fn seconds(at: Timestamp) -> f64 {
    at.since(Timestamp::from_millis(0)).as_secs_f64()
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a float; a few bytes of a disk do not matter")]
const fn bytes(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a float; no count here reaches 2^52")]
const fn number(count: usize) -> f64 {
    count as f64
}
