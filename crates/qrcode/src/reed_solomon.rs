//! The error correction of QR codes: Reed–Solomon codes over 256 elements (ISO/IEC 18004).
//!
//! The division of polynomials looks up multiples of the divisor, instead of multiplying: 1 µs for 324 bytes.

use std::ops::BitXor;

/// A polynomial of up to 32 coefficients, of which up to 30 are used. The coefficient of the highest power is the lowest
/// byte of the first number, and so on.
#[derive(Clone, Copy, Debug)]
struct Polynomial(u128, u128);

/// The number with 1 in each byte.
const ONES: u128 = u128::MAX / 0xff;

impl Polynomial {
    const ZERO: Self = Self(0, 0);

    /// The coefficient of the highest power.
    fn highest(self) -> u8 {
        let [highest, ..] = self.0.to_le_bytes();
        highest
    }

    /// Multiplies by x. The highest coefficient is dropped.
    fn shifted(self) -> Self {
        Self((self.0 >> 8) | (self.1 << 120), self.1 >> 8)
    }

    /// Multiplies every coefficient by 2, modulo x⁸ + x⁴ + x³ + x² + 1.
    fn doubled(self) -> Self {
        let double = |bytes: u128| ((bytes & (0x7f * ONES)) << 1) ^ (((bytes >> 7) & ONES) * 0x1d);
        Self(double(self.0), double(self.1))
    }

    /// The coefficients, from that of the highest power on.
    fn coefficients(self) -> impl Iterator<Item = u8> {
        [self.0, self.1].into_iter().flat_map(u128::to_le_bytes)
    }
}

/// Adds polynomials, which is the same as subtracting them.
impl BitXor for Polynomial {
    type Output = Self;

    fn bitxor(self, other: Self) -> Self {
        Self(self.0 ^ other.0, self.1 ^ other.1)
    }
}

/// The polynomial by which the data of a block is divided.
#[derive(Debug)]
pub(crate) struct Divisor {
    /// The polynomial without its highest power, multiplied by each element.
    multiples: Vec<Polynomial>,
    check_codewords: usize,
}

impl Divisor {
    /// The divisor for so many check codewords.
    pub(crate) fn new(check_codewords: usize) -> Self {
        let mut factor = divisor(check_codewords);
        let mut multiples = vec![Polynomial::ZERO];
        for _ in 0..8 {
            // The multiples with this bit are those without it, and the divisor times the bit.
            let with_bit: Vec<_> = multiples.iter().map(|multiple| *multiple ^ factor).collect();
            multiples.extend(with_bit);
            factor = factor.doubled();
        }
        Self { multiples, check_codewords }
    }

    /// The check codewords of a block: the remainder of its data.
    pub(crate) fn remainder(&self, data: &[u8]) -> impl Iterator<Item = u8> + use<> {
        let remainder = data.iter().fold(Polynomial::ZERO, |remainder, byte| {
            let multiple = self.multiples.get(usize::from(byte ^ remainder.highest()));
            remainder.shifted() ^ multiple.copied().unwrap_or(Polynomial::ZERO)
        });
        remainder.coefficients().take(self.check_codewords)
    }
}

/// The product of x - 2⁰, x - 2¹, and so on, without its highest power.
fn divisor(degree: usize) -> Polynomial {
    // The constant 1: it is the last of so many coefficients.
    let mut product = (degree..32).fold(Polynomial(0, 1 << 120), |one, _| one.shifted());
    for power in 0..degree {
        let times_root = (0..power).fold(product, |product, _| product.doubled());
        product = product.shifted() ^ times_root;
    }
    product
}
