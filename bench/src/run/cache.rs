//! Ten times as many sessions as fit into memory, of which a few are used much more than the others.

use std::path::Path;
use std::sync::Arc;

use super::{BARE, DRAWS, Run, SIZE_TOLERANCE_BYTES, same_size, template, version};
use crate::bare_handler::ResponseTemplates;
use crate::comparison::Comparison;
use crate::derived_seed::DerivedStore;
use crate::error::BenchError;
use crate::load::Load;
use crate::plan::{CACHE_HIT_RATIO, SESSIONS_EACH};
use crate::progress::grouped;
use crate::requests::Requests;
use crate::seed::Layout;
use crate::server::Server;

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
        self.settle(&server, &store).await?;
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

    /// Verifies sessions by Zipf's law, until the cache has settled.
    async fn settle(&mut self, server: &Server, store: &DerivedStore) -> Result<(), BenchError> {
        self.progress.step("verify sessions by Zipf's law, until the cache has settled");
        let requests = Arc::new(Requests::verify(store.drawn(store.sessions, DRAWS, 3)));
        Load::new(requests).all(server, "session", &self.progress).await?;
        Ok(())
    }
}
