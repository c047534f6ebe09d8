//! Ten times as many sessions as fit into memory, of which a few are used much more than the others.

use std::sync::Arc;

use super::{BARE, DRAWS, Run, cached_sessions, metric, verify_template, version};
use crate::comparison::Comparison;
use crate::error::BenchError;
use crate::load::Load;
use crate::plan::SESSIONS_EACH;
use crate::progress::grouped;
use crate::requests::Requests;
use crate::seed::{Layout, SeededStore};
use crate::server::Server;
use crate::stats::float;

impl Run<'_> {
    pub(super) async fn cache(&mut self) -> Result<(), BenchError> {
        let (stored, entries) = (self.plan.stored, self.plan.stored / SESSIONS_EACH);
        let layout = Layout { employees: stored / SESSIONS_EACH, sessions: stored };
        let store = self.seed("cache", layout)?;
        let settings = [("DESKPASS_SESSION__CACHE_ENTRIES", &*entries.to_string())];
        let server = Server::deskpass_with(&self.workspace, &store.directory, &settings)?;
        self.report.version = version(&server).await?;
        self.fill(&server, &store.tokens(entries)).await?;
        self.count_misses(&server, &store).await?;
        let requests = Arc::new(Requests::verify(store.drawn_by_zipf(DRAWS, 5)));
        let bare = Server::bare(&self.workspace, &verify_template(&server, &requests).await?)?;
        let name = format!("verify, {} sessions stored, {} in memory", grouped(stored), grouped(entries));
        self.against(Comparison::new(name, BARE, None), &server, &bare, requests).await?;
        bare.stop()?;
        server.stop()
    }

    /// Verifies sessions by Zipf's law until the cache has settled, and then counts how many have to be read from the database.
    async fn count_misses(&mut self, server: &Server, store: &SeededStore) -> Result<(), BenchError> {
        let mut missed = 0.0;
        for (seed, pass) in [(3, "until the cache has settled"), (4, "and count the misses")] {
            self.progress.step(format_args!("verify sessions by Zipf's law, {pass}"));
            let load = Load::new(Arc::new(Requests::verify(store.drawn_by_zipf(DRAWS, seed))));
            let before = reads(server).await?;
            load.all(server, "session", &self.progress).await?;
            missed = reads(server).await? - before;
        }
        let how = format!("of {} requests; {} in memory", grouped(DRAWS), grouped(cached_sessions(server).await?));
        let name = format!("misses among {} sessions stored", grouped(store.sessions));
        self.report.figure(&name, &how, &format!("{:.1} %", missed * 100.0 / float(DRAWS)), None);
        Ok(())
    }
}

/// How often the service has read the database: once for each miss, and now and then for itself.
async fn reads(server: &Server) -> Result<f64, BenchError> {
    metric(server, "deskpass_store_operations_total{operation=\"read\"").await
}
