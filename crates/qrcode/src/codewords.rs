//! The codewords of a QR code: the text as bytes, and what corrects errors in it.

use crate::format::Format;
use crate::reed_solomon::Divisor;

/// The mode of a text that is given as bytes. Modes that are shorter for digits and capital letters do not fit links.
const BYTE_MODE: u8 = 0b0100;

/// What fills the data up, in turns.
const PADDING: [u8; 2] = [0xec, 0x11];

/// The codewords of a text that fits into a format: the data of all blocks, then their check codewords.
pub(crate) fn codewords(text: &[u8], format: Format, divisor: &Divisor) -> Vec<u8> {
    let mut codewords = data_codewords(text, format);
    for block in format.data_blocks() {
        let check = divisor.remainder(codewords.get(block).unwrap_or_default());
        codewords.extend(check);
    }
    codewords
}

/// The codewords of the text: mode, length, text and padding.
fn data_codewords(text: &[u8], format: Format) -> Vec<u8> {
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes();
    let (_, length) = length.split_at(length.len() - format.length_bytes());
    // Zeros end the text.
    let bytes = [&[BYTE_MODE], length, text, &[0]].concat();
    let mut codewords = Vec::with_capacity(format.codewords());
    // The mode takes four bits, so everything after it is half a byte off.
    codewords.extend(bytes.iter().zip(bytes.iter().skip(1)).map(|(before, byte)| (before << 4) | (byte >> 4)));
    let padding = format.data_codewords().saturating_sub(codewords.len());
    codewords.extend(PADDING.iter().cycle().take(padding));
    codewords
}
