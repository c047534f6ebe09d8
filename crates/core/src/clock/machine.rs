//! The clocks of the machine: the time of day, which can be set, and the uptime, which cannot.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use super::timestamp::{Timestamp, millis};

/// The clocks of the real machine, or of a simulated machine in a test. Clones refer to the same machine.
#[derive(Clone, Debug)]
pub struct MachineClock(MachineSource);

#[derive(Clone, Debug)]
enum MachineSource {
    Real,
    Manual(Arc<ManualTime>),
}

#[derive(Debug)]
struct ManualTime {
    wall: AtomicI64,
    uptime: AtomicI64,
    /// How far each reading of the uptime advances both.
    step: AtomicI64,
}

impl MachineClock {
    /// The machine on which this process runs.
    #[must_use]
    pub fn real() -> Self {
        Self(MachineSource::Real)
    }

    /// A simulated machine whose clocks stand still until a test moves them.
    #[must_use]
    pub fn manual(wall: Timestamp) -> Self {
        let (uptime, step) = (AtomicI64::new(0), AtomicI64::new(0));
        Self(MachineSource::Manual(Arc::new(ManualTime { wall: AtomicI64::new(wall.0), uptime, step })))
    }

    /// The time of day.
    #[must_use]
    pub fn wall(&self) -> Timestamp {
        match &self.0 {
            MachineSource::Real => real_wall(),
            MachineSource::Manual(time) => Timestamp(time.wall.load(Ordering::SeqCst)),
        }
    }

    /// The time since the machine started, including suspended time. It cannot be set.
    #[must_use]
    pub fn uptime(&self) -> Duration {
        match &self.0 {
            MachineSource::Real => real_uptime(),
            MachineSource::Manual(time) => {
                let step = time.step.load(Ordering::SeqCst);
                time.wall.fetch_add(step, Ordering::SeqCst);
                Timestamp(time.uptime.fetch_add(step, Ordering::SeqCst)).since(Timestamp(0))
            }
        }
    }

    /// Advances the clocks of a simulated machine, running or suspended.
    pub fn advance(&self, span: Duration) {
        if let MachineSource::Manual(time) = &self.0 {
            time.wall.fetch_add(millis(span), Ordering::SeqCst);
            time.uptime.fetch_add(millis(span), Ordering::SeqCst);
        }
    }

    /// Advances the clocks of a simulated machine by this much with each later reading of its uptime, as if the work between two
    /// readings took that long.
    pub fn advance_on_read(&self, span: Duration) {
        if let MachineSource::Manual(time) = &self.0 {
            time.step.store(millis(span), Ordering::SeqCst);
        }
    }

    /// Sets the time of day of a simulated machine.
    pub fn set_wall(&self, wall: Timestamp) {
        if let MachineSource::Manual(time) = &self.0 {
            time.wall.store(wall.0, Ordering::SeqCst);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the only place that reads the machine's time of day")]
fn real_wall() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis))
}

fn real_uptime() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
