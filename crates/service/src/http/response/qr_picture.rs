//! QR codes in responses.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use png::{Compression, Encoder, EncodingError};
use qrcodegen::{Mask, QrCode, QrCodeEcc, QrSegment, Version};

use crate::http::error::ApiError;

/// The white modules around the code, as ISO/IEC 18004 requires.
const QUIET_ZONE: i32 = 4;
/// The width of a module in pixels: sharp on any screen, also when the picture is scaled down.
const PIXELS: usize = 6;

/// The QR code of a text: a PNG in Base64, black and white, one bit per pixel.
pub(crate) fn png_base64(text: &str) -> Result<String, ApiError> {
    let segments = [QrSegment::make_bytes(text.as_bytes())];
    // A given mask: to try all eight of them would take most of the time.
    let mask = Some(Mask::new(0));
    let code = QrCode::encode_segments_advanced(&segments, QrCodeEcc::Low, Version::MIN, Version::MAX, mask, true);
    let code = code.map_err(|error| ApiError::unexpected(&error))?;
    let png = png(&code).map_err(|error| ApiError::unexpected(&error))?;
    Ok(STANDARD.encode(png))
}

fn png(code: &QrCode) -> Result<Vec<u8>, EncodingError> {
    let modules: Vec<i32> = (-QUIET_ZONE..code.size() + QUIET_ZONE).collect();
    let side = modules.len() * PIXELS;
    let mut rows = Vec::with_capacity(side * side.div_ceil(8));
    for y in &modules {
        let mut row = Vec::with_capacity(side.div_ceil(8) + 2);
        // Four modules of six pixels are three bytes. A light pixel is a one.
        for four in modules.chunks(4) {
            let light = four.iter().zip([18, 12, 6, 0]).filter(|(x, _)| !code.get_module(**x, *y));
            let [_, bytes @ ..] = light.fold(0_u32, |bits, (_, shift)| bits | (0b11_1111 << shift)).to_be_bytes();
            row.extend(bytes);
        }
        row.truncate(side.div_ceil(8));
        rows.extend(row.repeat(PIXELS));
    }
    let side = u32::try_from(side).unwrap_or(u32::MAX);
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, side, side);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::One);
    encoder.set_compression(Compression::Fastest);
    encoder.write_header()?.write_image_data(&rows)?;
    Ok(file)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_is_refused() {
        assert!(png_base64(&"x".repeat(2953)).is_ok());
        assert!(png_base64(&"x".repeat(2954)).is_err());
    }

    #[test]
    fn the_picture_of_a_link_is_small() {
        let link: String = (b'!'..=b'~').cycle().step_by(7).take(293).map(char::from).collect();
        let bytes = png_base64(&link).unwrap().len() / 4 * 3;
        assert!(bytes <= 4_000, "{bytes}");
    }
}
