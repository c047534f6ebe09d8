//! Sessions that are not in memory, on a single node.

use std::sync::Arc;

use super::{Run, SIZE_TOLERANCE_BYTES, SMALL_CACHE, same_size, template};
use crate::bare_handler::ResponseTemplates;
use crate::comparison::Comparison;
use crate::error::BenchError;
use crate::load::Load;
use crate::plan::MISS_RATIO;
use crate::postgres_baseline::Digests;
use crate::progress::grouped;
use crate::requests::Requests;
use crate::seed::SeededStore;
use crate::server::Server;
use crate::sqlite_look_ups::SqliteLookUps;

impl Run<'_> {
    /// The target is beside a handler with the same look-up; SQLite without HTTP shows what the rest costs.
    pub(super) async fn embedded_misses(&mut self, store: &SeededStore) -> Result<(), BenchError> {
        let server = Server::deskpass_with(&self.workspace, &store.directory, &[SMALL_CACHE])?;
        let requests = Arc::new(Requests::verify(store.tokens.clone()));
        let answers =
            ResponseTemplates { verify: template(&server, &requests).await?.0, ..ResponseTemplates::default() };
        let bare = Server::bare_look_up(&self.workspace, &store.directory, &answers)?;
        same_size(&server, &bare, &requests, SIZE_TOLERANCE_BYTES).await?;
        let name = format!("verify, {} live sessions, every one a miss", grouped(store.tokens.len()));
        let comparison = Comparison::new(name.clone(), "bare axum handler with the same look-up", Some(MISS_RATIO));
        let comparison = self.against(comparison, &server, &bare, Arc::clone(&requests)).await?;
        self.report.add_comparison(comparison);
        bare.stop()?;
        let load = Load::new(requests);
        let mut alone = SqliteLookUps::open(&store.directory, Digests::of(&store.tokens)?)?;
        let comparison = Comparison::new(format!("{name}, beside SQLite"), "SQLite alone, without HTTP", None);
        let (ours, theirs) = (async |length| load.round(&[&server], length).await, async |length| alone.round(length));
        self.report.add_comparison(comparison.run(self.plan.short, &self.progress, ours, theirs).await?);
        server.stop()
    }
}
