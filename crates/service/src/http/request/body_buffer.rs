//! What has arrived of a body, within the memory for bodies in progress.

use bytes::Bytes;
use deskpass_core::nearby_network;
use hyper::http::request::Parts;

use crate::body_memory::{blocks_of, free_bytes};
use crate::client_limiter::ClientSlot;
use crate::http::error::ApiError;
use crate::http::request::{RequestContext, client_ip};

/// What has arrived of a body.
#[derive(Debug)]
pub(super) struct BodyBuffer<'a> {
    parts: &'a Parts,
    context: &'a RequestContext,
    /// The maximum size of the body.
    limit: usize,
    /// The size that the request declares; a body in chunks has none.
    declared: Option<usize>,
    /// A body that arrived in one piece, which needs no copy.
    whole: Bytes,
    bytes: Vec<u8>,
    slots: Vec<ClientSlot>,
}

impl<'a> BodyBuffer<'a> {
    pub(super) fn new(parts: &'a Parts, context: &'a RequestContext, limit: usize, declared: Option<usize>) -> Self {
        Self { parts, context, limit, declared, whole: Bytes::new(), bytes: Vec::new(), slots: Vec::new() }
    }

    /// Adds a piece, unless the memory for bodies in progress is used up. The piece itself is not kept: it would keep the buffer of
    /// the connection that it is a part of.
    pub(super) fn push(&mut self, piece: Bytes) -> Result<(), ApiError> {
        if self.declared == Some(piece.len()) {
            self.whole = piece;
            return Ok(());
        }
        self.reserve(self.bytes.len().saturating_add(piece.len()))?;
        self.bytes.extend_from_slice(&piece);
        Ok(())
    }

    /// Makes room for this many bytes: at once for all that are declared and free, which takes memory only as they arrive; beyond that for
    /// the next power of two, but for no more than are declared.
    fn reserve(&mut self, needed: usize) -> Result<(), ApiError> {
        if needed <= self.bytes.capacity() {
            return Ok(());
        }
        let free = free_bytes(self.parts);
        let wanted = if needed <= free { free } else { needed.next_power_of_two() };
        let capacity = wanted.min(self.declared.unwrap_or(self.limit)).max(needed);
        let more = blocks_of(capacity, free).saturating_sub(blocks_of(self.bytes.capacity(), free));
        if more > 0 {
            let network = nearby_network(client_ip(self.parts, self.context));
            let slot = self.context.app.body_limiter.acquire_many(network, more);
            self.slots.push(slot.ok_or(ApiError::TooManyBodies)?);
        }
        self.bytes.reserve_exact(capacity - self.bytes.len());
        Ok(())
    }

    /// Discards everything, and needs no memory any more.
    pub(super) fn clear(&mut self) {
        (self.whole, self.bytes, self.slots) = (Bytes::new(), Vec::new(), Vec::new());
    }

    /// The complete body. It is counted until it is dropped.
    pub(super) fn finish(self) -> Bytes {
        let Self { whole, bytes, slots, .. } = self;
        match (whole.is_empty(), slots.is_empty()) {
            (false, _) => whole,
            (true, true) => bytes.into(),
            (true, false) => Bytes::from_owner(CountedBody { bytes, _slots: slots }),
        }
    }
}

/// A complete body that is larger than what is free.
struct CountedBody {
    bytes: Vec<u8>,
    _slots: Vec<ClientSlot>,
}

impl AsRef<[u8]> for CountedBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
