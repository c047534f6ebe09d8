//! The Huffman codes for the pixels of a QR code.
//!
//! With six pixels per module, four modules side by side are three bytes, and only eight different bytes occur. So the
//! codes are known in advance, and so are the pixels of all groups of eight modules.

use std::array;
use std::sync::LazyLock;

use crate::bit_writer::Bits;
use crate::dimensions::PIXELS_PER_MODULE;

/// The codes of the eight bytes that occur, shorter for the more frequent ones.
const fn literal(byte: u8) -> Bits {
    match byte {
        0x00 => Bits::of_code(0b00, 2),
        0xff => Bits::of_code(0b01, 2),
        0x03 => Bits::of_code(0b1000, 4),
        0x0f => Bits::of_code(0b1001, 4),
        0x3f => Bits::of_code(0b1010, 4),
        0xc0 => Bits::of_code(0b1011, 4),
        0xf0 => Bits::of_code(0b1100, 4),
        // 0xfc
        _ => Bits::of_code(0b1101, 4),
    }
}

/// The lengths of the codes of [`literal`].
pub(crate) const LITERAL_LENGTHS: [(u16, u8); 8] =
    [(0x00, 2), (0x03, 4), (0x0f, 4), (0x3f, 4), (0xc0, 4), (0xf0, 4), (0xfc, 4), (0xff, 2)];

/// The filter of every row, "none", before its pixels.
pub(crate) const ROW_START: Pixels = Pixels::NONE.then(0x00);

/// A light module at the end of a row, and two padding bits.
pub(crate) const ROW_END: Pixels = Pixels::NONE.then(0xff);

/// Pixels side by side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pixels {
    /// The codes of their bytes.
    pub(crate) code: Bits,
    /// The number of bytes.
    pub(crate) bytes: u8,
    /// The sum of the bytes.
    pub(crate) sum: u16,
    /// The sum of the sums after each byte.
    pub(crate) sum_of_sums: u16,
}

impl Pixels {
    const NONE: Self = Self { code: Bits::NONE, bytes: 0, sum: 0, sum_of_sums: 0 };

    /// These pixels, then those of a byte.
    const fn then(self, byte: u8) -> Self {
        let sum = self.sum + byte as u16;
        Self { code: self.code.then(literal(byte)), bytes: self.bytes + 1, sum, sum_of_sums: self.sum_of_sums + sum }
    }

    /// These pixels, then those of four modules, given by the lowest four bits.
    fn then_four(self, dark: usize) -> Self {
        let pixels = (0..4).rev().fold(0_u32, |pixels, module| {
            let is_light = (dark >> module) & 1 == 0;
            (pixels << PIXELS_PER_MODULE) | if is_light { 0b11_1111 } else { 0 }
        });
        let [_, bytes @ ..] = pixels.to_be_bytes();
        bytes.into_iter().fold(self, Self::then)
    }
}

/// The pixels of groups of modules.
#[derive(Debug)]
pub(crate) struct PixelCodes {
    fours: [Pixels; 16],
    eights: [Pixels; 256],
}

impl PixelCodes {
    pub(crate) fn get() -> &'static Self {
        static CODES: LazyLock<PixelCodes> = LazyLock::new(|| PixelCodes {
            fours: array::from_fn(|dark| Pixels::NONE.then_four(dark)),
            eights: array::from_fn(|dark| Pixels::NONE.then_four(dark >> 4).then_four(dark)),
        });
        &CODES
    }

    /// The pixels of the left four of eight modules.
    #[inline]
    pub(crate) fn of_left_four(&self, dark: u8) -> &Pixels {
        let [light, ..] = &self.fours;
        self.fours.get(usize::from(dark >> 4)).unwrap_or(light)
    }

    /// The pixels of eight modules: the highest bit is the leftmost module, and a set bit is a dark one.
    #[inline]
    pub(crate) fn of_eight(&self, dark: u8) -> &Pixels {
        let [light, ..] = &self.eights;
        self.eights.get(usize::from(dark)).unwrap_or(light)
    }
}
