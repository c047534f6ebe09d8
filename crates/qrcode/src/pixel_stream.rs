//! The pixels of a QR code, compressed in the zlib format (RFC 1950 and 1951).
//!
//! The first row of pixels of each row of modules is written byte by byte, eight modules at a time from a table; the
//! others repeat it. No pixel is ever drawn. The sign-in link of the benchmark, version 11, takes 1.4 KB; a general
//! compressor made 3.8 KB of it.

use crate::bit_writer::BitWriter;
use crate::dimensions::QUIET_ZONE_MODULES;
use crate::modules::{Modules, module_row_bytes};
use crate::pixel_codes::{PixelCodes, Pixels, ROW_END, ROW_START};
use crate::row_codes::RowCodes;

/// The modulus of Adler-32.
const ADLER_MODULUS: u64 = 65_521;

/// The rows of pixels, with their filters, as zlib stream.
pub(crate) fn compress(modules: &Modules, row_codes: &RowCodes) -> Vec<u8> {
    let mut stream = PixelStream::new(row_codes);
    let margin = vec![0; module_row_bytes(modules.side())];
    stream.write_margin(&margin);
    for row in modules.rows() {
        stream.write_row(row);
    }
    stream.write_margin(&margin);
    stream.finish()
}

/// The sums of the bytes in a row of pixels, for the checksum.
#[derive(Clone, Copy, Debug, Default)]
struct RowSums {
    sum: u32,
    sum_of_sums: u32,
}

impl RowSums {
    #[inline]
    fn add(&mut self, pixels: &Pixels) {
        self.sum_of_sums += u32::from(pixels.bytes) * self.sum + u32::from(pixels.sum_of_sums);
        self.sum += u32::from(pixels.sum);
    }
}

#[derive(Debug)]
struct PixelStream<'codes> {
    bits: BitWriter,
    pixel_codes: &'static PixelCodes,
    row_codes: &'codes RowCodes,
    /// The two halves of Adler-32 before the remainder is taken: the sum of all bytes and one, and the sum of the sums
    /// after each byte, which is at most 3 × 10¹².
    sum: u64,
    sum_of_sums: u64,
}

impl<'codes> PixelStream<'codes> {
    fn new(row_codes: &'codes RowCodes) -> Self {
        Self { bits: row_codes.stream_start.clone(), pixel_codes: PixelCodes::get(), row_codes, sum: 1, sum_of_sums: 0 }
    }

    /// Writes a row of modules.
    // Inlined, the state of the bits is in registers: it takes half of the time.
    #[inline]
    fn write_row(&mut self, modules: &[u8]) -> RowSums {
        let sums = self.write_pixels(modules);
        self.bits.write(self.row_codes.five_more);
        self.add_six_rows(sums);
        sums
    }

    /// Writes the quiet zone above or below the code, given as a row of light modules.
    fn write_margin(&mut self, light: &[u8]) {
        let sums = self.write_row(light);
        for _ in 1..QUIET_ZONE_MODULES {
            self.bits.write(self.row_codes.one_more);
            self.bits.write(self.row_codes.five_more);
            self.add_six_rows(sums);
        }
    }

    /// Writes one row of pixels. In its last byte, a row has one module or five.
    #[inline]
    fn write_pixels(&mut self, modules: &[u8]) -> RowSums {
        let mut sums = RowSums::default();
        self.write(&ROW_START, &mut sums);
        let Some((last, eights)) = modules.split_last() else { return sums };
        let (pairs, single) = eights.as_chunks();
        for pair in pairs {
            let [left, right] = pair.map(|eight| self.pixel_codes.of_eight(eight));
            // At once: each write waits for the position that the one before it leaves.
            self.bits.write(left.code.then(right.code));
            sums.add(left);
            sums.add(right);
        }
        for eight in single {
            self.write(self.pixel_codes.of_eight(*eight), &mut sums);
        }
        if self.row_codes.ends_with_five_modules {
            self.write(self.pixel_codes.of_left_four(*last), &mut sums);
        }
        self.write(&ROW_END, &mut sums);
        sums
    }

    #[inline]
    fn write(&mut self, pixels: &Pixels, sums: &mut RowSums) {
        self.bits.write(pixels.code);
        sums.add(pixels);
    }

    /// Adds six equal rows of pixels to the checksum.
    #[inline]
    fn add_six_rows(&mut self, row: RowSums) {
        let (bytes, sum) = (u64::from(self.row_codes.pixel_row_bytes), u64::from(row.sum));
        self.sum_of_sums += 6 * (bytes * self.sum + u64::from(row.sum_of_sums));
        // Each row adds its sum to all sums of the rows after it: 5 + 4 + 3 + 2 + 1 times.
        self.sum_of_sums += 15 * bytes * sum;
        self.sum += 6 * sum;
    }

    fn finish(mut self) -> Vec<u8> {
        self.bits.write(self.row_codes.end);
        let mut stream = self.bits.finish();
        let adler = ((self.sum_of_sums % ADLER_MODULUS) << 16) | (self.sum % ADLER_MODULUS);
        let [_, _, _, _, checksum @ ..] = adler.to_be_bytes();
        stream.extend_from_slice(&checksum);
        stream
    }
}
