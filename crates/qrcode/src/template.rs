//! What all QR codes of one format have in common, made once: the patterns, the place of every bit, and the divisor of
//! the error correction. The picture of a link takes a third of the time that it takes without.

use std::sync::OnceLock;

use crate::format::{FORMATS, Format};
use crate::modules::Modules;
use crate::reed_solomon::Divisor;
use crate::symbol::{TIMING, patterns};

/// The templates of the formats, in the same order.
static TEMPLATES: [OnceLock<Template>; FORMATS.len()] = [const { OnceLock::new() }; FORMATS.len()];

/// What all QR codes of a format have in common.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) format: Format,
    pub(crate) divisor: Divisor,
    /// Whether each module is dark in a code whose codewords have no bit that is set.
    dark: Vec<bool>,
    /// The modules of the codewords, bit by bit.
    places: Vec<u16>,
}

impl Template {
    /// The template of the smallest format for a text with so many bytes.
    pub(crate) fn for_text(bytes: usize) -> Option<&'static Self> {
        let (format, template) = FORMATS.iter().zip(&TEMPLATES).find(|(format, _)| format.holds(bytes))?;
        Some(template.get_or_init(|| Self::new(*format)))
    }

    /// The mask, which keeps a text from looking like a pattern, is always the chessboard, the first of the eight.
    /// Trying all of them would take most of the time, and half of the text is random, so that no mask is bad for it.
    fn new(format: Format) -> Self {
        let (side, patterns) = (format.side(), patterns(format));
        let is_masked = |module: usize| (module % side + module / side).is_multiple_of(2);
        let dark = patterns.iter().enumerate().map(|(module, dark)| dark.unwrap_or_else(|| is_masked(module)));
        let (dark, places) = (dark.collect(), places(side, &patterns));
        Self { format, divisor: Divisor::new(format.check_codewords), dark, places }
    }

    /// The QR code with these codewords.
    pub(crate) fn draw(&self, codewords: &[u8]) -> Modules {
        let mut dark = self.dark.clone();
        // A few modules are left after the last codeword.
        let (places, _) = self.places.as_chunks::<8>();
        for (places, codeword) in places.iter().zip(codewords) {
            for (place, bit) in places.iter().zip((0..8).rev()) {
                if let Some(dark) = dark.get_mut(usize::from(*place)) {
                    *dark ^= (codeword >> bit) & 1 == 1;
                }
            }
        }
        Modules::new(self.format.side(), dark)
    }
}

/// The modules that are in no pattern, in the order of the bits of the codewords: in pairs of columns from the right, up
/// and down in turns.
fn places(side: usize, patterns: &[Option<bool>]) -> Vec<u16> {
    let mut places = Vec::with_capacity(patterns.len());
    for right in (1..side).rev().step_by(2) {
        // The timing pattern has a column of its own.
        let right = if right > TIMING { right } else { right - 1 };
        let is_upward = (right + 1) & 2 == 0;
        for step in 0..side {
            let y = if is_upward { side - 1 - step } else { step };
            let pair = [right, right - 1].map(|x| y * side + x);
            let free = pair.into_iter().filter(|module| patterns.get(*module) == Some(&None));
            places.extend(free.filter_map(|module| u16::try_from(module).ok()));
        }
    }
    places
}
