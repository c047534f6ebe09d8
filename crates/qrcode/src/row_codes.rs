//! The Huffman codes for the rows of pixels of a QR code.
//!
//! With six pixels per module, four modules side by side are three bytes, and only eight different bytes occur. Rows
//! repeat the row above. So the codes are known in advance, except for two lengths of repetitions, which depend on the
//! width of the picture.

use crate::bit_writer::{BitWriter, Bits};
use crate::dimensions::PIXELS_PER_MODULE;

/// The codes of the bytes that occur, shorter for the more frequent ones. Any other byte has none.
const fn literal(byte: u8) -> Bits {
    match byte {
        0x00 => Bits::of_code(0b00, 2),
        0xff => Bits::of_code(0b01, 2),
        0x03 => Bits::of_code(0b1000, 4),
        0x0f => Bits::of_code(0b1001, 4),
        0x3f => Bits::of_code(0b1010, 4),
        0xc0 => Bits::of_code(0b1011, 4),
        0xf0 => Bits::of_code(0b1100, 4),
        _ => Bits::of_code(0b1101, 4),
    }
}

/// The lengths of the codes of [`literal`].
const LITERAL_LENGTHS: [(u16, u8); 8] =
    [(0x00, 2), (0x03, 4), (0x0f, 4), (0x3f, 4), (0xc0, 4), (0xf0, 4), (0xfc, 4), (0xff, 2)];

/// The filter of every row, "none", before its pixels.
pub(crate) const ROW_START: Bits = literal(0x00);

/// A light module at the end of a row, and two bits that are not shown.
pub(crate) const ROW_END: Bits = literal(0xff);

/// Four modules side by side.
#[derive(Debug)]
pub(crate) struct FourModules {
    /// The codes of their three bytes.
    pub(crate) code: Bits,
    /// The sum of the bytes.
    pub(crate) sum: u32,
    /// The sum of the sums after each byte.
    pub(crate) sum_of_sums: u32,
}

impl FourModules {
    /// The modules by their colours: the highest of the four bits is the leftmost module, and a set bit is a dark one.
    pub(crate) fn of(dark: u8) -> &'static Self {
        let [light, ..] = &FOUR_MODULES;
        FOUR_MODULES.get(usize::from(dark)).unwrap_or(light)
    }

    const fn new(dark: u8) -> Self {
        let mut pixels: u32 = 0;
        let mut module = 4;
        while module > 0 {
            module -= 1;
            let light = (dark >> module) & 1 == 0;
            pixels = (pixels << PIXELS_PER_MODULE) | if light { 0b11_1111 } else { 0 };
        }
        let [_, first, second, third] = pixels.to_be_bytes();
        let code = literal(first).then(literal(second)).then(literal(third));
        let [first, second, third] = [first as u32, second as u32, third as u32];
        Self { code, sum: first + second + third, sum_of_sums: 3 * first + 2 * second + third }
    }
}

static FOUR_MODULES: [FourModules; 16] = [
    FourModules::new(0b0000),
    FourModules::new(0b0001),
    FourModules::new(0b0010),
    FourModules::new(0b0011),
    FourModules::new(0b0100),
    FourModules::new(0b0101),
    FourModules::new(0b0110),
    FourModules::new(0b0111),
    FourModules::new(0b1000),
    FourModules::new(0b1001),
    FourModules::new(0b1010),
    FourModules::new(0b1011),
    FourModules::new(0b1100),
    FourModules::new(0b1101),
    FourModules::new(0b1110),
    FourModules::new(0b1111),
];

/// The longest repetition of the format, in bytes, and its symbol and code.
const LONGEST: u32 = 258;
const LONGEST_SYMBOL: u16 = 285;
const LONGEST_CODE: Bits = Bits::of_code(0b1110, 4);

/// The symbol that ends the stream.
const END_SYMBOL: u16 = 256;

/// A symbol of a length or a distance, and the bits that follow its code.
#[derive(Clone, Copy, Debug)]
struct Symbol {
    number: u16,
    extra: Bits,
}

impl Symbol {
    /// The symbol of a length in bytes, from 3 to 257.
    fn of_length(bytes: u32) -> Self {
        let Self { number, extra } = Self::in_steps(bytes - 3, 2);
        Self { number: END_SYMBOL + 1 + number, extra }
    }

    /// The symbol of a distance in bytes.
    fn of_distance(bytes: u32) -> Self {
        Self::in_steps(bytes - 1, 1)
    }

    /// The format has 2, or 4, symbols for each number of extra bits: the first two bits, or three, of a number select
    /// the symbol.
    fn in_steps(number: u32, selecting_bits: u32) -> Self {
        let extra_bits = number.max(1).ilog2().saturating_sub(selecting_bits);
        let symbol = (extra_bits << selecting_bits) + (number >> extra_bits);
        let extra = number & ((1 << extra_bits) - 1);
        Self {
            number: u16::try_from(symbol).unwrap_or_default(),
            extra: Bits::of_number(extra, usize::try_from(extra_bits).unwrap_or_default()),
        }
    }
}

