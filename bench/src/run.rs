//! The sequence of a run.

mod cache;
mod embedded;
mod ends;
mod flood;
mod rush;
mod scale;
mod scaled_out;
mod sockets;
mod ten_nodes;

use std::sync::Arc;
use std::time::Duration;

use crate::backends::{Backends, SharedBackend};
use crate::bare_handler::{ResponseTemplate, ResponseTemplates};
use crate::comparison::Comparison;
use crate::connection::Connection;
use crate::error::BenchError;
use crate::load::Load;
use crate::plan::{Group, Plan, Rounds};
use crate::progress::Progress;
use crate::report::{Report, whole};
use crate::requests::{Requests, WordList, get};
use crate::seed::{self, Layout, SeededStore, seed};
use crate::server::Server;
use crate::stats::{Round, now};
use crate::workspace::Workspace;

/// The number of random draws made in advance. After the last, the load starts over.
const DRAWS: usize = 1 << 20;

/// The smallest session cache that a node accepts.
const SMALL_CACHE: (&str, &str) = ("DESKPASS_SESSION__CACHE_ENTRIES", "1000");

/// The baseline of most comparisons of HTTP requests.
const BARE: &str = "bare axum handler";

/// The bytes by which responses may differ: a request id or a session's remaining seconds may gain or lose a digit.
const SIZE_TOLERANCE_BYTES: usize = 4;

struct Run<'a> {
    plan: &'a Plan,
    workspace: Workspace,
    progress: Progress,
    report: Report,
}

/// Measures a group.
pub(crate) async fn run(plan: &Plan, group: Group) -> Result<Report, BenchError> {
    let start = now();
    let began = jiff::Timestamp::from_millisecond(seed::now().millis())?;
    let date = began.strftime("%Y-%m-%d %H:%M UTC").to_string();
    let report = Report::new(group, date, plan.quick);
    let mut run = Run { plan, workspace: Workspace::open()?, progress: Progress::new(), report };
    match group {
        Group::Embedded => run.embedded().await?,
        Group::ScaledOut => run.scaled_out().await?,
        Group::Sockets => run.sockets().await?,
        Group::Cache => run.cache().await?,
        Group::Rush => run.rush().await?,
        Group::Scale => run.scale().await?,
    }
    run.report.took = start.elapsed();
    Ok(run.report)
}

impl Run<'_> {
    /// A store with employees and sessions.
    fn seed(&self, name: &str, layout: Layout) -> Result<SeededStore, BenchError> {
        seed(&self.workspace, name, layout, &self.progress)
    }

    /// A shared backend with employees and sessions, and the tokens of these.
    async fn shared_backend(
        &self,
        servers: &Backends,
        name: &'static str,
        layout: Layout,
    ) -> Result<(SharedBackend, WordList), BenchError> {
        let store = self.seed(name, layout)?;
        self.progress.step(format_args!("{name}: copy them to PostgreSQL"));
        let backend = SharedBackend::copied(&self.workspace, servers, name, &store.directory).await?;
        Ok((backend, store.all_tokens()))
    }

    /// Makes the service load the session of each token once.
    async fn fill(&self, server: &Server, tokens: &WordList) -> Result<(), BenchError> {
        self.progress.step("verify every session once, so that the cache has seen it");
        Load::new(Arc::new(Requests::verify(tokens.clone()))).all(server, "session", &self.progress).await
    }

    /// Compares a server with a baseline that gets the same requests.
    async fn against(
        &mut self,
        comparison: Comparison,
        server: &Server,
        baseline: &Server,
        requests: Arc<Requests>,
    ) -> Result<(), BenchError> {
        same_size(server, baseline, &requests).await?;
        let (our, their) = (Load::new(Arc::clone(&requests)), Load::new(requests));
        let ours = async |length| our.round(server, length).await;
        let theirs = async |length| their.round(baseline, length).await;
        self.compare(comparison, self.plan.short, ours, theirs).await
    }

    /// Measures both sides of a comparison, and adds it to the report.
    async fn compare(
        &mut self,
        comparison: Comparison,
        rounds: Rounds,
        ours: impl AsyncFnMut(Duration) -> Result<Round, BenchError>,
        theirs: impl AsyncFnMut(Duration) -> Result<Round, BenchError>,
    ) -> Result<(), BenchError> {
        let compared = comparison.run(rounds, &self.progress, ours, theirs).await?;
        self.report.add_comparison(compared);
        Ok(())
    }
}

/// The server's response to the first of these requests, to be sent by a baseline for requests to verify.
async fn verify_template(server: &Server, requests: &Requests) -> Result<ResponseTemplates, BenchError> {
    Ok(ResponseTemplates { verify: template(server, requests).await?.0, ..ResponseTemplates::default() })
}

/// The server's response to the first of these requests, and its size in bytes.
async fn template(server: &Server, requests: &Requests) -> Result<(ResponseTemplate, usize), BenchError> {
    let (mut connection, mut request) = (Connection::open(server.address).await?, Vec::new());
    requests.write(0, &mut request);
    let answer = connection.exchange(&request).await?;
    if !requests.accepts(answer) {
        return Err(format!("not the answer to measure:\n{}", answer.text()).into());
    }
    Ok((ResponseTemplate::of(answer), answer.len()))
}

/// Checks that both sides send responses of about the same size.
async fn same_size(server: &Server, baseline: &Server, requests: &Requests) -> Result<(), BenchError> {
    let (ours, theirs) = (template(server, requests).await?.1, template(baseline, requests).await?.1);
    if ours.abs_diff(theirs) > SIZE_TOLERANCE_BYTES {
        return Err(format!("the service answers {ours} bytes, the baseline {theirs}").into());
    }
    Ok(())
}

/// The version that the service reports.
async fn version(server: &Server) -> Result<String, BenchError> {
    let mut connection = Connection::open(server.address).await?;
    let answer: serde_json::Value = serde_json::from_slice(connection.exchange(&get("/api/version")).await?.body())?;
    let word = |name: &str| answer.pointer(&format!("/data/{name}")).and_then(serde_json::Value::as_str);
    let (version, commit) = (word("version").unwrap_or("unknown"), word("commit").unwrap_or("unknown"));
    Ok(format!("deskpass {version}, commit {commit}"))
}

/// The number of cached sessions that the service reports.
async fn cached_sessions(server: &Server) -> Result<usize, BenchError> {
    Ok(whole(metric(server, "deskpass_cached_sessions").await?))
}

/// A number that the service reports, as the sum of all metrics whose name and labels begin with this text.
async fn metric(server: &Server, start: &str) -> Result<f64, BenchError> {
    let mut connection = Connection::open(server.address).await?;
    let figures = connection.exchange(&get("/metrics")).await?.text();
    sum_of(&figures, start).ok_or_else(|| format!("no {start} among the metrics").into())
}

fn sum_of(figures: &str, start: &str) -> Option<f64> {
    let numbers = figures.lines().filter(|line| line.starts_with(start));
    numbers.map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).reduce(|sum, number| Some(sum? + number?))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_added_up_whatever_their_numbers_look_like() {
        let figures = "# TYPE cached gauge\ncached 1.0\nops_total{of=\"read\",outcome=\"ok\"} 2\n\
            ops_total{of=\"read\",outcome=\"lost\"} 3.0\nops_total{of=\"write\",outcome=\"ok\"} 4\n# EOF\n";
        assert_eq!(sum_of(figures, "cached "), Some(1.0));
        assert_eq!(sum_of(figures, "ops_total{of=\"read\""), Some(5.0));
        assert_eq!(sum_of(figures, "other"), None);
    }
}
