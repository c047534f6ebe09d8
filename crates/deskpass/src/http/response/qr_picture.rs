//! QR codes as pictures: black and white, one bit a dot, sharp, with the quiet zone that scanners need.

use png::{BitDepth, ColorType, Compression, Encoder, EncodingError, Filter};
use qrcodegen::{DataTooLong, Mask, QrCode, QrCodeEcc, QrSegment, Version};

/// Dots a module is wide: sharp on any screen, also when it is shown smaller.
const PIXELS_PER_MODULE: usize = 6;
/// Modules of white around the code, as ISO/IEC 18004 wants.
const QUIET_ZONE_MODULES: usize = 4;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PictureError {
    /// The text is longer than any code holds.
    #[error("the text does not fit into a QR code: {0}")]
    TooLong(#[from] DataTooLong),
    /// The picture cannot be written.
    #[error(transparent)]
    Encoding(#[from] EncodingError),
}

/// The QR code of a text, as PNG.
pub(crate) fn draw(text: &str) -> Result<Vec<u8>, PictureError> {
    let code = encode(text)?;
    let modules = usize::try_from(code.size()).unwrap_or_default();
    let side = (modules + 2 * QUIET_ZONE_MODULES) * PIXELS_PER_MODULE;
    let margin = vec![0xff; side.div_ceil(8)].repeat(QUIET_ZONE_MODULES * PIXELS_PER_MODULE);
    let mut rows = margin.clone();
    for y in 0..code.size() {
        rows.extend_from_slice(&row((0..code.size()).map(|x| code.get_module(x, y)), side).repeat(PIXELS_PER_MODULE));
    }
    rows.extend_from_slice(&margin);
    write(side, &rows)
}

/// A screen is clean and lit: the least redundancy makes the largest modules, which is what a phone's camera wants. Trying
/// all masks would take most of the time and gain nothing: half of the text is random, so none of them is unlucky.
fn encode(text: &str) -> Result<QrCode, DataTooLong> {
    let (segments, mask) = (QrSegment::make_segments(text), Some(Mask::new(0)));
    QrCode::encode_segments_advanced(&segments, QrCodeEcc::Low, Version::MIN, Version::MAX, mask, true)
}

/// One row of dots: white, but for dark modules.
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

fn write(side: usize, rows: &[u8]) -> Result<Vec<u8>, PictureError> {
    let (mut picture, dots) = (Vec::with_capacity(4096), u32::try_from(side).unwrap_or(u32::MAX));
    let mut encoder = Encoder::new(&mut picture, dots, dots);
    encoder.set_color(ColorType::Grayscale);
    encoder.set_depth(BitDepth::One);
    encoder.set_compression(Compression::Fast);
    // Most rows are the same as the one above.
    encoder.set_filter(Filter::Up);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(rows)?;
    writer.finish()?;
    Ok(picture)
}
