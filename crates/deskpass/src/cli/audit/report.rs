//! The report of a verification of the log.

use deskpass_core::Timestamp;
use deskpass_store::{LogFault, LogFaultKind, LogVerdict};

/// The maximum number of faults that are listed individually.
const MAX_FAULTS_SHOWN: usize = 20;

/// Renders the verdict with its consequences.
pub(super) fn render(verdict: &LogVerdict, by_receipt: bool) -> String {
    let mut parts = if verdict.faults.is_empty() { intact(verdict, by_receipt) } else { faults(verdict) };
    parts.extend(notes(verdict));
    parts.push(String::new());
    parts.join("\n")
}

fn intact(verdict: &LogVerdict, by_receipt: bool) -> Vec<String> {
    let LogVerdict { rows, pruned, receipt, .. } = verdict;
    let receipt_too = if by_receipt { ", and everything that the receipt tells of is there" } else { "" };
    vec![
        format!("the log is as it was written: {rows} row(s) fit{receipt_too}; {pruned} went for their age"),
        format!("receipt: {receipt}"),
        "Keep the receipt where nobody reaches it who can change the database. Rows that are cut off the end later, with every \
         trace of them, are found only with it: deskpass audit verify --receipt TEXT"
            .to_owned(),
    ]
}

fn faults(verdict: &LogVerdict) -> Vec<String> {
    let count = u64::try_from(verdict.faults.len()).unwrap_or(u64::MAX).saturating_add(verdict.more);
    let mut lines = vec![format!("THE LOG WAS CHANGED: {count} fault(s) in {} row(s)", verdict.rows)];
    lines.extend(verdict.faults.iter().take(MAX_FAULTS_SHOWN).map(fault));
    let more = count.saturating_sub(u64::try_from(MAX_FAULTS_SHOWN).unwrap_or(0));
    if more > 0 {
        lines.push(format!("- and {more} more"));
    }
    if verdict.rows > 0 && verdict.fitting == 0 {
        lines.push(
            "Not one row fits. If encryption_key was replaced after they were written, that is why: verify them with the key from \
             before."
                .to_owned(),
        );
    }
    lines.push(
        "What to do: keep a copy of the database as it is now, compare the rows with a backup or an export, and find out who can \
         write to the database. The service goes on writing, and what it writes can be verified from there on."
            .to_owned(),
    );
    lines
}

fn fault(LogFault { chain, first, last, what, id, at }: &LogFault) -> String {
    let (word, meaning) = meaning(*what);
    let rows = match (chain, first) {
        (..0, _) => "the log".to_owned(),
        (_, 0) if *last == 0 => format!("chain {chain}"),
        _ if first == last => format!("chain {chain}, row {first}"),
        _ => format!("chain {chain}, rows {first} to {last}"),
    };
    let id = id.as_ref().map(|id| format!(", id {id}")).unwrap_or_default();
    let before = if *what == LogFaultKind::Missing { "before " } else { "" };
    let at = at.map(|at| format!(", {before}{}", shown(at))).unwrap_or_default();
    format!("- {rows}{id}{at}: {word}; {meaning}")
}

/// The name of a fault and its meaning.
const fn meaning(what: LogFaultKind) -> (&'static str, &'static str) {
    match what {
        LogFaultKind::Changed => {
            ("changed", "somebody has written into it, or into the hash beside it, after the service did")
        }
        LogFaultKind::Missing => ("missing", "somebody has removed it; what comes directly after it cannot be checked"),
        LogFaultKind::Moved => {
            ("moved", "its identifier belongs to another chain: it was moved here, or its identifier was changed")
        }
        LogFaultKind::Added => ("put in", "the service has written nothing in this place"),
        LogFaultKind::EndCut => ("cut off the end", "somebody has removed the newest rows of the chain"),
        LogFaultKind::EndChanged => {
            ("another end", "what is kept about the end of the chain (table log_chain) was changed or removed")
        }
        LogFaultKind::ForgedPrune => (
            "removed, though not for their age",
            "that they went for their age (table log_chain) was written by somebody without the key",
        ),
        LogFaultKind::LostFromReceipt => (
            "lost since the receipt",
            "the receipt tells of rows that are not there, or others are in their place: the end was cut off and set back",
        ),
        LogFaultKind::LostFromOthers => (
            "lost",
            "rows of other chains tell of rows that are not there, or others are in their place: the end was cut off and set back",
        ),
        LogFaultKind::Unchained => (
            "in no chain",
            "the service writes no such rows: it was put in, or taken out of its chain; nobody can vouch for it",
        ),
        LogFaultKind::NoSuchChain => ("not a chain of the service", "rows or an end (table log_chain) were put in"),
        LogFaultKind::MarkerMissing => (
            "the marker is missing",
            "that every row is in a chain (table log_marker) was removed, or the tables were brought up to date without the key",
        ),
        LogFaultKind::MarkerChanged => {
            ("the marker was changed", "table log_marker is not as the service has written it")
        }
        LogFaultKind::MarkerReplaced => (
            "another marker than the receipt tells of",
            "the chains were begun anew since, with rows of which nobody can say who wrote them",
        ),
    }
}

