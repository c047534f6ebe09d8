//! A comparison of two sides, measured in alternation, so that other load on the machine affects both equally.

use std::time::Duration;

use crate::error::BenchError;
use crate::plan::Rounds;
use crate::progress::Progress;
use crate::stats::{Round, median};

/// The results of both sides, in one run or in several.
#[derive(Debug)]
pub(crate) struct Comparison {
    pub(crate) name: String,
    /// The name of the baseline.
    pub(crate) baseline: &'static str,
    /// The target ratio, and the target rate of the service, if any.
    pub(crate) target: Option<f64>,
    pub(crate) least_rate: Option<f64>,
    runs: Vec<Sides>,
}

/// The rounds of a run.
#[derive(Debug, Default)]
struct Sides {
    ours: Vec<Round>,
    theirs: Vec<Round>,
}

impl Comparison {
    pub(crate) fn new(name: String, baseline: &'static str, target: Option<f64>) -> Self {
        Self { name, baseline, target, least_rate: None, runs: Vec::new() }
    }

    /// Measures both sides in alternation, as one run. Each is passed the length of a round.
    pub(crate) async fn run(
        mut self,
        rounds: Rounds,
        progress: &Progress,
        mut ours: impl AsyncFnMut(Duration) -> Result<Round, BenchError>,
        mut theirs: impl AsyncFnMut(Duration) -> Result<Round, BenchError>,
    ) -> Result<Self, BenchError> {
        progress.step(format_args!("{} (beside it: {})", self.name, self.baseline));
        let mut sides = Sides::default();
        for round in 0..=rounds.count {
            let (our, their) = (ours(rounds.length).await?, theirs(rounds.length).await?);
            // The first round is a warm-up.
            if round > 0 {
                sides.ours.push(our);
                sides.theirs.push(their);
                progress.at("round", round, rounds.count);
            }
        }
        self.runs.push(sides);
        Ok(self)
    }

    /// Adds the runs of the same comparison.
    pub(crate) fn extend(&mut self, other: Self) {
        self.runs.extend(other.runs);
    }

    pub(crate) fn run_count(&self) -> usize {
        self.runs.len()
    }

    /// The service's throughput relative to the baseline in each run, the lowest first: the ratio of the medians.
    pub(crate) fn ratios(&self) -> Vec<f64> {
        let rate = |rounds: &[Round]| median_of(rounds.iter(), |round| round.rate);
        let mut ratios: Vec<_> = self.runs.iter().map(|run| rate(&run.ours) / rate(&run.theirs)).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        ratios
    }

    /// The median of one figure of the service over all rounds.
    pub(crate) fn ours(&self, figure: impl Fn(&Round) -> f64) -> f64 {
        median_of(self.runs.iter().flat_map(|run| &run.ours), figure)
    }

    /// The median of one figure of the baseline over all rounds.
    pub(crate) fn theirs(&self, figure: impl Fn(&Round) -> f64) -> f64 {
        median_of(self.runs.iter().flat_map(|run| &run.theirs), figure)
    }
}

/// The median of one figure over the rounds.
fn median_of<'a>(rounds: impl Iterator<Item = &'a Round>, figure: impl Fn(&Round) -> f64) -> f64 {
    median(rounds.map(figure))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(our: f64, their: f64) -> Comparison {
        let round = |rate| Round { rate, p50: 0.0, p99: 0.0, cpu: 0.0, own: 0.0 };
        let sides = Sides { ours: vec![round(our)], theirs: vec![round(their)] };
        Comparison { runs: vec![sides], ..Comparison::new("verify".into(), "nothing", None) }
    }

    #[test]
    fn each_run_has_its_ratio() {
        let mut all = run(90.0, 100.0);
        for other in [run(120.0, 100.0), run(80.0, 100.0)] {
            all.extend(other);
        }
        assert_eq!((all.run_count(), all.ratios()), (3, vec![0.8, 0.9, 1.2]));
        assert!((all.ours(|round| round.rate) - 90.0).abs() < 1e-9);
        assert!((all.theirs(|round| round.rate) - 100.0).abs() < 1e-9);
    }
}
