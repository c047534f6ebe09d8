//! The report of a verification of the log.

use deskpass_core::Timestamp;
use deskpass_store::{LogFault, LogFaultKind, LogVerdict};

/// The maximum number of faults that are listed individually.
const MAX_FAULTS_SHOWN: usize = 20;

/// Renders the verdict with its consequences.
pub(super) fn render(verdict: &LogVerdict, by_receipt: bool) -> String {
    let mut parts = if verdict.faults.is_empty() { intact(verdict, by_receipt) } else { faults(verdict) };
    parts.push(key_line(verdict));
    parts.extend(notes(verdict));
    parts.push(String::new());
    parts.join("\n")
}

fn intact(verdict: &LogVerdict, by_receipt: bool) -> Vec<String> {
    let LogVerdict { rows, pruned, receipt, .. } = verdict;
    let receipt_too = if by_receipt { ", including all rows covered by the receipt" } else { "" };
    vec![
        format!("the audit log is intact: {rows} row(s) verified{receipt_too}; {pruned} expired and were removed"),
        format!("receipt: {receipt}"),
        "Keep the receipt where no one who can change the database can reach it. Only the receipt reveals that the \
         newest rows were removed with all their traces: deskpass audit verify --receipt TEXT"
            .to_owned(),
    ]
}

fn faults(verdict: &LogVerdict) -> Vec<String> {
    let count = u64::try_from(verdict.faults.len()).unwrap_or(u64::MAX).saturating_add(verdict.more);
    let mut lines = vec![format!("THE AUDIT LOG WAS CHANGED: {count} fault(s) in {} row(s)", verdict.rows)];
    lines.extend(verdict.faults.iter().take(MAX_FAULTS_SHOWN).map(fault));
    let more = count.saturating_sub(u64::try_from(MAX_FAULTS_SHOWN).unwrap_or(0));
    if more > 0 {
        lines.push(format!("- and {more} more"));
    }
    if verdict.rows > 0 && verdict.fitting == 0 {
        lines.push(
            "No row can be verified. If encryption_key was replaced after they were written, verify them with the \
             previous key."
                .to_owned(),
        );
    }
    lines.push(
        "What to do: copy the database as it is now, compare the rows with a backup or an export, and find out who \
         can write to the database. The service continues to write; new rows can be verified from here on."
            .to_owned(),
    );
    lines
}

fn fault(LogFault { chain, first, last, what, id, at }: &LogFault) -> String {
    let (word, meaning) = meaning(*what);
    let rows = match (chain, first) {
        (..0, _) => "the audit log".to_owned(),
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
        LogFaultKind::Changed => ("changed", "the row or its hash was changed after the service wrote it"),
        LogFaultKind::Missing => ("missing", "the row was removed; the row directly after it cannot be verified"),
        LogFaultKind::Moved => {
            ("moved", "its id belongs to another chain: the row was moved here, or its id was changed")
        }
        LogFaultKind::Added => ("put in", "the service wrote no row here"),
        LogFaultKind::EndCut => ("cut off the end", "the newest rows of the chain were removed"),
        LogFaultKind::EndChanged => {
            ("another end", "the record of the chain's end (table log_chain) was changed or removed")
        }
        LogFaultKind::ForgedPrune => (
            "removed, though not for their age",
            "the record that they expired (table log_chain) was written without the key",
        ),
        LogFaultKind::LostFromReceipt => (
            "lost since the receipt",
            "rows covered by the receipt are missing or were replaced: the end was cut off and the chain's end reset",
        ),
        LogFaultKind::LostFromEarlierKey => (
            "lost since the key was replaced",
            "rows from before encryption_key was replaced are missing or were replaced",
        ),
        LogFaultKind::LostFromOthers => (
            "lost",
            "rows that other chains refer to are missing or were replaced: the end was cut off and the chain's end \
             reset",
        ),
        LogFaultKind::Unchained => (
            "in no chain",
            "the service writes no such rows: it was inserted, or taken out of its chain; its origin cannot be verified",
        ),
        LogFaultKind::NoSuchChain => {
            ("not a chain of the service", "rows or a chain's end (table log_chain) were inserted")
        }
        LogFaultKind::MarkerMissing => (
            "the marker is missing",
            "the record that every row is in a chain (table log_marker) was removed, or the tables were migrated \
             without the key",
        ),
        LogFaultKind::MarkerChanged => {
            ("the marker was changed", "table log_marker was changed after the service wrote it")
        }
        LogFaultKind::MarkerReplaced => (
            "not the marker of the receipt",
            "the chains were restarted since then, with rows whose origin cannot be verified",
        ),
    }
}

