//! The results of one group, as a section of Markdown.

use std::fmt::Write as _;
use std::time::Duration;

use crate::comparison::Comparison;
use crate::plan::Group;
use crate::progress::grouped;
use crate::stats::{Round, median};

/// The results of a group.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) group: Group,
    /// The version that the service reports.
    pub(crate) version: String,
    /// The start of the measurement, in UTC.
    date: String,
    pub(crate) took: Duration,
    quick: bool,
    comparisons: Vec<Comparison>,
    figures: Vec<String>,
}

impl Report {
    /// Creates a section without results.
    pub(crate) fn new(group: Group, date: String, quick: bool) -> Self {
        let (version, took) = (String::new(), Duration::ZERO);
        Self { group, version, date, took, quick, comparisons: Vec::new(), figures: Vec::new() }
    }

    /// Adds a comparison, or another run of one.
    pub(crate) fn add_comparison(&mut self, comparison: Comparison) {
        match self.comparisons.iter_mut().find(|known| known.name == comparison.name) {
            Some(known) => known.extend(comparison),
            None => self.comparisons.push(comparison),
        }
    }

    /// Adds a figure with an optional upper limit as its target.
    pub(crate) fn figure(&mut self, name: &str, how: &str, figure: &str, target: Option<(&str, bool)>) {
        let (target, met) = promise(target.map(|(text, holds)| (format!("≤ {text}"), holds)));
        self.row([name, how, figure, &target, met]);
    }

    /// Adds a number beside the one of a formula, and the range in which their ratio is expected.
    pub(crate) fn beside_formula(&mut self, name: &str, measured: f64, formula: f64, (least, most): (f64, f64)) {
        let ratio = measured / formula;
        let (target, met) = promise(Some((format!("{least:.1} – {most:.1} of it"), (least..=most).contains(&ratio))));
        let [measured, formula] = [measured, formula].map(|number| grouped(whole(number)));
        self.row([name, &format!("formula: {formula}"), &format!("{measured}, {ratio:.2} of it"), &target, met]);
    }

    fn row(&mut self, cells: [&str; 5]) {
        self.figures.push(format!("| {} |", cells.join(" | ")));
    }

    /// The tables and the notes.
    pub(crate) fn markdown(&self) -> String {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let mut text = String::new();
        let (date, seconds, version) = (&self.date, self.took.as_secs(), &self.version);
        let _ = writeln!(text, "{date}, {cores} cores, {seconds} s in all; {version}.\n");
        if self.quick {
            text += "A quick run: it shows that everything works; its figures mean little.\n\n";
        }
        if !self.comparisons.is_empty() {
            text += &self.ratios();
            text += &self.costs();
        }
        if !self.figures.is_empty() {
            text += "| measurement | how | figure | target | met? |\n|---|--:|--:|--:|---|\n";
            for row in &self.figures {
                let _ = writeln!(text, "{row}");
            }
            text += "\n";
        }
        text + notes(self.group)
    }

    /// The rates of both sides of each comparison, and their ratio.
    fn ratios(&self) -> String {
        let mut text =
            String::from("| comparison | deskpass | beside it | ratio | worst – best run | target | met? |\n");
        text += "|---|--:|--:|--:|--:|--:|---|\n";
        for comparison in &self.comparisons {
            let ratios = comparison.ratios();
            let (ratio, ours) = (median(ratios.iter().copied()), comparison.ours(rate));
            let (target, met) = promise(comparison.target.map(|least| {
                let rate = comparison.least_rate.unwrap_or_default();
                let and = comparison.least_rate.map(|rate| format!(", ≥ {rate:.0}/s")).unwrap_or_default();
                (format!("≥ {least:.2}{and}"), ratio >= least && ours >= rate)
            }));
            let range = match (ratios.as_slice(), comparison.run_count()) {
                ([worst, .., best], runs) => format!("{worst:.2} – {best:.2} of {runs}"),
                _ => "–".to_owned(),
            };
            let [ours, theirs] = [ours, comparison.theirs(rate)].map(|rate| grouped(whole(rate)));
            let Comparison { name, baseline, .. } = comparison;
            let _ = writeln!(
                text,
                "| {name} | {ours}/s | {baseline}: {theirs}/s | {ratio:.2} | {range} | {target} | {met} |"
            );
        }
        text + "\n"
    }

    /// The latencies and costs of both sides of each comparison.
    fn costs(&self) -> String {
        let mut text = String::from("| latency, cost | deskpass p50 | p99 | CPU each | generator ");
        text += "| beside it p50 | p99 | CPU each | generator |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n";
        for comparison in &self.comparisons {
            let ours = times(|figure| comparison.ours(figure));
            let theirs = times(|figure| comparison.theirs(figure));
            let _ = writeln!(text, "| {} | {ours} | {theirs} |", comparison.name);
        }
        text + "\n"
    }
}

/// The notes that explain a group's figures.
const fn notes(group: Group) -> &'static str {
    match group {
        Group::Embedded => include_str!("report/embedded.md"),
        Group::ScaledOut => include_str!("report/scaled_out.md"),
        Group::Sockets => include_str!("report/sockets.md"),
        Group::Cache => include_str!("report/cache.md"),
        Group::Rush => include_str!("report/rush.md"),
        Group::Scale => include_str!("report/scale.md"),
    }
}

fn rate(round: &Round) -> f64 {
    round.rate
}

/// The latencies and costs of one side, whose medians are given by a function.
fn times(middle: impl Fn(fn(&Round) -> f64) -> f64) -> String {
    let time = |figure: fn(&Round) -> f64| duration(middle(figure));
    let own = middle(|round| round.own) * 100.0;
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
pub(crate) fn whole(number: f64) -> usize {
    number.round() as usize
}
