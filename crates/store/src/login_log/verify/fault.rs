//! What can be wrong with a log.

use deskpass_core::Timestamp;

/// How many faults are told one by one.
const MAX_LISTED_FAULTS: usize = 1_000;

/// Something that is wrong with a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFault {
    /// The chain.
    pub chain: i64,
    /// The number of the first row concerned.
    pub first: i64,
    /// The number of the last one.
    pub last: i64,
    /// What it is.
    pub what: LogFaultKind,
    /// The identifier of the first row concerned, where it is there and can be read.
    pub id: Option<String>,
    /// When that row says it was; where rows are missing, the one after them.
    pub at: Option<Timestamp>,
}

impl LogFault {
    fn is_continued_by(&self, next: &Self) -> bool {
        (self.chain, self.what, self.last.checked_add(1)) == (next.chain, next.what, Some(next.first))
    }
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LogFaultKind {
    /// A row does not say what it said when it was written, or the row before does not.
    Changed,
    /// Rows are not there. The one after them cannot be checked.
    Missing,
    /// A row belongs to another chain by its identifier.
    Moved,
    /// A row stands where none can be: beyond the end, where rows went for their age, or beside another one.
    Added,
    /// Rows are not there that the chain ended with.
    EndCut,
    /// Where a chain ends was changed, or is not there.
    EndChanged,
    /// What is said about rows that went for their age was not written by this service.
    ForgedPrune,
    /// Rows that a receipt tells of are not there, or others are in their place.
    LostFromReceipt,
    /// Rows that rows of other chains tell of are not there, or others are in their place: the end of the chain was cut off.
    LostFromOthers,
    /// Rows are in no chain.
    Unchained,
    /// There is a chain that the service does not have.
    NoSuchChain,
    /// The marker is not there that says since when every row is in a chain.
    MarkerMissing,
    /// That marker was changed, or another one put in.
    MarkerChanged,
    /// That marker is another one than the receipt tells of: the chains were begun anew since.
    MarkerReplaced,
}

/// Collects faults, and keeps no more than anybody reads.
#[derive(Debug, Default)]
pub(super) struct LogFaults {
    first: Vec<LogFault>,
    more: u64,
}

impl LogFaults {
    /// Notes a fault; one that goes on where the last one ended is the same.
    pub(super) fn note(&mut self, fault: LogFault) {
        let room = self.first.len() < MAX_LISTED_FAULTS;
        match self.first.last_mut() {
            Some(last) if last.is_continued_by(&fault) => last.last = fault.last,
            _ if room => self.first.push(fault),
            _ => self.more += 1,
        }
    }

    /// Notes that there are so many more.
    pub(super) fn add(&mut self, more: u64) {
        self.more = self.more.saturating_add(more);
    }

    /// Whether something is known to be wrong with this place.
    pub(super) fn covers(&self, chain: i64, seq: i64) -> bool {
        self.first.iter().any(|fault| fault.chain == chain && (fault.first..=fault.last).contains(&seq))
    }

    pub(super) fn into_parts(self) -> (Vec<LogFault>, u64) {
        (self.first, self.more)
    }
}
