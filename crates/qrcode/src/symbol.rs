//! The patterns in a QR code that scanners look for (ISO/IEC 18004).

use std::iter::once;

use crate::format::Format;

/// Whether the rings of a finder pattern are dark, from its centre on; the last one separates it from the rest.
const FINDER: [bool; 5] = [true, true, false, true, false];

/// The same of an alignment pattern.
const ALIGNMENT: [bool; 3] = [true, false, true];

/// The row and the column of the timing patterns.
pub(crate) const TIMING: usize = 6;

/// A symbol that is being drawn.
struct Symbol {
    format: Format,
    side: usize,
    /// The colours, row by row: whether a module is dark, if it is drawn.
    modules: Vec<Option<bool>>,
}

/// The colours of the modules of all patterns, row by row: whether a module is dark. The others are for codewords.
pub(crate) fn patterns(format: Format) -> Vec<Option<bool>> {
    let side = format.side();
    let mut symbol = Symbol { format, side, modules: vec![None; side * side] };
    symbol.draw_timing_patterns();
    for centre in [(3, 3), (side - 4, 3), (3, side - 4)] {
        symbol.draw_rings(centre, &FINDER);
    }
    symbol.draw_alignment_patterns();
    symbol.draw_format();
    symbol.draw_version();
    symbol.modules
}

impl Symbol {
    /// Draws a module; outside of the symbol, nothing.
    fn set(&mut self, x: usize, y: usize, dark: bool) {
        if x < self.side
            && let Some(module) = self.modules.get_mut(y * self.side + x)
        {
            *module = Some(dark);
        }
    }

    fn draw_timing_patterns(&mut self) {
        for at in 0..self.side {
            self.set(TIMING, at, at.is_multiple_of(2));
            self.set(at, TIMING, at.is_multiple_of(2));
        }
    }

    /// Draws square rings around a centre, with their colours from the centre on.
    fn draw_rings(&mut self, (x, y): (usize, usize), rings: &[bool]) {
        let (radius, width) = (rings.len() - 1, 2 * rings.len() - 1);
        for (right, down) in (0..width).flat_map(|right| (0..width).map(move |down| (right, down))) {
            let ring = rings.get(right.abs_diff(radius).max(down.abs_diff(radius)));
            let (x, y) = ((x + right).checked_sub(radius), (y + down).checked_sub(radius));
            if let (Some(x), Some(y), Some(dark)) = (x, y, ring) {
                self.set(x, y, *dark);
            }
        }
    }

    /// Draws the alignment patterns: a grid, except where the finder patterns are.
    fn draw_alignment_patterns(&mut self) {
        let (version, last) = (self.format.version, self.side - 7);
        if version == 1 {
            return;
        }
        let count = version / 7 + 2;
        let distance = if version == 32 { 26 } else { (4 * version + 2 * count + 1) / (2 * count - 2) * 2 };
        let positions: Vec<_> = once(TIMING).chain((0..count - 1).map(|at| last - at * distance)).collect();
        for (x, y) in positions.iter().flat_map(|x| positions.iter().map(move |y| (*x, *y))) {
            if ![(TIMING, TIMING), (TIMING, last), (last, TIMING)].contains(&(x, y)) {
                self.draw_rings((x, y), &ALIGNMENT);
            }
        }
    }

    /// Draws the error correction level and the mask, twice.
    fn draw_format(&mut self) {
        let (side, bits) = (self.side, with_checks(self.format.level << 3, 10, 0x537) ^ 0x5412);
        for at in 0..15 {
            let dark = (bits >> at) & 1 == 1;
            // Around the finder pattern on the upper left, but not on the timing patterns.
            match at {
                0..6 => self.set(8, at, dark),
                6..8 => self.set(8, at + 1, dark),
                8 => self.set(7, 8, dark),
                _ => self.set(14 - at, 8, dark),
            }
            // Beside the two others.
            if at < 8 {
                self.set(side - 1 - at, 8, dark);
            } else {
                self.set(8, side - 15 + at, dark);
            }
        }
        // Always dark.
        self.set(8, side - 8, true);
    }

    /// Draws the version, twice. Scanners tell the small ones by their size.
    fn draw_version(&mut self) {
        let version = self.format.version;
        if version < 7 {
            return;
        }
        let bits = with_checks(u32::try_from(version).unwrap_or_default(), 12, 0x1f25);
        for at in 0..18 {
            let (dark, long, short) = ((bits >> at) & 1 == 1, self.side - 11 + at % 3, at / 3);
            self.set(long, short, dark);
            self.set(short, long, dark);
        }
    }
}

/// A number and so many check bits after it: the remainder of its division by a polynomial over two elements.
fn with_checks(number: u32, check_bits: u32, polynomial: u32) -> u32 {
    let step = |rest: u32, _: u32| (rest << 1) ^ ((rest >> (check_bits - 1)) * polynomial);
    (number << check_bits) | (0..check_bits).fold(number, step)
}