/// Names the key, and warns of a key that may be an old one.
fn key_line(LogVerdict { key, is_first_key, .. }: &LogVerdict) -> String {
    if *is_first_key {
        return format!("key: {key}");
    }
    format!(
        "key: {key}, which is not the first of encryption_key. If the key was replaced already, an attacker who has the \
         old key may have put the log back to it: remove the old key from encryption_key, and verify again"
    )
}

fn notes(verdict: &LogVerdict) -> Option<String> {
    verdict.adopted.map(|(rows, since)| {
        format!(
            "note: {rows} row(s) were written before the chains began, or before they were restarted with another \
             key. They are unchanged since {}, when they were added to a chain; earlier changes cannot be detected",
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
            key: "0badc0de".to_owned(),
            is_first_key: true,
        }
    }

    #[test]
    fn twenty_faults_are_listed_and_the_rest_counted() {
        let message = render(&verdict(20, 0), false);
        assert!(message.starts_with("THE AUDIT LOG WAS CHANGED: 20 fault(s) in 100 row(s)\n"), "{message}");
        assert!(message.contains("\n- chain 3, row 1, id 0197, 2025-06-15T15:06:40.123Z: changed; "), "{message}");
        assert!(message.matches("\n- chain 3, ").count() == 20 && !message.contains("- and "), "{message}");
        let message = render(&verdict(21, 0), false);
        assert!(message.matches("\n- chain 3, ").count() == 20 && message.contains("\n- and 1 more\n"), "{message}");
        assert!(render(&verdict(1_000, 5), false).contains("\n- and 985 more\n"));
    }

    #[test]
    fn rows_from_before_chains_are_noted() {
        assert!(!render(&verdict(0, 0), false).contains("note: "));
        let adopted = Some((5, Timestamp::from_millis(1_750_000_000_123)));
        let message = render(&LogVerdict { adopted, ..verdict(0, 0) }, false);
        assert!(
            message.contains(
                "note: 5 row(s) were written before the chains began, or before they were restarted with \
                           another key. They are unchanged since 2025-06-15T"
            ),
            "{message}"
        );
    }

    #[test]
    fn a_fault_without_a_place_in_a_chain_says_what_it_is_about() {
        let of = |chain, what, id: Option<&str>| {
            fault(&LogFault { chain, first: 0, last: 0, what, id: id.map(str::to_owned), at: None })
        };
        assert!(of(-1, LogFaultKind::MarkerMissing, None).starts_with("- the audit log: the marker is missing; "));
        assert!(of(-1, LogFaultKind::Unchained, Some("0197")).starts_with("- the audit log, id 0197: in no chain; "));
        assert!(of(3, LogFaultKind::EndChanged, None).starts_with("- chain 3: another end; "));
    }

    #[test]
    fn a_key_that_is_not_the_first_is_pointed_out() {
        let hint = "key: 0badc0de, which is not the first of encryption_key";
        assert!(render(&verdict(0, 0), false).contains("\nkey: 0badc0de\n"));
        assert!(render(&LogVerdict { is_first_key: false, ..verdict(0, 0) }, false).contains(hint));
    }

    #[test]
    fn a_log_without_any_valid_row_suggests_a_wrong_key() {
        let hint = "If encryption_key was replaced";
        assert!(!render(&verdict(1, 0), false).contains(hint));
        assert!(render(&LogVerdict { fitting: 0, ..verdict(1, 0) }, false).contains(hint));
    }
}
