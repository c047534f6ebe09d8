//! What all QR codes of one format have in common, made once: the patterns, the place of every bit, the divisor of the
//! error correction, and the codes that compress the picture. With them, the picture of a link takes 7 µs instead of 45.

use std::sync::OnceLock;

use crate::codewords::codewords;
use crate::format::{FORMATS, Format};
use crate::modules::{Modules, in_eights};
use crate::reed_solomon::Divisor;
use crate::row_codes::RowCodes;
use crate::symbol::{TIMING, patterns};

/// The templates of the formats, in the same order.
static TEMPLATES: [OnceLock<Template>; FORMATS.len()] = [const { OnceLock::new() }; FORMATS.len()];

/// What all QR codes of a format have in common.
#[derive(Debug)]
pub(crate) struct Template {
    format: Format,
    divisor: Divisor,
    /// The modules of a code whose codewords are all zero, eight in each byte.
    blank: Vec<u8>,
    /// For each group of eight modules, the index of the bit of the codewords that inverts each of them.
    bit_indexes: Vec<[u16; 8]>,
    pub(crate) row_codes: RowCodes,
}

impl Template {
    /// The template of the smallest format for a text with so many bytes.
    pub(crate) fn for_text(bytes: usize) -> Option<&'static Self> {
        let (format, template) = FORMATS.iter().zip(&TEMPLATES).find(|(format, _)| format.holds(bytes))?;
        Some(template.get_or_init(|| Self::new(*format)))
    }

    /// The mask, which keeps a text from looking like a pattern, is always the chessboard, the first of the eight.
    /// Trying all of them would take most of the time, and half of the text is random, so that no mask is bad for it.
    fn new(format: Format) -> Self {
        let (side, patterns) = (format.side(), patterns(format));
        let is_masked = |module: usize| (module % side + module / side).is_multiple_of(2);
        let dark = patterns.iter().enumerate().map(|(module, dark)| dark.unwrap_or_else(|| is_masked(module)));
        let dark: Vec<_> = dark.map(u8::from).collect();
        Self {
            format,
            divisor: Divisor::new(format.check_codewords),
            blank: in_eights(side, &dark, 0).into_iter().map(byte_of_bits).collect(),
            bit_indexes: in_eights(side, &bits_of_modules(format, &patterns), unused_bit_index(format)),
            row_codes: RowCodes::new(side),
        }
    }

    /// The QR code of a text that fits.
    pub(crate) fn draw(&self, text: &str) -> Modules {
        let codewords = codewords(text.as_bytes(), self.format, &self.divisor);
        // One codeword more, which is zero: the modules that no bit inverts have its first bit.
        let bits: Vec<_> = codewords.iter().copied().chain([0]).map(bits_of_byte).collect();
        let bits = bits.as_flattened();
        let bit = |index: &u16| bits.get(usize::from(*index)).copied().unwrap_or_default();
        let bytes =
            self.bit_indexes.iter().zip(&self.blank).map(|(eight, blank)| blank ^ byte_of_bits(eight.iter().map(bit)));
        let bytes = bytes.collect();
        Modules::new(self.format.side(), bytes)
    }
}

/// The bits of a byte from the highest on, each in a byte of its own.
fn bits_of_byte(byte: u8) -> [u8; 8] {
    // Eight copies of the byte, nine bits apart: copy k has bit 7 - k at the top of byte k.
    let copies = u64::from(byte).wrapping_mul(0x8040_2010_0804_0201);
    ((copies >> 7) & 0x0101_0101_0101_0101).to_le_bytes()
}

/// The byte with these bits, from the highest on.
fn byte_of_bits(bits: impl IntoIterator<Item = u8>) -> u8 {
    bits.into_iter().fold(0, |byte, bit| (byte << 1) | bit)
}

/// The index of a bit that is never set: it is the first after those of the codewords.
fn unused_bit_index(format: Format) -> u16 {
    u16::try_from(8 * format.codewords()).unwrap_or(u16::MAX)
}

/// The index of the bit that is drawn as each module, row by row. Patterns, and the few modules after the last codeword,
/// have a bit that is never set.
fn bits_of_modules(format: Format, patterns: &[Option<bool>]) -> Vec<u16> {
    let bits = format.drawing_order().into_iter().flat_map(|codeword| 8 * codeword..8 * codeword + 8);
    let mut indexes = vec![unused_bit_index(format); patterns.len()];
    for (module, bit) in places(format.side(), patterns).into_iter().zip(bits) {
        if let (Some(index), Ok(bit)) = (indexes.get_mut(module), u16::try_from(bit)) {
            *index = bit;
        }
    }
    indexes
}

/// The modules that are in no pattern, in the order in which bits are drawn: in pairs of columns from the right, up and
/// down in turns.
fn places(side: usize, patterns: &[Option<bool>]) -> Vec<usize> {
    let mut places = Vec::with_capacity(patterns.len());
    for right in (1..side).rev().step_by(2) {
        // The timing pattern has a column of its own.
        let right = if right > TIMING { right } else { right - 1 };
        let is_upward = (right + 1) & 2 == 0;
        for step in 0..side {
            let y = if is_upward { side - 1 - step } else { step };
            let pair = [right, right - 1].map(|x| y * side + x);
            places.extend(pair.into_iter().filter(|module| patterns.get(*module) == Some(&None)));
        }
    }
    places
}
