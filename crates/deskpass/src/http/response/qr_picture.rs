//! QR codes as PNG: black and white, one bit per pixel, with the quiet zone that scanners need.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use png::{BitDepth, ColorType, Compression, Encoder, EncodingError, Filter};
use qrcodegen::{DataTooLong, Mask, QrCode, QrCodeEcc, QrSegment, Version};

use crate::http::error::ApiError;

/// The width of a module in pixels: sharp on any screen, also when the picture is scaled down.
const PIXELS_PER_MODULE: usize = 6;
/// The white modules around the code, as ISO/IEC 18004 requires.
const QUIET_ZONE_MODULES: usize = 4;

/// The QR code of a text, as PNG in base64.
pub(crate) fn png_base64(text: &str) -> Result<String, ApiError> {
    let too_long = |error| ApiError::unexpected(&format_args!("the text does not fit into a QR code: {error}"));
    let code = encode(text).map_err(too_long)?;
    let modules = usize::try_from(code.size()).unwrap_or_default();
    let side = (modules + 2 * QUIET_ZONE_MODULES) * PIXELS_PER_MODULE;
    let margin = vec![0xff; side.div_ceil(8)].repeat(QUIET_ZONE_MODULES * PIXELS_PER_MODULE);
    let mut rows = margin.clone();
    for y in 0..code.size() {
        rows.extend_from_slice(&row((0..code.size()).map(|x| code.get_module(x, y)), side).repeat(PIXELS_PER_MODULE));
    }
    rows.extend_from_slice(&margin);
    Ok(STANDARD.encode(write(side, &rows).map_err(|error| ApiError::unexpected(&error))?))
}

/// Encodes with the least redundancy: a screen is clean and lit, and larger modules are easier for a phone's camera. The mask is
/// fixed: trying all masks would take most of the time, and half of the text is random, so that no mask is bad for it.
fn encode(text: &str) -> Result<QrCode, DataTooLong> {
    let (segments, mask) = (QrSegment::make_segments(text), Some(Mask::new(0)));
    QrCode::encode_segments_advanced(&segments, QrCodeEcc::Low, Version::MIN, Version::MAX, mask, true)
}

/// A row of pixels: white, except for dark modules.
fn row(modules: impl Iterator<Item = bool>, side: usize) -> Vec<u8> {
    let mut row = vec![0xff_u8; side.div_ceil(8)];
    let dark =
        modules.enumerate().filter(|(_, dark)| *dark).map(|(at, _)| (at + QUIET_ZONE_MODULES) * PIXELS_PER_MODULE);
    for dot in dark.flat_map(|start| start..start + PIXELS_PER_MODULE) {
        if let Some(byte) = row.get_mut(dot / 8) {
            *byte &= !(0x80 >> (dot % 8));
        }
    }
    row
}

fn write(side: usize, rows: &[u8]) -> Result<Vec<u8>, EncodingError> {
    let (mut picture, dots) = (Vec::with_capacity(4096), u32::try_from(side).unwrap_or(u32::MAX));
    let mut encoder = Encoder::new(&mut picture, dots, dots);
    encoder.set_color(ColorType::Grayscale);
    encoder.set_depth(BitDepth::One);
    encoder.set_compression(Compression::Fast);
    // Most rows are identical to the row above.
    encoder.set_filter(Filter::Up);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(rows)?;
    writer.finish()?;
    Ok(picture)
}
