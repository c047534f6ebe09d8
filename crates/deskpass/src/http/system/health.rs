//! For whoever watches over the service: is it alive, is it ready, how is it doing, what is it.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use deskpass_core::{ClockTrust, Timestamp};
use deskpass_wecom::Circuit;
use hyper::header::CONTENT_TYPE;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::App;
use crate::app::clock;
use crate::http::admission::ReserveConnection;
use crate::http::error::ApiError;
use crate::http::request::extract::Operator;
use crate::http::response::envelope::Reply;

/// How long a look at the store counts: readiness asked often must not become a load of its own.
const READINESS_CACHE_TTL: Duration = Duration::from_secs(1);

/// How long somebody on a connection from the reserve waits for that look: there are few of them.
const RESERVE_PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// What was seen of the stores, and when.
#[derive(Debug, Default)]
pub(crate) struct ReadinessCache(Arc<Mutex<Option<(Timestamp, StoreHealth)>>>);

/// What was seen of the stores.
#[derive(Clone, Copy, Debug)]
struct StoreHealth {
    store: bool,
    shared: bool,
}

impl StoreHealth {
    const DOWN: Self = Self { store: false, shared: false };
}

/// Whether the service is ready, and each thing it depends on.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Readiness")]
pub(crate) struct ReadinessReport {
    ready: bool,
    draining: bool,
    #[schemars(extend("enum" = ["development", "production"]))]
    mode: &'static str,
    dependencies: Dependencies,
    /// Why the machine's clock is not trusted, while that is so. The service goes on by the newest record.
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<ClockDoubt>,
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
    /// What an operator does about it.
    action: &'static str,
}

#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
struct Dependencies {
    #[schemars(extend("enum" = ["ok", "unavailable"]))]
    store: &'static str,
    /// Only new sign-ins need it, so it does not make the service unready.
    #[schemars(extend("enum" = ["ok", "unavailable"]))]
    shared: &'static str,
    /// What it looked like lately. Only new sign-ins need it, so it does not make the service unready.
    #[schemars(extend("enum" = ["ok", "suspended", "unreachable", "refused", "unknown"]))]
    platform: &'static str,
    /// The machine's clock. While it is doubted nothing is removed for its age; it does not make the service unready.
    #[schemars(extend("enum" = ["ok", "doubted"]))]
    clock: &'static str,
}

impl ReadinessReport {
    /// Why it is not ready, in English and Chinese.
    pub(crate) fn cause(&self) -> [&'static str; 2] {
        if self.draining { ["shutting down", "正在停机"] } else { ["store unavailable", "存储不可用"] }
    }
}

/// Says whether to send requests here.
pub(crate) async fn ready(
    State(app): State<App>,
    reserve: Option<Extension<ReserveConnection>>,
) -> Result<Reply<ReadinessReport>, ApiError> {
    let seen = match reserve {
        None => store_health(&app).await,
        Some(_) => timeout(RESERVE_PROBE_TIMEOUT, store_health(&app)).await.unwrap_or(StoreHealth::DOWN),
    };
    let draining = app.is_draining();
    let word = |works| if works { "ok" } else { "unavailable" };
    let clock = clock_doubt(&app);
    let state = ReadinessReport {
        ready: seen.store && !draining,
        draining,
        mode: if app.settings.development { "development" } else { "production" },
        dependencies: Dependencies {
            store: word(seen.store),
            shared: word(seen.shared),
            platform: platform(&app),
            clock: if clock.is_some() { "doubted" } else { "ok" },
        },
        clock,
    };
    if state.ready { Ok(Reply(state)) } else { Err(ApiError::NotReady(Box::new(state))) }
}

fn clock_doubt(app: &App) -> Option<ClockDoubt> {
    let ClockTrust::Doubted(doubt) = app.auth.clock.trust() else { return None };
    let (reason, ahead_seconds) = (doubt.reason.name(), clock::ahead_seconds(doubt));
    Some(ClockDoubt { reason, ahead_seconds, action: clock::operator_advice(doubt.reason) })
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
    // Whoever asks while somebody looks waits for what they see.
    let mut seen = Arc::clone(&app.readiness.0).lock_owned().await;
    match *seen {
        Some((at, seen)) if app.auth.clock.now().since(at) < READINESS_CACHE_TTL => seen,
        _ => {
            let app = app.clone();
            // It goes on when nobody waits any more: else whoever gives up and asks again would have the store asked again,
            // too, while it has not answered yet.
            let looking = tokio::spawn(async move {
                let found = probe(&app).await;
                // From when it was found: whoever waited for it does not look again.
                *seen = Some((app.auth.clock.now(), found));
                found
            });
            looking.await.unwrap_or(StoreHealth::DOWN)
        }
    }
}

async fn probe(app: &App) -> StoreHealth {
    let now = app.auth.clock.now();
    let (store, shared) = tokio::join!(app.auth.store.probe(now), app.auth.shared.probe());
    let store = store.inspect_err(|error| tracing::warn!(%error, "the store does not take writes"));
    let shared = shared.inspect_err(|error| tracing::warn!(%error, "the shared store does not take records"));
    StoreHealth { store: store.is_ok(), shared: shared.is_ok() }
}

/// Says that the process answers.
pub(crate) async fn alive() -> &'static str {
    "ok\n"
}

/// What is running.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Build {
    name: &'static str,
    version: &'static str,
    commit: &'static str,
    built_at: &'static str,
}

/// Says what is running.
pub(crate) async fn version() -> Reply<Build> {
    Reply(Build {
        name: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
        commit: env!("BUILD_COMMIT"),
        built_at: env!("BUILD_TIME"),
    })
}

/// Figures for Prometheus.
pub(crate) async fn metrics(_: Operator, State(app): State<App>) -> Response {
    let kind = [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (kind, app.metrics.render(&app)).into_response()
}
