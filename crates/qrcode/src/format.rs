//! The formats of QR codes (ISO/IEC 18004): version, error correction level, and how many codewords they have.

use std::ops::Range;

/// The error correction levels, as the code itself names them.
const LOW: u32 = 0b01;
const MEDIUM: u32 = 0b00;
const QUARTILE: u32 = 0b11;
const HIGH: u32 = 0b10;

/// A format. Its codewords are split into blocks, each of which corrects its own errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    /// From 1 to 40: the size.
    pub(crate) version: usize,
    /// The error correction level, in two bits.
    pub(crate) level: u32,
    pub(crate) blocks: usize,
    /// The codewords of each block that correct errors; the others are data.
    pub(crate) check_codewords: usize,
}

impl Format {
    const fn new(version: usize, level: u32, blocks: usize, check_codewords: usize) -> Self {
        Self { version, level, blocks, check_codewords }
    }

    /// Whether a text with so many bytes fits.
    pub(crate) const fn holds(self, bytes: usize) -> bool {
        bytes + self.head_codewords() <= self.data_codewords()
    }

    /// The number of modules in a row.
    pub(crate) const fn side(self) -> usize {
        4 * self.version + 17
    }

    /// The number of bytes that say how long the text is.
    pub(crate) const fn length_bytes(self) -> usize {
        if self.version < 10 { 1 } else { 2 }
    }

    /// The codewords beside the text: its length, and half a byte each for the mode and the end.
    const fn head_codewords(self) -> usize {
        self.length_bytes() + 1
    }

    /// The number of codewords that are data.
    pub(crate) const fn data_codewords(self) -> usize {
        self.codewords() - self.blocks * self.check_codewords
    }

    /// The data of each block, as a range of the data codewords. The last blocks may have one codeword more.
    pub(crate) fn data_blocks(self) -> impl Iterator<Item = Range<usize>> {
        let (size, long_blocks) = (self.data_codewords() / self.blocks, self.data_codewords() % self.blocks);
        let start = move |block: usize| block * size + (block + long_blocks).saturating_sub(self.blocks);
        (0..self.blocks).map(move |block| start(block)..start(block + 1))
    }

    /// The check codewords of each block, as a range of all codewords.
    fn check_blocks(self) -> impl Iterator<Item = Range<usize>> {
        let start = move |block: usize| self.data_codewords() + block * self.check_codewords;
        (0..self.blocks).map(move |block| start(block)..start(block + 1))
    }

    /// The numbers of the codewords in the order in which they are drawn: the first of each block, the second of each
    /// block, and so on.
    pub(crate) fn drawing_order(self) -> Vec<usize> {
        let (mut data, mut check): (Vec<_>, Vec<_>) = (self.data_blocks().collect(), self.check_blocks().collect());
        let mut order = Vec::with_capacity(self.codewords());
        for blocks in [&mut data, &mut check] {
            while blocks.iter().any(|block| !block.is_empty()) {
                order.extend(blocks.iter_mut().filter_map(Range::next));
            }
        }
        order
    }

    /// The number of all codewords: an eighth of the modules that are not part of a pattern.
    pub(crate) const fn codewords(self) -> usize {
        let version = self.version;
        let without_patterns = (16 * version + 128) * version + 64;
        let alignments = version / 7 + 2;
        let patterns = match version {
            0..2 => 0,
            2..7 => (25 * alignments - 10) * alignments - 55,
            7.. => (25 * alignments - 10) * alignments - 55 + 36,
        };
        (without_patterns - patterns) / 8
    }
}

/// The formats, from the one for the shortest texts to the one for the longest. The first that holds a text has the least
/// redundancy: a screen is clean and lit, and larger modules are easier for a phone's camera. Where more redundancy fits
/// into the same size, it has that. Formats that are missing here are never the first: a smaller version with a lower
/// level holds as much.
pub(crate) const FORMATS: [Format; 48] = [
    Format::new(1, HIGH, 1, 17),
    Format::new(1, QUARTILE, 1, 13),
    Format::new(1, MEDIUM, 1, 10),
    Format::new(1, LOW, 1, 7),
    Format::new(2, QUARTILE, 1, 22),
    Format::new(2, MEDIUM, 1, 16),
    Format::new(2, LOW, 1, 10),
    Format::new(3, MEDIUM, 1, 26),
    Format::new(3, LOW, 1, 15),
    Format::new(4, MEDIUM, 2, 18),
    Format::new(4, LOW, 1, 20),
    Format::new(5, MEDIUM, 2, 24),
    Format::new(5, LOW, 1, 26),
    Format::new(6, LOW, 2, 18),
    Format::new(7, LOW, 2, 20),
    Format::new(8, LOW, 2, 24),
    Format::new(9, LOW, 2, 30),
    Format::new(10, LOW, 4, 18),
    Format::new(11, LOW, 4, 20),
    Format::new(12, LOW, 4, 24),
    Format::new(13, LOW, 4, 26),
    Format::new(14, LOW, 4, 30),
    Format::new(15, LOW, 6, 22),
    Format::new(16, LOW, 6, 24),
    Format::new(17, LOW, 6, 28),
    Format::new(18, LOW, 6, 30),
    Format::new(19, LOW, 7, 28),
    Format::new(20, LOW, 8, 28),
    Format::new(21, LOW, 8, 28),
    Format::new(22, LOW, 9, 28),
    Format::new(23, LOW, 9, 30),
    Format::new(24, LOW, 10, 30),
    Format::new(25, LOW, 12, 26),
    Format::new(26, LOW, 12, 28),
    Format::new(27, LOW, 12, 30),
    Format::new(28, LOW, 13, 30),
    Format::new(29, LOW, 14, 30),
    Format::new(30, LOW, 15, 30),
    Format::new(31, LOW, 16, 30),
    Format::new(32, LOW, 17, 30),
    Format::new(33, LOW, 18, 30),
    Format::new(34, LOW, 19, 30),
    Format::new(35, LOW, 19, 30),
    Format::new(36, LOW, 20, 30),
    Format::new(37, LOW, 21, 30),
    Format::new(38, LOW, 22, 30),
    Format::new(39, LOW, 24, 30),
    Format::new(40, LOW, 25, 30),
];
