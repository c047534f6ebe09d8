//! Chains that are made in memory, for a log that is loaded into an empty database as a whole, as the benchmark does: to append each row
//! in a transaction would take hours.

use super::chain_ends::{ChainEnds, ChainPlace};
use super::{ChainKeys, LogEntry};

/// The chains of a log, from its first row on.
#[doc(hidden)]
#[derive(Debug)]
pub struct ChainBuilder {
    keys: ChainKeys,
    ends: ChainEnds,
}

impl ChainBuilder {
    /// Creates empty chains, which are hashed with the first of the keys.
    #[must_use]
    pub fn new(keys: ChainKeys) -> Self {
        Self { keys, ends: ChainEnds::empty() }
    }

    /// Appends an entry to its chain, as [`Store::record`](crate::Store::record) does. Its own keys are not used.
    pub fn append(&mut self, entry: &LogEntry) -> ChainPlace {
        self.ends.append(self.keys.first(), entry, &entry.texts())
    }

    /// The end of each chain: the chain, its last position and the hash there.
    pub fn ends(&self) -> impl Iterator<Item = (i64, i64, &str)> {
        self.ends.iter()
    }
}
