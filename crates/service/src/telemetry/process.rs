//! The metrics of the process, under the names that every dashboard knows.

use std::sync::OnceLock;
use std::time::Duration;
use std::{fmt, fs};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

/// The names of these metrics.
#[cfg(test)]
pub(super) const NAMES: [&str; 6] = [
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_virtual_memory_bytes",
    "process_open_fds",
    "process_max_fds",
    "process_start_time_seconds",
];

/// The length of a clock tick in files of `/proc`; the kernel's interface fixes it.
const MILLIS_PER_TICK: u64 = 10;

/// The metrics that this system provides, read when they are asked for.
#[derive(Debug)]
pub(super) struct ProcessMetrics;

impl Collector for ProcessMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (help, unit) = ("Time on processors, user and system.", Unit::Seconds);
        let cpu = encoder.encode_descriptor("process_cpu", help, Some(&unit), MetricType::Counter)?;
        ConstCounter::new(cpu_seconds()).encode(cpu)?;
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        for (name, help, value) in [
            ("process_resident_memory_bytes", "Resident memory.", memory_bytes(&status, "VmRSS:")),
            ("process_virtual_memory_bytes", "Virtual memory.", memory_bytes(&status, "VmSize:")),
            ("process_open_fds", "Open file descriptors.", open_files()),
            ("process_max_fds", "Limit of open file descriptors.", getrlimit(Resource::Nofile).current),
            ("process_start_time_seconds", "When the process started, since 1970.", start_seconds()),
        ] {
            if let Some(value) = value {
                ConstGauge::new(value).encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
            }
        }
        Ok(())
    }
}

fn cpu_seconds() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(used).unwrap_or_default().as_secs_f64()
}

/// A line of `/proc/self/status`, such as `VmRSS:     1234 kB`.
fn memory_bytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

fn open_files() -> Option<u64> {
    let files = fs::read_dir("/proc/self/fd").ok()?;
    // The directory itself is open while it is read.
    u64::try_from(files.count().saturating_sub(1)).ok()
}

/// When the process started. Computed once: a clock that is set later must not look like a restart.
fn start_seconds() -> Option<u64> {
    static STARTED_AT: OnceLock<Option<u64>> = OnceLock::new();
    *STARTED_AT.get_or_init(compute_start_seconds)
}

/// The time now, less the age of the process. `/proc/stat` has the time of the machine's start, but a unit may hide it.
fn compute_start_seconds() -> Option<u64> {
    let time = |clock| Duration::try_from(clock_gettime(clock)).ok();
    let ticks = start_ticks(&fs::read_to_string("/proc/self/stat").ok()?)?;
    let since_boot = Duration::from_millis(ticks.checked_mul(MILLIS_PER_TICK)?);
    let age = time(ClockId::Boottime)?.checked_sub(since_boot)?;
    Some(time(ClockId::Realtime)?.checked_sub(age)?.as_secs())
}

/// The 22nd field of `/proc/self/stat`. The second, the name of the program, may contain anything but ends with the last `)`.
fn start_ticks(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn each_value_is_written_with_its_help() {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(ProcessMetrics));
        let mut text = String::new();
        assert_eq!(encode(&mut text, &registry), Ok(()));
        for name in NAMES.map(|name| name.trim_end_matches("_total")) {
            assert!(text.contains(&format!("# HELP {name} ")) && text.contains(&format!("# TYPE {name} ")), "{text}");
        }
        assert!(cpu_seconds() > 0.0);
        let now = Duration::try_from(clock_gettime(ClockId::Realtime)).unwrap_or_default().as_secs();
        assert!(start_seconds().is_some_and(|start| start <= now && now - start < 24 * 60 * 60));
    }

    #[test]
    fn values_are_found_whatever_the_program_is_called() {
        assert_eq!(memory_bytes("VmPeak:\t9 kB\nVmRSS:\t  1234 kB\n", "VmRSS:"), Some(1234 * 1024));
        assert_eq!(memory_bytes("VmRSS:\t1234\n", "VmRSS:"), None);
        let stat =
            format!("7 (a) b) S {} 4321 0", (4..22).map(|field| field.to_string()).collect::<Vec<_>>().join(" "));
        assert_eq!(start_ticks(&stat), Some(4321));
    }
}
