//! The error correction of QR codes: Reed–Solomon codes over 256 elements (ISO/IEC 18004).
//!
//! The division of polynomials looks up multiples of the divisor, instead of multiplying: 1 µs for 324 bytes.

/// The coefficients of a polynomial, from the highest power on, then zeros: up to 30 of them are used.
type Polynomial = [u8; 32];

/// The polynomial by which the data of a block is divided.
#[derive(Debug)]
pub(crate) struct Divisor {
    /// The polynomial without its highest power, multiplied by each element.
    multiples: Vec<Polynomial>,
}

impl Divisor {
    /// The divisor for so many check codewords.
    pub(crate) fn new(check_codewords: usize) -> Self {
        let mut factor = divisor(check_codewords);
        let mut multiples = Vec::with_capacity(256);
        multiples.push([0; 32]);
        for _ in 0..8 {
            // The multiples with this bit are those without it, and the divisor times the bit.
            let without = multiples.len();
            multiples.extend_from_within(..);
            for multiple in multiples.iter_mut().skip(without) {
                add(multiple, &factor);
            }
            double(&mut factor);
        }
        Self { multiples }
    }

    /// The check codewords of a block: the remainder of its data.
    pub(crate) fn remainder(&self, data: &[u8]) -> Polynomial {
        let mut remainder: Polynomial = [0; 32];
        for byte in data {
            let factor = byte ^ remainder[0];
            shift(&mut remainder);
            if let Some(multiple) = self.multiples.get(usize::from(factor)) {
                add(&mut remainder, multiple);
            }
        }
        remainder
    }
}

/// The product of x - 2⁰, x - 2¹, and so on, without its highest power.
fn divisor(degree: usize) -> Polynomial {
    let mut product: Polynomial = [0; 32];
    // One, with its place for a product of this degree.
    if let Some(one) = product.get_mut(degree - 1) {
        *one = 1;
    }
    for power in 0..degree {
        let mut times_root = product;
        for _ in 0..power {
            double(&mut times_root);
        }
        shift(&mut product);
        add(&mut product, &times_root);
    }
    product
}

/// Multiplies by x. The highest coefficient is dropped.
fn shift(polynomial: &mut Polynomial) {
    polynomial.copy_within(1.., 0);
    polynomial[31] = 0;
}

/// Adds a polynomial, which is the same as subtracting it.
fn add(polynomial: &mut Polynomial, other: &Polynomial) {
    for (coefficient, other) in polynomial.iter_mut().zip(other) {
        *coefficient ^= other;
    }
}

/// Multiplies every coefficient by 2, modulo x⁸ + x⁴ + x³ + x² + 1.
fn double(polynomial: &mut Polynomial) {
    for coefficient in polynomial {
        let overflow = if *coefficient & 0x80 == 0 { 0 } else { 0x1d };
        *coefficient = (*coefficient << 1) ^ overflow;
    }
}
