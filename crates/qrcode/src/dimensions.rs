//! The dimensions of the picture.

/// The width of a module in pixels: sharp on any screen, also when the picture is scaled down.
pub(crate) const PIXELS_PER_MODULE: usize = 6;

/// The white modules around the code, as ISO/IEC 18004 requires.
pub(crate) const QUIET_ZONE_MODULES: usize = 4;
