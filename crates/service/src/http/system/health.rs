//! Liveness, readiness, metrics and version, for operators.

use std::time::Duration;

use axum::Extension;
use axum::response::{IntoResponse as _, Response};
use hyper::header::CONTENT_TYPE;
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::app::readiness::ReadinessReport;
use crate::http::error::ApiError;
use crate::http::request::{MayKnowState, Operator, ReserveConnection};
use crate::http::response::Reply;

/// How long a request on a reserve connection waits for the probe: there are few such connections.
const RESERVE_PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// Reports whether the service is ready for requests.
pub(crate) async fn ready(
    MayKnowState(may_know_state): MayKnowState,
    app: App,
    reserve: Option<Extension<ReserveConnection>>,
) -> Result<Reply<ReadinessReport>, ApiError> {
    let mut report = app.readiness(reserve.map(|_| RESERVE_PROBE_TIMEOUT)).await;
    if may_know_state && report.ready {
        report.administrators = app.administrators().await;
    }
    if report.ready { Ok(Reply(report)) } else { Err(ApiError::NotReady(Box::new(report))) }
}

/// Reports that the process responds.
pub(crate) async fn alive() -> &'static str {
    "ok\n"
}

/// The running version.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Build {
    name: &'static str,
    version: &'static str,
    commit: &'static str,
    built_at: &'static str,
}

/// Returns the running version.
pub(crate) async fn version() -> Reply<Build> {
    Reply(Build {
        name: "deskpass",
        version: env!("CARGO_PKG_VERSION"),
        commit: env!("BUILD_COMMIT"),
        built_at: env!("BUILD_TIME"),
    })
}

/// Returns the metrics for Prometheus.
pub(crate) async fn metrics(_: Operator, app: App) -> Response {
    let kind = [(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")];
    (kind, app.render_metrics().await).into_response()
}
