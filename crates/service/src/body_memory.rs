//! The memory of bodies in progress.
//!
//! A client decides how slowly it sends a body, so what has arrived may be kept for a long time. The
//! beginning of each body is free: the number of connections bounds it. What lies beyond it is counted
//! in blocks over all requests.

use crate::client_limiter::ClientLimiter;
use crate::config::Settings;

/// The bytes of each body that are not counted. Forms and ordinary JSON bodies are smaller.
pub(crate) const FREE_BYTES: usize = 16 * 1024;

const BLOCK_BYTES: usize = 16 * 1024;

/// The blocks of all bodies: 64 MiB.
const MAX_BLOCKS: usize = (64 << 20) / BLOCK_BYTES;

/// The part of all blocks (1/n) that the clients of one address or IPv6 network may have.
const ADDRESS_SHARE: usize = 8;

/// The same blocks with the maximums of these settings. One body of the largest size always fits.
pub(crate) fn maximum_blocks(settings: &Settings, counted: &ClientLimiter) -> ClientLimiter {
    let largest = blocks_of(settings.server.max_body.bytes());
    counted.with_maximums(MAX_BLOCKS, largest.max(MAX_BLOCKS / ADDRESS_SHARE))
}

/// The blocks of a buffer of this capacity.
pub(crate) const fn blocks_of(capacity: usize) -> usize {
    capacity.saturating_sub(FREE_BYTES).div_ceil(BLOCK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_is_free() {
        let capacities = [0, FREE_BYTES, FREE_BYTES + 1, 64 * 1024, 64 * 1024 + 1];
        assert_eq!(capacities.map(blocks_of), [0, 0, 1, 3, 4]);
    }
}
