//! Whether the service is ready for requests, and the state of each thing it depends on.

use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{ClockTrust, MAX_CLOCK_SKEW, RECOVERED_CLOCK_SKEW, Timestamp};
use deskpass_platform::{Circuit, PlatformKind};
use deskpass_store::DatabaseTime;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::{App, clock};

/// How long the result of a probe is used: frequent readiness checks must not load the stores.
const READINESS_CACHE_TTL: Duration = Duration::from_secs(1);

/// The state of the clock of a node that is too far from the database's.
const CLOCK_DIFFERS: &str = "differs";

/// The result of the newest probe of the stores, and its time. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadinessCache {
    probed: Arc<Mutex<Option<(Timestamp, StoreHealth)>>>,
    /// When an administrator was last found.
    administered: Arc<Mutex<Option<Timestamp>>>,
}

/// The result of a probe of the stores; both are down unless it says otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StoreHealth {
    pub(super) store: bool,
    pub(super) shared: bool,
    /// Whether the clock of the service is too far from that of the shared database.
    clock_differs: bool,
}

/// Whether the service is ready, and the state of its dependencies.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Readiness")]
pub(crate) struct ReadinessReport {
    pub(crate) ready: bool,
    draining: bool,
    #[schemars(extend("enum" = ["development", "production"]))]
    mode: &'static str,
    #[schemars(extend("enum" = PlatformKind::ALL.map(PlatformKind::name)))]
    platform_kind: &'static str,
    dependencies: Dependencies,
    /// Why the machine's clock is not trusted; missing while it is. In doubt, the service continues from the newest record.
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<ClockDoubt>,
    /// Whether the corporation has an administrator; only for operator networks and signed-in users of a service that is ready.
    #[schemars(extend("enum" = ["none", "some"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) administrators: Option<&'static str>,
}

/// Why the machine's clock is not trusted.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
struct ClockDoubt {
    #[schemars(extend("enum" = [
        "ahead_of_record", "behind_record", "stepped", "contradicted_by_database", "contradicted_by_platform"
    ]))]
    reason: &'static str,
    /// How far the machine's time is ahead of what it is compared with; negative when it is behind.
    ahead_seconds: i64,
    /// What the operator should do about it.
    action: &'static str,
}

#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
struct Dependencies {
    #[schemars(extend("enum" = ["ok", "unavailable"]))]
    store: &'static str,
    /// The shared store. Only new sign-ins need it, so it does not make the service unready.
    #[schemars(extend("enum" = ["ok", "unavailable"]))]
    shared: &'static str,
    /// The platform, by recent requests. Only new sign-ins need it, so it does not make the service unready.
    #[schemars(extend("enum" = ["ok", "suspended", "unreachable", "refused", "unknown"]))]
    platform: &'static str,
    /// The clock. `doubted`: the machine's is not trusted. `differs`: more than 30 s from the database's, which makes the service unready.
    #[schemars(extend("enum" = ["ok", "doubted", CLOCK_DIFFERS]))]
    clock: &'static str,
}

impl ReadinessReport {
    /// Why the service is not ready, in English and Chinese.
    pub(crate) fn cause(&self) -> [&'static str; 2] {
        if self.draining {
            ["shutting down", "正在停机"]
        } else if self.dependencies.clock == CLOCK_DIFFERS {
            ["clock differs from the database's", "时钟与数据库的时钟不一致"]
        } else {
            ["store unavailable", "存储不可用"]
        }
    }
}

impl App {
    /// Reports whether the service is ready. With `probe_timeout`, stores that have not answered by then count as unavailable.
    pub(crate) async fn readiness(&self, probe_timeout: Option<Duration>) -> ReadinessReport {
        let health = self.store_health(probe_timeout).await;
        let draining = self.is_draining();
        let word = |works| if works { "ok" } else { "unavailable" };
        let clock = clock_doubt(self);
        ReadinessReport {
            ready: health.store && !health.clock_differs && !draining,
            draining,
            mode: if self.settings.development.enabled { "development" } else { "production" },
            platform_kind: self.auth.platform.kind().name(),
            dependencies: Dependencies {
                store: word(health.store),
                shared: word(health.shared),
                platform: platform(self),
                clock: match &clock {
                    _ if health.clock_differs => CLOCK_DIFFERS,
                    Some(_) => "doubted",
                    None => "ok",
                },
            },
            clock,
            administrators: None,
        }
    }

