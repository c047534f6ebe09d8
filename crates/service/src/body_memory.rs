//! The memory of bodies in progress.
//!
//! A client decides how slowly it sends a body, so what has arrived may be kept for a long time. The beginning of each body is
//! free, less of it after a large head: the number of connections bounds it. What lies beyond it is counted in blocks over all
//! requests, as it arrives, whatever the request declares.

use hyper::http::request::Parts;

use crate::client_limiter::ClientLimiter;

/// The bytes of each body that are not counted. Forms and ordinary JSON bodies are smaller.
const FREE_BYTES: usize = 16 * 1024;

/// The bytes of a head that take nothing from its body. Those of browsers are smaller.
const FREE_HEAD_BYTES: usize = 4 * 1024;

const BLOCK_BYTES: usize = 16 * 1024;

/// The blocks of all bodies: 64 MiB.
const MAX_BLOCKS: usize = (64 << 20) / BLOCK_BYTES;

/// The part of all blocks (1/n) that the clients of one network (an IPv4 /24 or IPv6 /48) may have. The largest body that
/// `server.max_body` admits takes half of it.
const NETWORK_SHARE: usize = 8;

/// The blocks of all bodies, of which none are taken.
pub(crate) fn all_blocks() -> ClientLimiter {
    ClientLimiter::default().with_maximums(MAX_BLOCKS, MAX_BLOCKS / NETWORK_SHARE)
}

/// The bytes of a body that are free after its head.
pub(crate) fn free_bytes(parts: &Parts) -> usize {
    let fields = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len());
    let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    let head = target + fields.sum::<usize>();
    FREE_BYTES.saturating_sub(head.saturating_sub(FREE_HEAD_BYTES))
}

/// The blocks of a buffer of this capacity, of which so many bytes are free.
pub(crate) const fn blocks_of(capacity: usize, free: usize) -> usize {
    capacity.saturating_sub(free).div_ceil(BLOCK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_is_free() {
        let capacities = [0, FREE_BYTES, FREE_BYTES + 1, 64 * 1024, 64 * 1024 + 1];
        assert_eq!(capacities.map(|capacity| blocks_of(capacity, FREE_BYTES)), [0, 0, 1, 3, 4]);
        assert_eq!([0, 1, BLOCK_BYTES + 1].map(|capacity| blocks_of(capacity, 0)), [0, 1, 2]);
    }

    #[test]
    fn a_large_head_leaves_less_of_it() {
        let free = |value: &str| {
            let request =
                hyper::Request::builder().uri("/api?q").header("x", value).body(()).map(|it| it.into_parts().0);
            request.map_or(0, |parts| free_bytes(&parts))
        };
        assert_eq!(free(""), FREE_BYTES);
        assert_eq!(free(&"x".repeat(FREE_HEAD_BYTES)), FREE_BYTES - 7);
        assert_eq!(free(&"x".repeat(FREE_HEAD_BYTES + FREE_BYTES)), 0);
    }
}
