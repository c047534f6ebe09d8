//! The PNG file of a QR code (ISO/IEC 15948).

use crate::dimensions::{PIXELS_PER_MODULE, QUIET_ZONE_MODULES};
use crate::modules::Modules;
use crate::pixel_stream;
use crate::row_codes::RowCodes;

const SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1a\n";

/// The end of the header: one bit per pixel, greyscale, and the only compression, filters and order without
/// interlacing.
const PIXEL_FORMAT: [u8; 5] = [1, 0, 0, 0, 0];

/// The PNG of a QR code.
pub(crate) fn png(modules: &Modules, row_codes: &RowCodes) -> Vec<u8> {
    let side = (modules.side() + 2 * QUIET_ZONE_MODULES) * PIXELS_PER_MODULE;
    let side = u32::try_from(side).unwrap_or(u32::MAX).to_be_bytes();
    let pixels = pixel_stream::compress(modules, row_codes);
    let mut file = Vec::with_capacity(pixels.len() + 64);
    file.extend_from_slice(SIGNATURE);
    write_chunk(&mut file, *b"IHDR", &[&side[..], &side, &PIXEL_FORMAT].concat());
    write_chunk(&mut file, *b"IDAT", &pixels);
    write_chunk(&mut file, *b"IEND", &[]);
    file
}

fn write_chunk(file: &mut Vec<u8>, kind: [u8; 4], content: &[u8]) {
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&kind);
    checksum.update(content);
    for part in [&length.to_be_bytes()[..], &kind, content, &checksum.finalize().to_be_bytes()] {
        file.extend_from_slice(part);
    }
}