    /// Whether the corporation has an administrator: `none` or `some`; nothing where that cannot be read.
    pub(crate) async fn administrators(&self) -> Option<&'static str> {
        let (mut found_at, now) = (self.readiness.administered.lock().await, self.auth.clock.now());
        if found_at.is_some_and(|at| now.since(at) < READINESS_CACHE_TTL) {
            return Some("some");
        }
        let corp = self.auth.policy.home_corp.as_str().to_owned();
        let found = self.auth.store.has_administrator(corp).await.ok()?;
        *found_at = found.then_some(now);
        Some(if found { "some" } else { "none" })
    }

    /// Whether the stores accept writes. With `probe_timeout`, a store that has not answered by then counts as unavailable.
    pub(super) async fn store_health(&self, probe_timeout: Option<Duration>) -> StoreHealth {
        match probe_timeout {
            None => store_health(self).await,
            Some(limit) => timeout(limit, store_health(self)).await.unwrap_or_default(),
        }
    }
}

fn clock_doubt(app: &App) -> Option<ClockDoubt> {
    let ClockTrust::Doubted(doubt) = app.auth.clock.trust() else { return None };
    let (reason, action) = (doubt.reason.name(), clock::operator_advice(doubt.reason));
    Some(ClockDoubt { reason, ahead_seconds: doubt.ahead / 1_000, action })
}

fn platform(app: &App) -> &'static str {
    match app.auth.platform.circuit() {
        Circuit::Closed => "ok",
        Circuit::Open { .. } => "suspended",
        Circuit::Failing => "unreachable",
        Circuit::Refused { .. } => "refused",
        Circuit::Untried => "unknown",
    }
}

async fn store_health(app: &App) -> StoreHealth {
    // Concurrent checks wait for the probe under way and use its result.
    let mut seen = Arc::clone(&app.readiness.probed).lock_owned().await;
    match *seen {
        Some((at, seen)) if app.auth.clock.now().since(at) < READINESS_CACHE_TTL => seen,
        before => {
            let differed = before.is_some_and(|(_, health)| health.clock_differs);
            let app = app.clone();
            // The probe continues when its caller gives up: otherwise every retry would start another on a store that hangs.
            let looking = tokio::spawn(async move {
                let found = probe(&app, differed).await;
                // Dated when it ended, so that the checks that waited for it do not probe again.
                *seen = Some((app.auth.clock.now(), found));
                found
            });
            looking.await.unwrap_or_default()
        }
    }
}

/// Probes the stores. A node whose clock `differed` in the last probe is ready only when it is clearly within the tolerance again.
async fn probe(app: &App, differed: bool) -> StoreHealth {
    let now = app.auth.clock.now();
    let store = async {
        app.auth.store.probe(now).await?;
        // Without the key of the audit log, nothing that is logged can be done.
        app.auth.store.require_log_key(app.auth.chain_keys.clone()).await?;
        app.database_time().await
    };
    let (store, shared) = tokio::join!(store, app.auth.shared.probe());
    let store = store.inspect_err(|error| tracing::warn!(%error, "store probe failed"));
    let shared = shared.inspect_err(|error| tracing::warn!(%error, "shared store probe failed: cannot write"));
    // Sessions end by the clock of the service, whatever the machine's shows.
    let tolerance = if differed { RECOVERED_CLOCK_SKEW } else { MAX_CLOCK_SKEW };
    let differs = |common: &DatabaseTime| app.auth.clock.differs_from(common.at, tolerance);
    let clock_differs = matches!(&store, Ok(Some(common)) if differs(common));
    StoreHealth { store: store.is_ok(), shared: shared.is_ok(), clock_differs }
}