fn notes(verdict: &LogVerdict) -> Option<String> {
    verdict.adopted.map(|(rows, since)| {
        format!(
            "note: {rows} row(s) are from before the chains began, or began anew with another key. They are as they were at {}, when they were taken into a chain; \
             what happened to them before that cannot be checked",
            shown(since)
        )
    })
}

fn shown(moment: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(moment.millis()).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use deskpass_store::Receipt;

    use super::*;

    fn verdict(faults: usize, more: u64) -> LogVerdict {
        let fault = |number| LogFault {
            chain: 3,
            first: number,
            last: number,
            what: LogFaultKind::Changed,
            id: Some("0197".to_owned()),
            at: Some(Timestamp::from_millis(1_750_000_000_123)),
        };
        LogVerdict {
            rows: 100,
            fitting: 10,
            unchained: 0,
            adopted: None,
            pruned: 7,
            faults: (1..).step_by(2).map(fault).take(faults).collect(),
            more,
            receipt: Receipt::default(),
        }
    }

    #[test]
    fn twenty_faults_are_told_and_how_many_more_there_are() {
        let told = render(&verdict(20, 0), false);
        assert!(told.starts_with("THE LOG WAS CHANGED: 20 fault(s) in 100 row(s)\n"), "{told}");
        assert!(told.contains("\n- chain 3, row 1, id 0197, 2025-06-15T15:06:40.123Z: changed; "), "{told}");
        assert!(told.matches("\n- chain 3, ").count() == 20 && !told.contains("- and "), "{told}");
        let told = render(&verdict(21, 0), false);
        assert!(told.matches("\n- chain 3, ").count() == 20 && told.contains("\n- and 1 more\n"), "{told}");
        assert!(render(&verdict(1_000, 5), false).contains("\n- and 985 more\n"));
    }

    #[test]
    fn rows_from_before_chains_are_noted() {
        assert!(!render(&verdict(0, 0), false).contains("note: "));
        let adopted = Some((5, Timestamp::from_millis(1_750_000_000_123)));
        let told = render(&LogVerdict { adopted, ..verdict(0, 0) }, false);
        assert!(
            told.contains("note: 5 row(s) are from before the chains began, or began anew with another key. They are as they were at 2025-06-15T"),
            "{told}"
        );
    }

    #[test]
    fn a_fault_without_a_place_in_a_chain_says_what_it_is_about() {
        let of = |chain, what, id: Option<&str>| {
            fault(&LogFault { chain, first: 0, last: 0, what, id: id.map(str::to_owned), at: None })
        };
        assert!(of(-1, LogFaultKind::MarkerMissing, None).starts_with("- the log: the marker is missing; "));
        assert!(of(-1, LogFaultKind::Unchained, Some("0197")).starts_with("- the log, id 0197: in no chain; "));
        assert!(of(3, LogFaultKind::EndChanged, None).starts_with("- chain 3: another end; "));
    }

    #[test]
    fn a_log_without_any_valid_row_suggests_a_wrong_key() {
        let hint = "If encryption_key was replaced";
        assert!(!render(&verdict(1, 0), false).contains(hint));
        assert!(render(&LogVerdict { fitting: 0, ..verdict(1, 0) }, false).contains(hint));
    }
}
