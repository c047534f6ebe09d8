//! The modules of a QR code.

use crate::dimensions::QUIET_ZONE_MODULES;

/// The modules of a QR code, row by row, eight in each byte: the highest bit is the leftmost module, and a set bit is a
/// dark one. A row begins with the quiet zone, and ends with it and zeros. Above and below, the quiet zone is left out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Modules {
    side: usize,
    bytes: Vec<u8>,
}

impl Modules {
    /// The modules of a code with this side, in bytes.
    pub(crate) fn new(side: usize, bytes: Vec<u8>) -> Self {
        Self { side, bytes }
    }

    /// The number of rows, and of modules in each row without the quiet zone: 17, and four for each version.
    pub(crate) fn side(&self) -> usize {
        self.side
    }

    /// The rows, from top to bottom.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(module_row_bytes(self.side))
    }
}

/// The number of bytes that a row of modules takes.
pub(crate) fn module_row_bytes(side: usize) -> usize {
    (side + 2 * QUIET_ZONE_MODULES).div_ceil(8)
}

/// Groups the values of all modules by eight, as [`Modules`] does; `nothing` fills the quiet zone and the rest of the last
/// group of a row.
pub(crate) fn in_eights<T: Copy>(side: usize, modules: &[T], nothing: T) -> Vec<[T; 8]> {
    let mut eights = Vec::with_capacity(side * module_row_bytes(side));
    for row in modules.chunks_exact(side) {
        let mut padded = vec![nothing; 8 * module_row_bytes(side)];
        for (place, module) in padded.iter_mut().skip(QUIET_ZONE_MODULES).zip(row) {
            *place = *module;
        }
        eights.extend_from_slice(padded.as_chunks().0);
    }
    eights
}
