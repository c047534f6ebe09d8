//! The results page: one section for each group, replaced when that group is measured again.

use crate::plan::Group;
use crate::report::Report;

const HEAD: &str = "# What was measured

Written by `make bench`. What the figures mean for a company of your size is in [docs/capacity.md](../docs/capacity.md).

Both sides of a comparison take turns, round by round, on one machine that the load generator shares (one thread, 64 connections). Rates,
latencies and costs are medians of the rounds. One run on one machine flatters: where a range is given, the comparison was repeated so many
times over the measurement, each time with a new process on both sides; the ratio is the median of these runs, and the range has the worst and
the best. *CPU each* is the processor time of the measured process for one request; *generator* is how much of a core the benchmark itself
used: near 100 %, it holds both sides back; compare the latencies then, rather than the rates. The bare handler reads the same request and
answers the same bytes, without looking anything up.

**Given up since 0.2.0**: speed that nobody ordered. In 0.2.0, a second HTTP parser answered the most frequent requests before hyper saw them,
sessions lay in a packed table with copies for each thread, and a thread of its own copied SQLite's log. That made `verify` 1.15 times as
fast as the bare handler on one machine, and 1.07 times on another. A security product has one parser, and everybody who reads or changes this
code paid for the rest; nobody who signs in notices it. The targets are what is left without them.
";

/// The page with these reports; all other groups keep their section of the page `before`.
pub(crate) fn with(reports: &[Report], before: &str) -> String {
    let section = |group| match reports.iter().find(|report| report.group == group) {
        Some(report) => Some(report.markdown()),
        None => kept(before, group).map(str::to_owned),
    };
    let sections =
        Group::ALL.into_iter().filter_map(|group| Some(format!("\n{}\n{}\n", heading(group), section(group)?.trim())));
    HEAD.to_owned() + &sections.collect::<String>()
}

fn heading(group: Group) -> String {
    format!("## {}\n", group.title())
}

/// The section of a group on a page.
fn kept(page: &str, group: Group) -> Option<&str> {
    let (_, section) = page.split_once(&heading(group))?;
    section.split("\n## ").next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(group: Group, version: &str) -> Report {
        let mut report = Report::new(group, "today".into(), false);
        version.clone_into(&mut report.version);
        report
    }

    #[test]
    fn a_group_that_was_not_measured_stays() {
        let both = with(&[report(Group::ScaledOut, "version-1 two"), report(Group::Embedded, "version-1 one")], "");
        assert!(both.find("version-1 one") < both.find("version-1 two") && both.contains("version-1 one"), "{both}");
        let next = with(&[report(Group::ScaledOut, "version-2 two")], &both);
        assert_eq!(next, both.replace("version-1 two", "version-2 two"));
        let next = with(&[report(Group::Embedded, "version-2 one")], &next);
        assert_eq!(next, both.replace("version-1", "version-2"));
    }

    #[test]
    fn a_group_that_never_was_measured_has_no_section() {
        let page = with(&[report(Group::Embedded, "one")], "# Something else\n");
        assert!(page.contains(Group::Embedded.title()) && !page.contains(Group::ScaledOut.title()), "{page}");
    }
}
