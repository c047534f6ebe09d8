//! Chains that are made in memory, for a log that is loaded into an empty database as a whole, as the benchmark does: to append each row
//! in a transaction would take hours.

use super::chain::{CHAIN_COUNT, chain_of, witnessed_chain};
use super::{ChainKeys, LogEntry};

/// The chains of a log, from its first row on.
#[doc(hidden)]
#[derive(Debug)]
pub struct ChainBuilder {
    keys: ChainKeys,
    /// The position and the hash of the last row of each chain.
    ends: Vec<(i64, String)>,
}

/// The place of a row in its chain, and the end of another chain that the row records.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainPlace {
    /// The chain.
    pub chain: i64,
    /// The position in the chain.
    pub seq: i64,
    /// The hash of the row.
    pub hash: String,
    /// The last position of the other chain.
    pub seen_seq: i64,
    /// The hash at that position.
    pub seen_hash: String,
}

impl ChainBuilder {
    /// Creates empty chains, which are hashed with the first of the keys.
    #[must_use]
    pub fn new(keys: ChainKeys) -> Self {
        Self { keys, ends: (0..CHAIN_COUNT).map(|_| (0, String::new())).collect() }
    }

    /// Appends an entry to its chain, as [`Store::record`](crate::Store::record) does. Its own keys are not used.
    pub fn append(&mut self, entry: &LogEntry) -> ChainPlace {
        let chain = chain_of(&entry.id);
        let (last, before) = self.end(chain);
        let seq = last + 1;
        let (seen_seq, seen_hash) = self.end(witnessed_chain(chain, seq));
        let texts = entry.texts();
        let content = entry.content(&texts, texts.added(seen_seq, &seen_hash));
        let hash = content.hash(self.keys.first(), chain, seq, &before);
        if let Some(end) = usize::try_from(chain).ok().and_then(|chain| self.ends.get_mut(chain)) {
            *end = (seq, hash.clone());
        }
        ChainPlace { chain, seq, hash, seen_seq, seen_hash }
    }

    /// The end of each chain: the chain, its last position and the hash there.
    pub fn ends(&self) -> impl Iterator<Item = (i64, i64, &str)> {
        (0..).zip(&self.ends).map(|(chain, (seq, hash))| (chain, *seq, &**hash))
    }

    fn end(&self, chain: i64) -> (i64, String) {
        usize::try_from(chain).ok().and_then(|chain| self.ends.get(chain)).cloned().unwrap_or_default()
    }
}
