//! The modules of a QR code.

/// The modules of a QR code, row by row, without the quiet zone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Modules {
    side: usize,
    dark: Vec<bool>,
}

impl Modules {
    /// The modules of a square with this side; each says whether it is dark.
    pub(crate) fn new(side: usize, dark: Vec<bool>) -> Self {
        Self { side, dark }
    }

    /// The number of rows, and of modules in each row: 17, and four for each version. So one is left over when the
    /// modules of a row are counted in fours.
    pub(crate) fn side(&self) -> usize {
        self.side
    }

    /// The rows, from top to bottom.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &[bool]> {
        self.dark.chunks_exact(self.side.max(1))
    }
}
