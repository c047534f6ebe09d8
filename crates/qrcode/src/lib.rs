//! QR codes as pictures: [`png`] makes one of a text.
//!
//! Every browser that signs in gets a picture of its own. It is most of the work of that request, so this crate is optimised for
//! speed, which the crate with the handlers is not.

mod bit_writer;
mod modules;
mod picture;
mod pixel_stream;
mod row_codes;
#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at the first surprise")]
mod tests;

use qrcodegen::{Mask, QrCode, QrCodeEcc, QrSegment, Version};

use self::modules::Modules;

/// An error: the text is longer than what the largest QR code holds.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("the text does not fit into a QR code")]
pub struct TextTooLong;

/// The QR code of a text as PNG: black and white, one bit per pixel, with the quiet zone that scanners need.
// Code that is inlined into a crate optimised for size is optimised for size, too.
#[inline(never)]
pub fn png(text: &str) -> Result<Vec<u8>, TextTooLong> {
    Ok(picture::png(&encode(text)?))
}

/// Encodes with the least redundancy: a screen is clean and lit, and larger modules are easier for a phone's camera. The mask is
/// fixed: trying all masks would take most of the time, and half of the text is random, so that no mask is bad for it.
fn encode(text: &str) -> Result<Modules, TextTooLong> {
    let (segments, mask) = ([QrSegment::make_bytes(text.as_bytes())], Some(Mask::new(0)));
    let code = QrCode::encode_segments_advanced(&segments, QrCodeEcc::Low, Version::MIN, Version::MAX, mask, true);
    let code = code.map_err(|_| TextTooLong)?;
    let dark = (0..code.size()).flat_map(|y| (0..code.size()).map(move |x| (x, y)));
    let dark = dark.map(|(x, y)| code.get_module(x, y)).collect();
    Ok(Modules::new(usize::try_from(code.size()).unwrap_or_default(), dark))
}
