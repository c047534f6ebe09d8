//! What is said about a log.

use deskpass_core::Timestamp;
use deskpass_store::{Fault, LogVerdict, What};

/// How many faults are told one by one.
const TOLD: usize = 20;

/// The verdict, with everything that follows from it.
pub(super) fn report(verdict: &LogVerdict, by_receipt: bool) -> String {
    let mut parts = if verdict.faults.is_empty() { well(verdict, by_receipt) } else { faults(verdict) };
    parts.extend(notes(verdict));
    parts.push(String::new());
    parts.join("\n")
}

fn well(verdict: &LogVerdict, by_receipt: bool) -> Vec<String> {
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
    lines.extend(verdict.faults.iter().take(TOLD).map(fault));
    let more = count.saturating_sub(u64::try_from(TOLD).unwrap_or(0));
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

fn fault(Fault { chain, first, last, what, id, at }: &Fault) -> String {
    let rows = if first == last { format!("row {first}") } else { format!("rows {first} to {last}") };
    let (word, meaning) = meaning(*what);
    let id = id.as_ref().map(|id| format!(", id {id}")).unwrap_or_default();
    let before = if *what == What::Missing { "before " } else { "" };
    let at = at.map(|at| format!(", {before}{}", shown(at))).unwrap_or_default();
    format!("- chain {chain}, {rows}{id}{at}: {word}; {meaning}")
}

/// What a fault is called, and what it means.
const fn meaning(what: What) -> (&'static str, &'static str) {
    match what {
        What::Changed => ("changed", "somebody has written into it, or into the hash beside it, after the service did"),
        What::Missing => ("missing", "somebody has removed it; what comes directly after it cannot be checked"),
        What::Moved => {
            ("moved", "its identifier belongs to another chain: it was moved here, or its identifier was changed")
        }
        What::Added => ("put in", "the service has written nothing in this place"),
        What::EndCut => ("cut off the end", "somebody has removed the newest rows of the chain"),
        What::EndChanged => {
            ("another end", "what is kept about the end of the chain (table log_chain) was changed or removed")
        }
        What::ForgedPrune => (
            "removed, though not for their age",
            "that they went for their age (table log_chain) was written by somebody without the key",
        ),
        What::LostFromReceipt => (
            "lost since the receipt",
            "the receipt tells of rows that are not there, or others are in their place: the end was cut off and set back",
        ),
    }
}

fn notes(verdict: &LogVerdict) -> Option<String> {
    let from_before = format!("note: {} row(s) are in no chain", verdict.unchained);
    match &verdict.unchained_since {
        Some((rows, first)) => Some(format!(
            "{from_before}; {rows} of them are newer than chains are, the first with id {first}: a node of the version before writes \
             such rows during an upgrade, and otherwise somebody has put them in"
        )),
        None if verdict.unchained > 0 => {
            Some(format!("{from_before}: they are from before there were any, and cannot be checked"))
        }
        None => None,
    }
}

fn shown(moment: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(moment.millis()).unwrap_or_default().to_string()
}
