//! The results of one group, as a section of Markdown.

use std::fmt::Write as _;
use std::time::Duration;

use crate::comparison::{Comparison, median_of};
use crate::plan::Group;
use crate::progress::grouped;
use crate::stats::Round;

/// The results of a run.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) group: Group,
    /// The version that the service reports.
    pub(crate) version: String,
    /// The start of the run, in UTC.
    date: String,
    pub(crate) took: Duration,
    quick: bool,
    comparisons: Vec<Comparison>,
    rows: Vec<String>,
}

impl Report {
    /// Creates a section without results.
    pub(crate) fn new(group: Group, date: String, quick: bool) -> Self {
        let (version, took) = (String::new(), Duration::ZERO);
        Self { group, version, date, took, quick, comparisons: Vec::new(), rows: Vec::new() }
    }

    /// Adds a comparison to both tables.
    pub(crate) fn add_comparison(&mut self, comparison: Comparison) {
        let rate = |rounds: &[Round]| format!("{}/s", grouped(whole(median_of(rounds, |round| round.rate))));
        let ratio = comparison.ratio();
        let target = comparison.target.map(|target| (format!("≥ {target:.2}"), ratio >= target));
        let (target, met) = promise(target);
        self.row([
            &comparison.name,
            &rate(&comparison.ours),
            &format!("{}: {}", comparison.baseline, rate(&comparison.theirs)),
            &format!("{ratio:.2}"),
            &target,
            met,
        ]);
        self.comparisons.push(comparison);
    }

    /// Adds a comparison to the second table only, where both sides got a given number of requests.
    pub(crate) fn add_latencies(&mut self, comparison: Comparison) {
        self.comparisons.push(comparison);
    }

    /// Adds a figure with an optional upper limit as its target.
    pub(crate) fn figure(&mut self, name: &str, ours: &str, figure: &str, target: Option<(&str, bool)>) {
        let (target, met) = promise(target.map(|(text, holds)| (format!("≤ {text}"), holds)));
        self.row([name, ours, "–", figure, &target, met]);
    }

    /// Adds a number beside the one of a formula, and the range in which their ratio is expected.
    pub(crate) fn beside_formula(&mut self, name: &str, measured: f64, formula: f64, (least, most): (f64, f64)) {
        let ratio = measured / formula;
        let (target, met) = promise(Some((format!("{least:.1} – {most:.1}"), (least..=most).contains(&ratio))));
        let [measured, formula] = [measured, formula].map(|number| grouped(whole(number)));
        self.row([name, &measured, &format!("formula: {formula}"), &format!("{ratio:.2}"), &target, met]);
    }

    /// Adds the CPU time of a request beside that of the baseline, and the range in which their ratio is expected.
    pub(crate) fn cost_ratio(&mut self, name: &str, comparison: &Comparison, limits: Option<(f64, f64)>) {
        let each = |rounds: &[Round]| median_of(rounds, |round| round.cpu);
        let (ours, theirs) = (each(&comparison.ours), each(&comparison.theirs));
        let ratio = ours / theirs;
        let target = limits.map(|(least, most)| (format!("{least:.2} – {most:.2}"), (least..=most).contains(&ratio)));
        let (target, met) = promise(target);
        let beside = format!("{}: {}", comparison.baseline, duration(theirs));
        let (low, high) = comparison.spread(|round| round.cpu);
        self.row([name, &duration(ours), &beside, &format!("{ratio:.2} ({low:.2} – {high:.2})"), &target, met]);
    }

    /// Adds the requests per second and core, from the CPU time of the service.
    pub(crate) fn per_core(&mut self, name: &str, rounds: &[Round]) {
        let each = median_of(rounds, |round| round.cpu);
        let rate = format!("{}/s", grouped(whole(each.recip())));
        self.figure(name, &format!("{} of CPU each", duration(each)), &rate, None);
    }

    /// Adds the CPU time of the service for each request, and its target in seconds.
    pub(crate) fn cpu_each(&mut self, name: &str, rounds: &[Round], target: f64) {
        let each = median_of(rounds, |round| round.cpu);
        let rate = format!("{}/s of one core", grouped(whole(each.recip())));
        self.figure(name, &rate, &duration(each), Some((&*duration(target), each <= target)));
    }

    fn row(&mut self, cells: [&str; 6]) {
        self.rows.push(format!("| {} |", cells.join(" | ")));
    }

    /// The table, the costs and the notes.
    pub(crate) fn markdown(&self) -> String {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let mut text = String::new();
        let (date, seconds, version) = (&self.date, self.took.as_secs(), &self.version);
        let _ = writeln!(text, "{date}, {cores} cores, {seconds} s in all; {version}.\n");
        if self.quick {
            text += "A quick run: it shows that everything works; its figures mean little.\n\n";
        }
        text += "| measurement | deskpass | beside it | ratio or figure | target | met? |\n|---|--:|--:|--:|--:|---|\n";
        for row in &self.rows {
            let _ = writeln!(text, "{row}");
        }
        text += &self.costs();
        text + "\n" + notes(self.group)
    }

    /// The costs of both sides of each comparison, if there are any.
    fn costs(&self) -> String {
        if self.comparisons.is_empty() {
            return String::new();
        }
        let mut text = String::new();
        text += "\n| latency, cost | deskpass p50 | p99 | CPU each | generator | beside it p50 | p99 | CPU each | generator | ratio in single rounds |\n";
        text += "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
        for comparison in &self.comparisons {
            let ((low, high), name) = (comparison.spread(|round| round.rate), &comparison.name);
            let (ours, theirs) = (times(&comparison.ours), times(&comparison.theirs));
            let _ = writeln!(text, "| {name} | {ours} | {theirs} | {low:.2} – {high:.2} |");
        }
        text
    }
}

/// The notes that explain a group's figures.
const fn notes(group: Group) -> &'static str {
    match group {
        Group::Embedded => include_str!("report/embedded.md"),
        Group::ScaledOut => include_str!("report/scaled_out.md"),
        Group::Sockets => include_str!("report/sockets.md"),
        Group::Oidc => include_str!("report/oidc.md"),
        Group::People => include_str!("report/people.md"),
        Group::Rush => include_str!("report/rush.md"),
        Group::Cache => include_str!("report/cache.md"),
        Group::Scale => include_str!("report/scale.md"),
    }
}

fn times(rounds: &[Round]) -> String {
    let time = |figure: fn(&Round) -> f64| duration(median_of(rounds, figure));
    let own = median_of(rounds, |round| round.own) * 100.0;
    format!("{} | {} | {} | {own:.0} %", time(|round| round.p50), time(|round| round.p99), time(|round| round.cpu))
}

/// A time in seconds, in a suitable unit.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        ..1e-4 => format!("{:.1} µs", seconds * 1e6),
        1e-4..1e-3 => format!("{:.0} µs", seconds * 1e6),
        _ => format!("{:.2} ms", seconds * 1e3),
    }
}

/// A target and whether it was met, if there is one.
fn promise(target: Option<(String, bool)>) -> (String, &'static str) {
    target.map_or(("–".to_owned(), "–"), |(text, met)| (text, if met { "yes" } else { "**no**" }))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate is positive and not astronomical")]
fn whole(number: f64) -> usize {
    number.round() as usize
}
