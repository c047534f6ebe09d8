//! QR codes as pictures: black and white, one bit a dot, sharp, with the quiet zone that scanners need.

use fast_qr::qr::{QRBuilder, QRCodeError};
use fast_qr::{ECL, Mask};
use png::{BitDepth, ColorType, Compression, Encoder, EncodingError};

/// Dots a module is wide: sharp on any screen, also when it is shown smaller.
const SCALE: usize = 6;
/// Modules of white around the code, as ISO/IEC 18004 wants.
const QUIET: usize = 4;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoPicture {
    /// The text is longer than any code holds.
    #[error("the text does not fit into a QR code: {0}")]
    TooLong(QRCodeError),
    /// The picture cannot be written.
    #[error(transparent)]
    Encoding(#[from] EncodingError),
}

/// The QR code of a text, as PNG.
pub(super) fn draw(text: &str) -> Result<Vec<u8>, NoPicture> {
    // A screen is clean and lit: the least redundancy makes the largest modules, which is what a phone's camera wants.
    // Trying all masks takes most of the time and gains nothing: half of the text is random, so none of them is unlucky.
    let code = QRBuilder::new(text).ecl(ECL::L).mask(Mask::Checkerboard).build().map_err(NoPicture::TooLong)?;
    let side = (code.size + 2 * QUIET) * SCALE;
    let quiet = vec![0xff; side.div_ceil(8)];
    let mut rows = Vec::with_capacity(side * quiet.len());
    let margin = || std::iter::repeat_n(&quiet, QUIET * SCALE).flatten().copied();
    rows.extend(margin());
    for modules in code.data.chunks(code.size).take(code.size) {
        let row = row(modules.iter().map(|module| module.value()), side);
        rows.extend(std::iter::repeat_n(&row, SCALE).flatten());
    }
    rows.extend(margin());
    write(side, &rows)
}

/// One row of dots: white, but for dark modules.
fn row(modules: impl Iterator<Item = bool>, side: usize) -> Vec<u8> {
    let mut row = vec![0xff_u8; side.div_ceil(8)];
    let dark = modules.enumerate().filter(|(_, dark)| *dark).map(|(at, _)| (at + QUIET) * SCALE);
    for dot in dark.flat_map(|start| start..start + SCALE) {
        if let Some(byte) = row.get_mut(dot / 8) {
            *byte &= !(0x80 >> (dot % 8));
        }
    }
    row
}

fn write(side: usize, rows: &[u8]) -> Result<Vec<u8>, NoPicture> {
    let (mut picture, dots) = (Vec::with_capacity(4096), u32::try_from(side).unwrap_or(u32::MAX));
    let mut encoder = Encoder::new(&mut picture, dots, dots);
    encoder.set_color(ColorType::Grayscale);
    encoder.set_depth(BitDepth::One);
    encoder.set_compression(Compression::Fast);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(rows)?;
    writer.finish()?;
    Ok(picture)
}
