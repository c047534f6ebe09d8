//! The ends of the chains, and the places of entries that are appended to them.

use super::LogEntry;
use super::chain::{CHAIN_COUNT, LogKey, chain_of, witnessed_chain};
use super::entry::EntryTexts;

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

/// The position and the hash of the last row of each chain.
#[derive(Debug)]
pub(super) struct ChainEnds(Vec<(i64, String)>);

impl ChainEnds {
    /// The ends of chains without rows.
    pub(super) fn empty() -> Self {
        Self((0..CHAIN_COUNT).map(|_| (0, String::new())).collect())
    }

    /// The end of a chain: its last position and the hash there.
    pub(super) fn of(&self, chain: i64) -> (i64, &str) {
        let end = usize::try_from(chain).ok().and_then(|chain| self.0.get(chain));
        end.map_or((0, ""), |(seq, hash)| (*seq, &**hash))
    }

    /// Moves the end of a chain.
    pub(super) fn set(&mut self, chain: i64, seq: i64, hash: String) {
        if let Some(end) = usize::try_from(chain).ok().and_then(|chain| self.0.get_mut(chain)) {
            *end = (seq, hash);
        }
    }

    /// Appends an entry to its chain, in memory.
    pub(super) fn append(&mut self, key: &LogKey, entry: &LogEntry, texts: &EntryTexts) -> ChainPlace {
        let chain = chain_of(&entry.id);
        let (last, before) = self.of(chain);
        let seq = last + 1;
        let (seen_seq, seen_hash) = self.of(witnessed_chain(chain, seq));
        let hash = entry.content(texts, texts.added(seen_seq, seen_hash)).hash(key, chain, seq, before);
        let place = ChainPlace { chain, seq, hash: hash.clone(), seen_seq, seen_hash: seen_hash.to_owned() };
        self.set(chain, seq, hash);
        place
    }

    /// The ends of all chains, with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (i64, i64, &str)> {
        (0..).zip(&self.0).map(|(chain, (seq, hash))| (chain, *seq, &**hash))
    }
}
