//! Entries side by side in memory, in chunks: a table that grows moves none of them, and frees no large block that only
//! another large one could use again.

use std::mem;
use std::sync::atomic::AtomicU8;

/// The number of entries of a chunk: of 64 bytes each, they fill a block of 16 KiB. With one more, they take 20 KiB:
/// mimalloc 3 aligns them to 64 bytes by asking itself for 63 bytes more, and the next larger blocks have that size.
const CHUNK: usize = 255;

const _: () = assert!(CHUNK * 64 + 63 <= 16_384, "a chunk fits into the block");

/// Entries at consecutive places. All chunks but the last are full.
pub(super) struct Slab<E> {
    chunks: Vec<Chunk<E>>,
}

struct Chunk<E> {
    entries: Vec<E>,
    /// How often each entry was used lately. Not part of the entries, so that the search for one to evict reads little
    /// memory.
    uses: Vec<AtomicU8>,
}

impl<E> Slab<E> {
    pub(super) const fn new() -> Self {
        Self { chunks: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        let last = self.chunks.last().map_or(0, |chunk| chunk.entries.len());
        self.chunks.len().saturating_sub(1) * CHUNK + last
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &E> {
        self.chunks.iter().flat_map(|chunk| &chunk.entries)
    }

    pub(super) fn get(&self, at: usize) -> Option<&E> {
        self.chunks.get(at / CHUNK)?.entries.get(at % CHUNK)
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut E> {
        self.chunks.get_mut(at / CHUNK)?.entries.get_mut(at % CHUNK)
    }

    /// How often the entry was used lately.
    pub(super) fn uses(&self, at: usize) -> Option<&AtomicU8> {
        self.chunks.get(at / CHUNK)?.uses.get(at % CHUNK)
    }

    /// Adds an entry at the end; returns its place.
    pub(super) fn push(&mut self, entry: E) -> usize {
        let at = self.len();
        if at.is_multiple_of(CHUNK) {
            // The first chunk grows, since many tables have few entries.
            let room = if at == 0 { 0 } else { CHUNK };
            self.chunks.push(Chunk { entries: Vec::with_capacity(room), uses: Vec::with_capacity(room) });
        }
        if let Some(last) = self.chunks.last_mut() {
            last.entries.push(entry);
            last.uses.push(AtomicU8::new(0));
        }
        at
    }

    /// Puts an unused entry in the place of another; returns the other.
    pub(super) fn replace(&mut self, at: usize, entry: E) -> Option<E> {
        if let Some(uses) = self.uses_mut(at) {
            *uses = AtomicU8::new(0);
        }
        self.get_mut(at).map(|place| mem::replace(place, entry))
    }

    /// Removes the entry at a place. The last entry moves there.
    pub(super) fn swap_remove(&mut self, at: usize) -> Option<E> {
        if at >= self.len() {
            return None;
        }
        let (entry, uses) = self.pop()?;
        if at == self.len() {
            return Some(entry);
        }
        *self.uses_mut(at)? = uses;
        self.get_mut(at).map(|place| mem::replace(place, entry))
    }

    fn pop(&mut self) -> Option<(E, AtomicU8)> {
        let last = self.chunks.last_mut()?;
        let popped = last.entries.pop().zip(last.uses.pop());
        if last.entries.is_empty() {
            self.chunks.pop();
        }
        popped
    }

    fn uses_mut(&mut self, at: usize) -> Option<&mut AtomicU8> {
        self.chunks.get_mut(at / CHUNK)?.uses.get_mut(at % CHUNK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_places_except_the_last_one() {
        let mut slab = Slab::new();
        let places: Vec<_> = (0..=2 * CHUNK).map(|number| slab.push(number)).collect();
        assert!(places.iter().enumerate().all(|(at, place)| at == *place && slab.get(at) == Some(&at)));
        assert_eq!((slab.len(), slab.iter().count()), (2 * CHUNK + 1, 2 * CHUNK + 1));
        assert_eq!((slab.replace(5, 99), slab.get(5)), (Some(5), Some(&99)));
        assert_eq!((slab.swap_remove(3), slab.get(3)), (Some(3), Some(&(2 * CHUNK))));
        assert_eq!((slab.swap_remove(2 * CHUNK - 1), slab.len()), (Some(2 * CHUNK - 1), 2 * CHUNK - 1));
        assert_eq!(slab.swap_remove(2 * CHUNK - 1), None);
        assert_eq!(slab.len(), 2 * CHUNK - 1);
    }
}
