//! A comparison of two sides, measured in alternation, so that other load on the machine affects both equally.

use std::time::Duration;

use crate::error::BenchError;
use crate::plan::Rounds;
use crate::progress::Progress;
use crate::stats::{Round, median};

/// The results of both sides.
#[derive(Debug)]
pub(crate) struct Comparison {
    pub(crate) name: String,
    /// The name of the baseline.
    pub(crate) baseline: &'static str,
    pub(crate) ours: Vec<Round>,
    pub(crate) theirs: Vec<Round>,
    /// The target ratio, if any.
    pub(crate) target: Option<f64>,
}

impl Comparison {
    pub(crate) fn new(name: String, baseline: &'static str, target: Option<f64>) -> Self {
        Self { name, baseline, target, ours: Vec::new(), theirs: Vec::new() }
    }

    /// Measures both sides in alternation. Each is passed the length of a round.
    pub(crate) async fn run(
        mut self,
        rounds: Rounds,
        progress: &Progress,
        mut ours: impl AsyncFnMut(Duration) -> Result<Round, BenchError>,
        mut theirs: impl AsyncFnMut(Duration) -> Result<Round, BenchError>,
    ) -> Result<Self, BenchError> {
        progress.step(format_args!("{} (beside it: {})", self.name, self.baseline));
        for round in 0..=rounds.count {
            let (our, their) = (ours(rounds.length).await?, theirs(rounds.length).await?);
            // The first round is a warm-up.
            if round > 0 {
                self.add(our, their);
                progress.at("round", round, rounds.count);
            }
        }
        Ok(self)
    }

    /// Adds a round of both sides.
    pub(crate) fn add(&mut self, our: Round, their: Round) {
        self.ours.push(our);
        self.theirs.push(their);
    }

    /// The service's throughput relative to the baseline: the ratio of the medians.
    pub(crate) fn ratio(&self) -> f64 {
        median_of(&self.ours, |round| round.rate) / median_of(&self.theirs, |round| round.rate)
    }

    /// The lowest and the highest ratio of a figure in a single round.
    pub(crate) fn spread(&self, figure: impl Fn(&Round) -> f64) -> (f64, f64) {
        let ratios = self.ours.iter().zip(&self.theirs).map(|(our, their)| figure(our) / figure(their));
        ratios.fold((f64::INFINITY, 0.0), |(low, high), ratio| (low.min(ratio), high.max(ratio)))
    }
}

/// The median of one figure over the rounds.
pub(crate) fn median_of(rounds: &[Round], figure: impl Fn(&Round) -> f64) -> f64 {
    median(rounds.iter().map(figure))
}