/// How the rows of a picture repeat: every row of modules is one row of pixels and five more.
#[derive(Debug)]
pub(crate) struct RowCodes {
    /// Repeats one row.
    pub(crate) one_more: Bits,
    /// How many of the longest repetitions are in five rows.
    longest_count: u32,
    longest: Bits,
    /// What is left of five rows.
    rest: Bits,
    /// The end of the stream.
    pub(crate) end: Bits,
    /// The lengths of the codes of all lengths and the end, in the order of the symbols.
    code_lengths: Vec<(u16, u8)>,
    distance_symbol: u16,
}

impl RowCodes {
    /// The codes for rows of this many bytes, the filter included. For a QR code that is 3 × version + 20, so 23 to
    /// 140.
    pub(crate) fn new(row_bytes: u32) -> Self {
        let five_rows = 5 * row_bytes;
        let (row, rest) = (Symbol::of_length(row_bytes), Symbol::of_length(five_rows % LONGEST));
        let distance = Symbol::of_distance(row_bytes);
        // The other distance with a code, 1, is the first; it is never used, and only makes the codes complete.
        let distance_code = Bits::of_code(0b1, 1).then(distance.extra);
        let is_same = row.number == rest.number;
        let (end_code, row_code, rest_code) = if is_same {
            let shared = Bits::of_code(0b1_1111, 5);
            (Bits::of_code(0b1_1110, 5), shared, shared)
        } else {
            (Bits::of_code(0b11_1110, 6), Bits::of_code(0b11_1111, 6), Bits::of_code(0b1_1110, 5))
        };
        let mut code_lengths = if is_same {
            vec![(END_SYMBOL, 5), (rest.number, 5), (LONGEST_SYMBOL, 4)]
        } else {
            vec![(END_SYMBOL, 6), (row.number, 6), (rest.number, 5), (LONGEST_SYMBOL, 4)]
        };
        code_lengths.sort_unstable();
        Self {
            one_more: row_code.then(row.extra).then(distance_code),
            longest_count: five_rows / LONGEST,
            longest: LONGEST_CODE.then(distance_code),
            rest: rest_code.then(rest.extra).then(distance_code),
            end: end_code,
            code_lengths,
            distance_symbol: distance.number,
        }
    }

    /// Writes the five repetitions of the row before.
    pub(crate) fn write_five_more(&self, stream: &mut BitWriter) {
        for _ in 0..self.longest_count {
            stream.write(self.longest);
        }
        stream.write(self.rest);
    }

    /// Writes the header of the only block: the lengths of all codes.
    pub(crate) fn write_header(&self, stream: &mut BitWriter) {
        // The last block, with its own codes.
        stream.write(Bits::of_number(0b101, 3));
        // How many lengths follow, less 257, 1 and 4: of literals and lengths, of distances, and of the codes for these
        // lengths.
        stream.write(Bits::of_number(u32::from(LONGEST_SYMBOL - END_SYMBOL), 5));
        stream.write(Bits::of_number(u32::from(self.distance_symbol), 5));
        stream.write(Bits::of_number(14, 4));
        for symbol in LENGTH_ORDER {
            let is_used = length_code(symbol).is_some();
            stream.write(Bits::of_number(if is_used { 3 } else { 0 }, 3));
        }
        let mut next = 0;
        let distances = [(0, 1), (self.distance_symbol, 1)].map(|(symbol, bits)| (LONGEST_SYMBOL + 1 + symbol, bits));
        for &(symbol, bits) in LITERAL_LENGTHS.iter().chain(&self.code_lengths).chain(&distances) {
            write_unused(stream, symbol - next);
            stream.write(length_code(bits).unwrap_or(UNUSED));
            next = symbol + 1;
        }
    }
}

/// The order in which the format lists the lengths of the codes for lengths; those that are left out are not used.
const LENGTH_ORDER: [u8; 18] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1];

/// The codes for lengths: of a symbol that is not used, of 3 to 10 such symbols, and of 11 to 138.
const UNUSED: Bits = Bits::of_code(0b000, 3);
const FEW_UNUSED: Bits = Bits::of_code(0b110, 3);
const MANY_UNUSED: Bits = Bits::of_code(0b111, 3);

/// The codes for lengths, of those that occur.
const fn length_code(symbol: u8) -> Option<Bits> {
    Some(match symbol {
        0 => UNUSED,
        1 => Bits::of_code(0b001, 3),
        2 => Bits::of_code(0b010, 3),
        4 => Bits::of_code(0b011, 3),
        5 => Bits::of_code(0b100, 3),
        6 => Bits::of_code(0b101, 3),
        17 => FEW_UNUSED,
        18 => MANY_UNUSED,
        _ => return None,
    })
}

/// Writes that so many symbols, at most 138, are not used.
fn write_unused(stream: &mut BitWriter, count: u16) {
    match count {
        0..3 => {
            for _ in 0..count {
                stream.write(UNUSED);
            }
        }
        3..11 => stream.write(FEW_UNUSED.then(Bits::of_number(u32::from(count - 3), 3))),
        11.. => stream.write(MANY_UNUSED.then(Bits::of_number(u32::from(count - 11), 7))),
    }
}
