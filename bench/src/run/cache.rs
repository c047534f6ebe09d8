//! Ten times as many sessions as fit into memory, of which a few are used much more than the others.

use std::path::Path;
use std::sync::Arc;

use super::{BARE, DRAWS, Run, SIZE_TOLERANCE_BYTES, cached_sessions, metric, same_size, template, version};
use crate::bare_handler::ResponseTemplates;
use crate::comparison::Comparison;
use crate::derived_seed::DerivedStore;
use crate::error::BenchError;
use crate::load::Load;
use crate::plan::{CACHE_HIT_RATIO, MISS_SHARE, SESSIONS_EACH};
use crate::progress::grouped;
use crate::requests::Requests;
use crate::seed::Layout;
use crate::server::Server;
use crate::stats::float;

/// One in so many of the sessions in memory is used so often that it always stays there.
const ALWAYS_IN_MEMORY: usize = 10;

impl Run<'_> {
    pub(super) async fn cache(&mut self) -> Result<(), BenchError> {
        let (stored, cached) = (self.plan.stored, self.plan.stored / SESSIONS_EACH);
        let layout = Layout { employees: stored / SESSIONS_EACH, sessions: stored };
        let store = DerivedStore::seed(&self.workspace, layout, &self.progress)?;
        self.starts(&store.directory, stored)?;
        let server = self.service_with_cache(&store.directory, cached)?;
        self.report.version = version(&server).await?;
        self.progress.step("verify the most frequent sessions once");
        self.show(&server, &store.first(cached)).await?;
        self.misses_by_zipf(&server, &store).await?;
        let everyone = Arc::new(Requests::verify(store.drawn(stored, DRAWS, 5)));
        let often = Arc::new(Requests::verify(store.drawn(cached / ALWAYS_IN_MEMORY, DRAWS, 6)));
        let verify = template(&server, &often).await?.0;
        let bare = Server::bare(&self.workspace, &ResponseTemplates { verify, ..ResponseTemplates::default() })?;
        same_size(&server, &bare, &often, SIZE_TOLERANCE_BYTES).await?;
        for (what, requests, target) in [("in memory", often, Some(CACHE_HIT_RATIO)), ("any", everyone, None)] {
            let name = format!("verify, {} sessions stored, {} in memory: {what}", grouped(stored), grouped(cached));
            let comparison = self.against(Comparison::new(name, BARE, target), &server, &bare, requests).await?;
            self.report.add_comparison(comparison);
        }
        bare.stop()?;
        server.stop()
    }

    fn service_with_cache(&self, directory: &Path, entries: usize) -> Result<Server, BenchError> {
        let entries = entries.to_string();
        Server::deskpass_with(&self.workspace, directory, &[("DESKPASS_SESSION__CACHE_ENTRIES", &entries)])
    }

    /// Verifies sessions by Zipf's law, and then counts how many of them are not in memory: requests that are answered directly are.
    async fn misses_by_zipf(&mut self, server: &Server, store: &DerivedStore) -> Result<(), BenchError> {
        let mut hits = 0;
        for (seed, pass) in [(3, "until the cache has settled"), (4, "and count the misses")] {
            self.progress.step(format_args!("verify sessions by Zipf's law, {pass}"));
            let requests = Arc::new(Requests::verify(store.drawn(store.sessions, DRAWS, seed)));
            let before = direct_responses(server).await?;
            Load::new(requests).all(server, "session", &self.progress).await?;
            hits = direct_responses(server).await?.saturating_sub(before);
        }
        let (missed, cached) = (DRAWS.saturating_sub(hits), cached_sessions(server).await?);
        let share = float(missed) / float(DRAWS);
        let name = format!("misses among {} sessions stored", grouped(store.sessions));
        let [missed, of, cached] = [missed, DRAWS, cached].map(grouped);
        let seen = format!("{missed} of {of} requests, {cached} in memory");
        let target = Some((&*format!("{:.0} %", MISS_SHARE * 100.0), share <= MISS_SHARE));
        self.report.figure(&name, &seen, &format!("{:.1} %", share * 100.0), target);
        Ok(())
    }
}

/// The number of requests that the service has answered directly.
async fn direct_responses(server: &Server) -> Result<usize, BenchError> {
    metric(server, "deskpass_direct_responses_total").await
}
