//! Bits in the order of the DEFLATE format.

/// Some bits, at most 32. The first one is the lowest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits {
    value: u32,
    count: usize,
}

impl Bits {
    /// The lowest `count` bits of a number, of which the others are zero: the order of everything but Huffman codes.
    pub(crate) const fn of_number(value: u32, count: usize) -> Self {
        Self { value, count }
    }

    /// A Huffman code of `count` bits, at least one: its first bit is the highest of the number.
    pub(crate) const fn of_code(code: u32, count: usize) -> Self {
        Self { value: code.reverse_bits() >> (32 - count), count }
    }

    /// These bits, then others; all together at most 32.
    pub(crate) const fn then(self, next: Self) -> Self {
        Self { value: self.value | (next.value << self.count), count: self.count + next.count }
    }
}

/// Writes bits into bytes.
#[derive(Debug)]
pub(crate) struct BitWriter {
    bytes: Vec<u8>,
    /// The bits that fill no four bytes yet: fewer than 32 between calls.
    pending: u64,
    count: usize,
}

impl BitWriter {
    /// A writer that goes on after these bytes.
    pub(crate) fn after(bytes: Vec<u8>) -> Self {
        Self { bytes, pending: 0, count: 0 }
    }

    /// Appends bits.
    pub(crate) fn write(&mut self, bits: Bits) {
        self.pending |= u64::from(bits.value) << self.count;
        self.count += bits.count;
        if self.count >= 32 {
            let [first, second, third, fourth, ..] = self.pending.to_le_bytes();
            self.bytes.extend_from_slice(&[first, second, third, fourth]);
            self.pending >>= 32;
            self.count -= 32;
        }
    }

    /// The bytes; the last one is filled with zeros.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.extend(self.pending.to_le_bytes().into_iter().take(self.count.div_ceil(8)));
        self.bytes
    }
}
