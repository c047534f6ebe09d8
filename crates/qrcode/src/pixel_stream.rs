//! The pixels of a QR code, compressed in the zlib format (RFC 1950 and 1951).
//!
//! The first row of pixels of each row of modules is written byte by byte, four modules at a time from a table; the
//! others repeat it. No pixel is ever drawn. The sign-in link of the benchmark, version 11, takes 1.4 KB; a general
//! compressor made 3.8 KB of it.

use crate::bit_writer::BitWriter;
use crate::dimensions::{PIXELS_PER_MODULE, QUIET_ZONE_MODULES};
use crate::modules::Modules;
use crate::row_codes::{FourModules, ROW_END, ROW_START, RowCodes};

/// Compression with a window of 32 KB, without effort; together a multiple of 31.
const ZLIB_HEADER: [u8; 2] = [0x78, 0x01];

/// The modulus of Adler-32.
const ADLER_MODULUS: u64 = 65_521;

/// The rows of pixels, with their filters, as zlib stream.
pub(crate) fn compress(code: &Modules) -> Vec<u8> {
    let mut stream = PixelStream::new(code.side());
    let margin = vec![false; code.side()];
    stream.write_margin(&margin);
    for row in code.rows() {
        stream.write_row(row);
    }
    stream.write_margin(&margin);
    stream.finish()
}

/// The sums of the bytes in a row that its checksum is computed from.
#[derive(Clone, Copy, Debug, Default)]
struct RowSums {
    sum: u32,
    sum_of_sums: u32,
}

#[derive(Debug)]
struct PixelStream {
    bits: BitWriter,
    codes: RowCodes,
    row_bytes: u32,
    /// The two halves of Adler-32: the sum of all bytes and one, and the sum of the sums after each byte.
    sum: u64,
    sum_of_sums: u64,
}

impl PixelStream {
    /// A stream for rows of so many modules.
    fn new(modules: usize) -> Self {
        let pixels = (modules + 2 * QUIET_ZONE_MODULES) * PIXELS_PER_MODULE;
        let row_bytes = u32::try_from(1 + pixels.div_ceil(8)).unwrap_or(u32::MAX);
        let mut bytes = Vec::with_capacity(2048);
        bytes.extend_from_slice(&ZLIB_HEADER);
        let (mut bits, codes) = (BitWriter::after(bytes), RowCodes::new(row_bytes));
        codes.write_header(&mut bits);
        Self { bits, codes, row_bytes, sum: 1, sum_of_sums: 0 }
    }

    /// Writes a row of modules.
    fn write_row(&mut self, modules: &[bool]) -> RowSums {
        let sums = self.write_pixels(modules);
        self.codes.write_five_more(&mut self.bits);
        self.count_six(sums);
        sums
    }

    /// Writes the quiet zone above or below the code, given as a row of light modules.
    fn write_margin(&mut self, light: &[bool]) {
        let sums = self.write_row(light);
        for _ in 1..QUIET_ZONE_MODULES {
            self.bits.write(self.codes.one_more);
            self.codes.write_five_more(&mut self.bits);
            self.count_six(sums);
        }
    }

    /// Writes one row of pixels with the quiet zone on both sides: four modules before, and three and one after the
    /// last module.
    fn write_pixels(&mut self, modules: &[bool]) -> RowSums {
        let mut sums = RowSums::default();
        self.bits.write(ROW_START);
        self.write_four(0, &mut sums);
        let (fours, last) = modules.as_chunks::<4>();
        for four in fours {
            self.write_four(four.iter().fold(0_u8, |dark, module| (dark << 1) | u8::from(*module)), &mut sums);
        }
        for module in last {
            self.write_four(u8::from(*module) << 3, &mut sums);
        }
        self.bits.write(ROW_END);
        sums.sum += 0xff;
        sums.sum_of_sums += sums.sum;
        sums
    }

    fn write_four(&mut self, dark: u8, sums: &mut RowSums) {
        let four = FourModules::of(dark);
        self.bits.write(four.code);
        sums.sum_of_sums += 3 * sums.sum + four.sum_of_sums;
        sums.sum += four.sum;
    }

    /// Counts six equal rows of pixels in the checksum.
    fn count_six(&mut self, row: RowSums) {
        for _ in 0..PIXELS_PER_MODULE {
            self.sum_of_sums += u64::from(self.row_bytes) * self.sum + u64::from(row.sum_of_sums);
            self.sum += u64::from(row.sum);
        }
        self.sum %= ADLER_MODULUS;
        self.sum_of_sums %= ADLER_MODULUS;
    }

    fn finish(mut self) -> Vec<u8> {
        self.bits.write(self.codes.end);
        let mut stream = self.bits.finish();
        let adler = (self.sum_of_sums << 16) | self.sum;
        let [_, _, _, _, checksum @ ..] = adler.to_be_bytes();
        stream.extend_from_slice(&checksum);
        stream
    }
}
