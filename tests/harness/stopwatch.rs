//! Measures time for promises such as "within a second", on machines that stand still now and then.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const TICK: Duration = Duration::from_millis(5);

/// A stopwatch that stops while the machine does. A virtual machine may not run for seconds because its host is busy; what could not
/// run is not late. A thread that sleeps for a tick at a time does the counting, so it misses the same time as everything else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    started: u32,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { started: ticks().load(Ordering::Relaxed) }
    }

    pub(crate) fn elapsed(self) -> Duration {
        TICK * ticks().load(Ordering::Relaxed).wrapping_sub(self.started)
    }
}

/// The ticks of this process so far.
fn ticks() -> &'static AtomicU32 {
    static TICKS: OnceLock<&AtomicU32> = OnceLock::new();
    TICKS.get_or_init(|| {
        let ticks: &AtomicU32 = Box::leak(Box::default());
        std::thread::spawn(|| {
            loop {
                std::thread::sleep(TICK);
                ticks.fetch_add(1, Ordering::Relaxed);
            }
        });
        ticks
    })
}

/// Otherwise every promise about time would seem to be kept.
#[test]
fn a_stopwatch_runs() {
    let watch = Stopwatch::start();
    let mut looks = 0;
    while watch.elapsed() < TICK * 10 {
        assert!(looks < 10_000, "it stands still");
        std::thread::sleep(TICK);
        looks += 1;
    }
}
