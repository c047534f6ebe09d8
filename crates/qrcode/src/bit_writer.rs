//! Bits in the order of the DEFLATE format.

/// Some bits, at most 56: as many fit into 63 after seven that are pending. The first one is the lowest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits {
    value: u64,
    count: usize,
}

impl Bits {
    pub(crate) const NONE: Self = Self { value: 0, count: 0 };

    /// The lowest `count` bits of a number, whose other bits must be zero: the order of everything but Huffman codes.
    pub(crate) const fn of_number(value: u32, count: usize) -> Self {
        Self { value: value as u64, count }
    }

    /// A Huffman code of `count` bits, at least one: its first bit is the highest of the number.
    pub(crate) const fn of_code(code: u32, count: usize) -> Self {
        Self::of_number(code.reverse_bits() >> (32 - count), count)
    }

    /// These bits, then others; all together at most 56.
    pub(crate) const fn then(self, next: Self) -> Self {
        Self { value: self.value | (next.value << self.count), count: self.count + next.count }
    }
}

/// Writes bits into bytes.
///
/// Each call stores eight bytes; the next call overwrites the incomplete ones. A branch on whether a byte is complete would
/// depend on the picture, so that the processor could not predict it.
#[derive(Clone, Debug)]
pub(crate) struct BitWriter {
    /// The complete bytes, then space.
    bytes: Vec<u8>,
    complete: usize,
    /// The bits after the complete bytes, at most seven.
    pending: u64,
    count: usize,
}

impl BitWriter {
    /// A writer that goes on after these bytes.
    pub(crate) fn after(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), complete: bytes.len(), pending: 0, count: 0 }
    }

    /// Allocates the space for so many more bytes.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        let length = self.bytes.len().max(self.complete + bytes);
        self.bytes.resize(length, 0);
    }

    /// Appends bits.
    #[inline]
    pub(crate) fn write(&mut self, bits: Bits) {
        debug_assert!(bits.count <= 56, "too many bits at once");
        let (pending, count) = (self.pending | (bits.value << self.count), self.count + bits.count);
        match self.bytes.get_mut(self.complete..).and_then(<[u8]>::first_chunk_mut) {
            Some(next) => *next = pending.to_le_bytes(),
            None => write_without_space(&mut self.bytes, self.complete, pending),
        }
        self.complete += count / 8;
        self.pending = pending >> (count & !7);
        self.count = count % 8;
    }

    /// The bytes; the last one is filled with zeros.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.truncate(self.complete + self.count.div_ceil(8));
        self.bytes
    }
}

/// Writes bits after the complete bytes, and doubles the space.
#[cold]
fn write_without_space(bytes: &mut Vec<u8>, complete: usize, pending: u64) {
    bytes.truncate(complete);
    bytes.extend_from_slice(&pending.to_le_bytes());
    bytes.resize(2 * bytes.len(), 0);
}
