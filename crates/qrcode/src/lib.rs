//! QR codes as pictures: [`png`] makes one of a text.
//!
//! Every browser that signs in gets a picture of its own. It is most of the work of that request, so this crate is
//! optimised for speed, which the crate with the handlers is not.

mod bit_writer;
mod codewords;
mod dimensions;
mod format;
mod modules;
mod picture;
mod pixel_codes;
mod pixel_stream;
mod reed_solomon;
mod row_codes;
mod symbol;
mod template;
#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at the first surprise")]
mod tests;

use self::template::Template;

/// An error: the text is longer than what the largest QR code holds.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("the text does not fit into a QR code")]
pub struct TextTooLong;

/// The QR code of a text as PNG: black and white, one bit per pixel, with the quiet zone that scanners need.
// Code that is inlined into a crate optimised for size is optimised for size, too.
#[inline(never)]
pub fn png(text: &str) -> Result<Vec<u8>, TextTooLong> {
    let template = Template::for_text(text.len()).ok_or(TextTooLong)?;
    Ok(picture::png(&template.draw(text), &template.row_codes))
}
