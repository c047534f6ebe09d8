//! The processor time and the memory of a service, read once a second.

use std::time::{Duration, Instant};

use tokio::time::interval;

use crate::error::BenchError;
use crate::server::{Server, cpu};
use crate::stats::now;

const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);

/// What a service used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// Processor time in all.
    pub(super) cpu: Duration,
    /// The share of a core in the busiest second.
    pub(super) busiest: f64,
    /// Resident memory before and at most, in bytes.
    pub(super) before: usize,
    pub(super) most: usize,
    /// The share of a core that the benchmark used on average.
    pub(super) own: f64,
}

/// A moment, and the processor time that was used until then.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    cpu: Duration,
}

/// Reads what a service uses.
#[derive(Debug)]
pub(super) struct UsageSampler<'a> {
    server: &'a Server,
    first: Sample,
    last: Sample,
    own: Duration,
    busiest: f64,
    before: usize,
    most: usize,
}

impl<'a> UsageSampler<'a> {
    pub(super) fn start(server: &'a Server) -> Result<Self, BenchError> {
        let (first, own, before) = (Sample { at: now(), cpu: server.cpu()? }, cpu("self")?, server.resident()?);
        Ok(Self { server, first, last: first, own, busiest: 0.0, before, most: before })
    }

    /// Reads once a second; returns only when that fails.
    pub(super) async fn watch(&mut self) -> BenchError {
        let mut ticks = interval(SAMPLE_INTERVAL);
        // The first tick is immediate.
        ticks.tick().await;
        loop {
            ticks.tick().await;
            if let Err(failed) = self.sample() {
                return failed;
            }
        }
    }

    fn sample(&mut self) -> Result<(), BenchError> {
        let sample = Sample { at: now(), cpu: self.server.cpu()? };
        let elapsed = sample.at.saturating_duration_since(self.last.at);
        // A late tick is followed by an early one, whose few milliseconds say little: processor time is counted in
        // hundredths.
        if elapsed >= SAMPLE_INTERVAL / 2 {
            let used = sample.cpu.saturating_sub(self.last.cpu);
            self.busiest = self.busiest.max(used.as_secs_f64() / elapsed.as_secs_f64());
            self.last = sample;
        }
        self.most = self.most.max(self.server.resident()?);
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Usage, BenchError> {
        self.sample()?;
        let (spent, elapsed) = (self.server.cpu()?.saturating_sub(self.first.cpu), self.first.at.elapsed());
        let own = cpu("self")?.saturating_sub(self.own).as_secs_f64() / elapsed.as_secs_f64();
        Ok(Usage { cpu: spent, busiest: self.busiest, before: self.before, most: self.most, own })
    }
}
