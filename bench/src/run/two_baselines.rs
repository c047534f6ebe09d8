//! The two most frequent checks, verify and me, beside a bare handler of axum and beside hyper alone.

use std::sync::Arc;

use super::{BARE, DRAWS, Run, SIZE_TOLERANCE_BYTES, same_size, template};
use crate::bare_handler::ResponseTemplates;
use crate::comparison::Comparison;
use crate::error::BenchError;
use crate::load::Load;
use crate::plan::Rounds;
use crate::progress::grouped;
use crate::requests::{Requests, WordList};
use crate::server::Server;

/// The name of the second baseline.
const HYPER: &str = "bare hyper";

impl Run<'_> {
    /// Compares both checks with both baselines. The target is beside the bare handler; hyper alone shows what axum costs.
    pub(super) async fn checks_beside_hyper(
        &mut self,
        target: f64,
        server: &Server,
        tokens: &WordList,
    ) -> Result<(), BenchError> {
        let (sessions, drawn) = (grouped(tokens.len()), tokens.drawn(DRAWS));
        let (verify, me) = (Arc::new(Requests::verify(drawn.clone())), Arc::new(Requests::me(drawn)));
        let (verified, told) = (template(server, &verify).await?.0, template(server, &me).await?.0);
        let answers = ResponseTemplates { verify: verified, me: told, ..ResponseTemplates::default() };
        let axum = Server::bare(&self.workspace, &answers)?;
        let hyper = Server::bare_hyper(&self.workspace, &answers)?;
        for (name, requests) in [("verify", verify), ("me", me)] {
            for bare in [&axum, &hyper] {
                same_size(server, bare, &requests, SIZE_TOLERANCE_BYTES).await?;
            }
            let name = format!("{name}, {sessions} live sessions");
            let second = Comparison::new(format!("{name}, beside {HYPER}"), HYPER, None);
            let comparisons = [Comparison::new(name, BARE, Some(target)), second];
            let compared = self.beside_both(comparisons, server, [&axum, &hyper], &requests).await?;
            for comparison in compared {
                self.report.add_comparison(comparison);
            }
        }
        axum.stop()?;
        hyper.stop()
    }

    /// Measures the service and both baselines with the same requests, in turns.
    async fn beside_both(
        &self,
        [mut first, mut second]: [Comparison; 2],
        server: &Server,
        [axum, hyper]: [&Server; 2],
        requests: &Arc<Requests>,
    ) -> Result<[Comparison; 2], BenchError> {
        let Rounds { count, length } = self.plan.short;
        let [our_load, first_load, second_load] = [(); 3].map(|()| Load::new(Arc::clone(requests)));
        self.progress.step(format_args!("{} (beside it: {}, {})", first.name, first.baseline, second.baseline));
        for round in 0..=count {
            let our = our_load.round(&[server], length).await?;
            let with_axum = first_load.round(&[axum], length).await?;
            let with_hyper = second_load.round(&[hyper], length).await?;
            // The first round is a warm-up.
            if round > 0 {
                first.add(our, with_axum);
                second.add(our, with_hyper);
                self.progress.at("round", round, count);
            }
        }
        Ok([first, second])
    }
}
