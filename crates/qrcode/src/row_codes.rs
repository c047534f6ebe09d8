//! The Huffman codes with which the rows of pixels of a QR code repeat. They are known in advance, except for two lengths
//! of repetitions, which depend on the width of the picture.

use crate::bit_writer::{BitWriter, Bits};
use crate::dimensions::{PIXELS_PER_MODULE, QUIET_ZONE_MODULES};
use crate::pixel_codes::LITERAL_LENGTHS;

/// Compression with a window of 32 KB, without effort; together a multiple of 31.
const ZLIB_HEADER: [u8; 2] = [0x78, 0x01];

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
    /// Repeats five rows.
    pub(crate) five_more: Bits,
    /// The end of the stream.
    pub(crate) end: Bits,
    /// The number of bytes in a row of pixels, with its filter.
    pub(crate) pixel_row_bytes: u32,
    /// Whether the last byte of a row of modules has five of them; otherwise it has one.
    pub(crate) ends_with_five_modules: bool,
    /// The beginning of the stream, and space for the pixels.
    pub(crate) stream_start: BitWriter,
}

impl RowCodes {
    /// The codes for the picture of a QR code with this side.
    pub(crate) fn new(side: usize) -> Self {
        let modules = side + 2 * QUIET_ZONE_MODULES;
        // 3 × version + 20, so 23 to 140.
        let pixel_row_bytes = u32::try_from(1 + (modules * PIXELS_PER_MODULE).div_ceil(8)).unwrap_or(u32::MAX);
        let five_rows = 5 * pixel_row_bytes;
        let (row, rest) = (Symbol::of_length(pixel_row_bytes), Symbol::of_length(five_rows % LONGEST));
        let distance = Symbol::of_distance(pixel_row_bytes);
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
        let longest =
            (0..five_rows / LONGEST).fold(Bits::NONE, |longest, _| longest.then(LONGEST_CODE).then(distance_code));
        let mut stream_start = BitWriter::after(&ZLIB_HEADER);
        write_code_lengths(&mut stream_start, &code_lengths, distance.number);
        // Some 2.5 bits per module, and more in a small code.
        stream_start.reserve(side * modules / 3 + 64);
        Self {
            one_more: row_code.then(row.extra).then(distance_code),
            five_more: longest.then(rest_code).then(rest.extra).then(distance_code),
            end: end_code,
            pixel_row_bytes,
            ends_with_five_modules: modules % 8 == 5,
            stream_start,
        }
    }
}

/// Writes the header of the only block: the lengths of all codes. Those of all lengths and the end are in the order of the
/// symbols.
fn write_code_lengths(stream: &mut BitWriter, code_lengths: &[(u16, u8)], distance_symbol: u16) {
    // The last block, with its own codes.
    stream.write(Bits::of_number(0b101, 3));
    // How many lengths follow, less 257, 1 and 4: of literals and lengths, of distances, and of the codes for these
    // lengths.
    stream.write(Bits::of_number(u32::from(LONGEST_SYMBOL - END_SYMBOL), 5));
    stream.write(Bits::of_number(u32::from(distance_symbol), 5));
    stream.write(Bits::of_number(14, 4));
    for symbol in LENGTH_ORDER {
        let is_used = length_code(symbol).is_some();
        stream.write(Bits::of_number(if is_used { 3 } else { 0 }, 3));
    }
    let mut next = 0;
    let distances = [(0, 1), (distance_symbol, 1)].map(|(symbol, bits)| (LONGEST_SYMBOL + 1 + symbol, bits));
    for &(symbol, bits) in LITERAL_LENGTHS.iter().chain(code_lengths).chain(&distances) {
        write_unused(stream, symbol - next);
        stream.write(length_code(bits).unwrap_or(UNUSED));
        next = symbol + 1;
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
