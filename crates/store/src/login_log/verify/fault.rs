//! The faults of a log.

use deskpass_core::Timestamp;

const MAX_LISTED_FAULTS: usize = 1_000;

/// A fault of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFault {
    /// The chain.
    pub chain: i64,
    /// The number of the first affected row.
    pub first: i64,
    /// The number of the last affected row.
    pub last: i64,
    /// The kind of fault.
    pub what: LogFaultKind,
    /// The identifier of the first affected row, if it exists and can be read.
    pub id: Option<String>,
    /// The time of that row; if rows are missing, of the row after them.
    pub at: Option<Timestamp>,
}

impl LogFault {
    fn is_continued_by(&self, next: &Self) -> bool {
        (self.chain, self.what, self.last.checked_add(1)) == (next.chain, next.what, Some(next.first))
    }
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LogFaultKind {
    /// A row is not as it was written, or the previous row is not.
    Changed,
    /// Rows are missing. The row after them cannot be checked.
    Missing,
    /// A row belongs to another chain by its identifier.
    Moved,
    /// A row is at an impossible position: beyond the end, in the pruned part, or at the position of another row.
    Added,
    /// Rows at the end of the chain are missing.
    EndCut,
    /// The end of a chain was changed, or is missing.
    EndChanged,
    /// The mark of the pruned rows was not made by this service.
    ForgedPrune,
    /// Rows that a receipt recorded are missing or replaced.
    LostFromReceipt,
    /// Rows that were written before the key was replaced are missing or replaced.
    LostFromEarlierKey,
    /// Rows that rows of other chains recorded are missing or replaced: the end of the chain was cut off.
    LostFromOthers,
    /// Rows are in no chain.
    Unchained,
    /// The service has no such chain.
    NoSuchChain,
    /// The marker that records since when every row is in a chain is missing.
    MarkerMissing,
    /// The marker was changed or replaced.
    MarkerChanged,
    /// The marker is not the marker of the receipt: the chains were restarted since.
    MarkerReplaced,
}

/// Collects faults, up to a limit.
#[derive(Debug, Default)]
pub(super) struct LogFaults {
    pub(super) first: Vec<LogFault>,
    pub(super) more: u64,
}

impl LogFaults {
    /// Adds a fault; merges it with the last one if it continues there.
    pub(super) fn note(&mut self, fault: LogFault) {
        let has_room = self.first.len() < MAX_LISTED_FAULTS;
        match self.first.last_mut() {
            Some(last) if last.is_continued_by(&fault) => last.last = fault.last,
            _ if has_room => self.first.push(fault),
            _ => self.more += 1,
        }
    }

    pub(super) fn add(&mut self, more: u64) {
        self.more = self.more.saturating_add(more);
    }

    pub(super) fn covers(&self, chain: i64, seq: i64) -> bool {
        self.first.iter().any(|fault| fault.chain == chain && (fault.first..=fault.last).contains(&seq))
    }
}
