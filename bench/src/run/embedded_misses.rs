//! Sessions that are not in memory, on a single node.

use std::sync::Arc;

use super::{Run, SMALL_CACHE};
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
    pub(super) async fn embedded_misses(&mut self, store: &SeededStore) -> Result<(), BenchError> {
        let server = Server::deskpass_with(&self.workspace, &store.directory, &[SMALL_CACHE])?;
        let load = Load::new(Arc::new(Requests::verify(store.tokens.clone())));
        let mut alone = SqliteLookUps::open(&store.directory, Digests::of(&store.tokens)?)?;
        let name = format!("verify, {} live sessions, every one a miss", grouped(store.tokens.len()));
        let (plan, comparison) = (self.plan, Comparison::new(name, "SQLite alone", Some(MISS_RATIO)));
        let (ours, theirs) = (async || load.round(&[&server], plan.round).await, async || alone.round(plan.round));
        self.report.add_comparison(comparison.run(plan, &self.progress, ours, theirs).await?);
        server.stop()
    }
}
