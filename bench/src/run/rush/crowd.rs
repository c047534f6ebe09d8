//! All employees of a rush: each starts at its time, whether or not the earlier ones have finished.

use std::net::SocketAddr;
use std::time::Instant;

use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinSet;
use tokio::time::sleep_until;

use super::employee::{Arrived, Morning};
use crate::arrivals::arrivals;
use crate::error::BenchError;
use crate::file_limit::max_sockets;
use crate::plan::RushPlan;
use crate::progress::Progress;
use crate::socket::Received;
use crate::stats::{nanoseconds, now};
use crate::step_times::StepTimes;

/// The number of employees after which the progress is reported.
const PROGRESS_INTERVAL: usize = 1_000;

/// The results of a rush.
#[derive(Debug)]
pub(super) struct RushOutcome {
    pub(super) start: Instant,
    /// The times of the employees who had no error.
    pub(super) times: StepTimes,
    /// How late the generator was with each employee, in nanoseconds.
    pub(super) delays: Vec<u32>,
    /// The number of employees with an error, and one of the errors.
    pub(super) failures: usize,
    pub(super) example: Option<String>,
    /// The open sockets, which close when this is dropped.
    pub(super) sockets: JoinSet<()>,
}

/// Lets all employees arrive, and waits until the last one has worked for a while. Their sockets stay open.
pub(super) async fn gather(
    address: SocketAddr,
    plan: RushPlan,
    progress: &Progress,
) -> Result<RushOutcome, BenchError> {
    let (tell, mut heard) = unbounded_channel();
    let morning = Morning { address, plan, sockets: max_sockets(), tell };
    let (mut working, mut outcome) = (JoinSet::new(), RushOutcome::new(plan.employees));
    for (number, after) in arrivals(plan.employees, plan.period).enumerate() {
        outcome.wait_until(outcome.start + after, &mut working).await?;
        working.spawn(morning.clone().arrive(number));
        if (number + 1).is_multiple_of(PROGRESS_INTERVAL) {
            progress.at("employee", number + 1, plan.employees);
        }
    }
    while let Some(done) = working.join_next().await {
        outcome.add(done?);
    }
    while let Ok(report) = heard.try_recv() {
        if let Received::Closed(code) = report.what {
            outcome.fail(format!("socket {} was closed with {code}", report.socket));
        }
    }
    Ok(outcome)
}

impl RushOutcome {
    fn new(employees: usize) -> Self {
        let (times, delays, sockets) = (StepTimes::default(), Vec::with_capacity(employees), JoinSet::new());
        Self { start: now(), times, delays, failures: 0, example: None, sockets }
    }

    /// Waits until an employee is due, and takes the results of the earlier ones meanwhile.
    async fn wait_until(
        &mut self,
        due: Instant,
        working: &mut JoinSet<Result<Arrived, BenchError>>,
    ) -> Result<(), BenchError> {
        loop {
            tokio::select! {
                () = sleep_until(due.into()) => break,
                Some(done) = working.join_next() => self.add(done?),
            }
        }
        self.delays.push(nanoseconds(now().saturating_duration_since(due)));
        Ok(())
    }

    fn add(&mut self, done: Result<Arrived, BenchError>) {
        match done {
            Ok(Arrived { times, socket }) => {
                self.times.add(times);
                if let Some(socket) = socket {
                    self.sockets.spawn(socket.listen());
                }
            }
            Err(BenchError(why)) => self.fail(why),
        }
    }

    fn fail(&mut self, why: String) {
        self.failures += 1;
        self.example.get_or_insert(why);
    }
}
