//! The codewords of a QR code: the text as bytes, and what corrects errors in it.

use crate::format::Format;
use crate::template::Template;

/// The mode of a text that is given as bytes. Modes that are shorter for digits and capital letters do not fit links.
const BYTE_MODE: u8 = 0b0100;

/// What fills the data up, in turns.
const PADDING: [u8; 2] = [0xec, 0x11];

/// The codewords of a text that fits into the format of a template, in the order in which they are drawn.
pub(crate) fn codewords(text: &[u8], template: &Template) -> Vec<u8> {
    let Template { format, ref divisor, .. } = *template;
    let data = data_codewords(text, format);
    let check_codewords = format.check_codewords;
    let block = format.data_codewords() / format.blocks;
    // The last blocks have one codeword more.
    let long_blocks = format.data_codewords() % format.blocks;
    let (short, long) = data.split_at((format.blocks - long_blocks) * block);
    let blocks: Vec<_> = short.chunks(block).chain(long.chunks(block + 1)).collect();
    let checks: Vec<_> = blocks.iter().map(|data| divisor.remainder(data)).collect();
    let mut codewords = Vec::with_capacity(format.codewords());
    for at in 0..=block {
        codewords.extend(blocks.iter().filter_map(|data| data.get(at)));
    }
    for at in 0..check_codewords {
        codewords.extend(checks.iter().filter_map(|check| check.get(at)));
    }
    codewords
}

/// The codewords of the text before they are split into blocks: mode, length, text and padding.
fn data_codewords(text: &[u8], format: Format) -> Vec<u8> {
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes();
    let length = length.iter().skip(length.len() - format.length_bytes());
    let mut codewords = Vec::with_capacity(format.data_codewords());
    // The mode takes four bits, so everything after it is half a byte off.
    let mut before = BYTE_MODE;
    for byte in length.chain(text) {
        codewords.push((before << 4) | (byte >> 4));
        before = *byte;
    }
    // Four zero bits end the text.
    codewords.push(before << 4);
    let padding = format.data_codewords().saturating_sub(codewords.len());
    codewords.extend(PADDING.iter().cycle().take(padding));
    codewords
}
