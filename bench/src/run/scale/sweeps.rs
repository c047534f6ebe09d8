//! The sweep and the pruning of the audit log, batch by batch. The service runs them in the background, where they cannot be timed, so this
//! process opens the store instead.

use deskpass_core::Timestamp;
use deskpass_store::{ChainKeys, Mode, Store};

use super::Place;
use super::calls::CallResults;
use crate::error::BenchError;
use crate::run::Run;
use crate::scale_seed::{PRUNED_DAYS, days_before};
use crate::stats::{nanoseconds, now};

/// The number of rows of a batch, as in the service.
const BATCH_SIZE: i64 = 500;
/// The same for each of the eight chains of the audit log.
const PRUNE_BATCH_SIZE: i64 = 100;

/// The sessions that are kept in the cache of this process: none are read.
const CACHE_ENTRIES: usize = 1_000;

impl Run<'_> {
    /// Removes what has expired, and then times the same once more, when there is nothing left to remove.
    pub(super) async fn sweeps(
        &mut self,
        place: &Place,
        moment: Timestamp,
        keys: &ChainKeys,
    ) -> Result<(), BenchError> {
        let title = place.title();
        self.progress.step(format_args!("{title}: sweep and prune"));
        let opened =
            Store::open_with(place.location(), Mode::Development, CACHE_ENTRIES, moment, Some(keys.clone())).await;
        let store = opened?;
        let [expired, pruned] = [1, PRUNED_DAYS].map(|days| Timestamp::from_millis(days_before(moment, days)));
        for name in ["sweep of 500 expired sessions", "sweep without anything to remove"] {
            let batches = self.batches(name, async || store.sweep(moment, expired, BATCH_SIZE).await).await;
            self.report_calls(&format!("{title}: {name}"), batches);
        }
        for name in ["prune of 800 rows of the audit log", "prune without anything to remove"] {
            let batches =
                self.batches(name, async || store.prune_log(pruned, keys.clone(), PRUNE_BATCH_SIZE).await).await;
            self.report_calls(&format!("{title}: {name}"), batches);
        }
        Ok(())
    }

    /// Runs batches: until there is nothing left to remove, and if there was nothing from the beginning, as many as there are other
    /// calls of a kind. An error ends them.
    async fn batches<E: std::fmt::Display>(
        &self,
        name: &str,
        mut batch: impl AsyncFnMut() -> Result<usize, E>,
    ) -> CallResults {
        let (mut results, mut removed) = (CallResults::default(), 0);
        while results.times.len() < self.plan.calls || removed > 0 {
            let began = now();
            let done = batch().await;
            let took = nanoseconds(began.elapsed());
            match done {
                // The last of several batches has nothing to do.
                Ok(0) if removed > 0 => break,
                Ok(some) => removed += some,
                Err(error) => {
                    results.add_failure(name, &error.to_string());
                    break;
                }
            }
            results.times.push(took);
        }
        self.progress.at(name, results.times.len(), results.times.len());
        results
    }
}
