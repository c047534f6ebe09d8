//! Makes RSA keys: *ring* signs with them, but makes none.

use std::num::NonZeroU32;

use crypto_bigint::{BoxedUint, ConcatenatingMul as _, NonZero, Odd, Resize as _};
use crypto_primes::hazmat::SmallFactorsSieve;
use crypto_primes::{Flavor, is_prime};
use deskpass_core::Entropy;

use crate::{Error, InternalError};

/// The size of each of the two primes. Their product, the modulus, has 2048 bits, since each begins with two ones.
const PRIME_BITS: NonZeroU32 = NonZeroU32::MIN.saturating_add(1023);
const PRIME_BYTES: usize = 128;
/// The public exponent that everyone uses.
const EXPONENT: u32 = 65_537;
/// The number of pairs of primes that are tried. One in some ten thousands does not fit the exponent.
const MAX_ATTEMPTS: usize = 8;

const DER_INTEGER: u8 = 0x02;
const DER_SEQUENCE: u8 = 0x30;

/// Makes an RSA key with a modulus of 2048 bits, as PKCS#1 in DER (RFC 8017 §A.1.2).
pub(super) fn make_rsa_key(entropy: Entropy) -> Result<Vec<u8>, Error> {
    for _ in 0..MAX_ATTEMPTS {
        let (one, other) = (random_prime(entropy)?, random_prime(entropy)?);
        let (p, q) = if one > other { (one, other) } else { (other, one) };
        if let Some(key) = private_key(&p, &q) {
            return Ok(key);
        }
    }
    Err(InternalError::SigningKey("no RSA key could be made").into())
}

/// The first prime after a random number. All randomness is read before the search, so that it fails where there is none.
fn random_prime(entropy: Entropy) -> Result<BoxedUint, Error> {
    let mut start: [u8; PRIME_BYTES] = entropy.bytes()?;
    let [first, .., last] = &mut start;
    *first |= 0b1100_0000;
    *last |= 1;
    let failed = || InternalError::SigningKey("no prime was found");
    let start = BoxedUint::from_be_slice(&start, PRIME_BITS.get()).map_err(|_| failed())?;
    let mut candidates = SmallFactorsSieve::new(start, PRIME_BITS, false).map_err(|_| failed())?;
    Ok(candidates.find(|candidate| is_prime(Flavor::Any, candidate)).ok_or_else(failed)?)
}

/// The key with these primes, of which the first is the larger one; `None` if they do not fit the exponent, or are the same.
fn private_key(p: &BoxedUint, q: &BoxedUint) -> Option<Vec<u8>> {
    let one = BoxedUint::one();
    let (p_less_one, q_less_one) = (p - &one, q - &one);
    let modulus = p.concatenating_mul(q);
    let exponent = invert_exponent(&p_less_one.concatenating_mul(&q_less_one))?;
    let (p_exponent, q_exponent) = (invert_exponent(&p_less_one)?, invert_exponent(&q_less_one)?);
    let coefficient = q.invert_odd_mod(&Odd::new(p.clone()).into_option()?).into_option()?;
    let public_exponent = BoxedUint::from(EXPONENT);
    let version = BoxedUint::zero();
    let numbers =
        [&version, &modulus, &public_exponent, &exponent, p, q, &p_exponent, &q_exponent, &coefficient].map(integer);
    Some(element(DER_SEQUENCE, &numbers.concat()))
}

/// The number by which the public exponent is multiplied to one, in arithmetic modulo `modulus`.
fn invert_exponent(modulus: &BoxedUint) -> Option<BoxedUint> {
    let exponent = BoxedUint::from(EXPONENT).resize_unchecked(modulus.bits_precision());
    exponent.invert_mod(&NonZero::new(modulus.clone()).into_option()?).into_option()
}

/// A number in DER: without leading zeros, except for one that keeps it positive.
fn integer(number: &BoxedUint) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    let digits: Vec<u8> = bytes.iter().copied().skip_while(|byte| *byte == 0).collect();
    let sign: &[u8] = if digits.first().is_none_or(|first| *first >= 0x80) { &[0] } else { &[] };
    element(DER_INTEGER, &[sign, &digits].concat())
}

/// An element in DER: tag, length, content.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length: Vec<u8> = match u16::try_from(content.len()) {
        Ok(short @ 0..=0x7f) => vec![short.to_be_bytes()[1]],
        Ok(medium @ 0x80..=0xff) => vec![0x81, medium.to_be_bytes()[1]],
        long => [[0x82].as_slice(), &long.unwrap_or(u16::MAX).to_be_bytes()].concat(),
    };
    [[tag].as_slice(), &length, content].concat()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use deskpass_core::NoEntropy;

    use super::*;

    #[test]
    fn without_randomness_there_is_no_key() {
        assert!(make_rsa_key(Entropy::from_fn(|_| Err(NoEntropy))).is_err());
    }

    #[test]
    fn the_same_prime_twice_is_no_key() {
        let prime = random_prime(Entropy::system()).unwrap();
        assert_eq!(private_key(&prime, &prime), None);
    }

    #[test]
    fn numbers_are_written_in_der() {
        let written = |number: u32| integer(&BoxedUint::from(number));
        assert_eq!(written(0), [2, 1, 0]);
        assert_eq!(written(127), [2, 1, 127]);
        assert_eq!(written(128), [2, 2, 0, 128]);
        assert_eq!(written(EXPONENT), [2, 3, 1, 0, 1]);
        for (length, head) in [(127, vec![4, 127]), (128, vec![4, 0x81, 128]), (256, vec![4, 0x82, 1, 0])] {
            assert!(element(4, &vec![7; length]).starts_with(&head), "{length}");
        }
    }
}
