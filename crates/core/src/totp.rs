//! Time-based one-time passwords: RFC 6238 on RFC 4226, with SHA-1, six digits and steps of 30 seconds, which every
//! authenticator supports.
//!
//! Written here, on `hmac` and `sha1`, instead of using a crate: a check must return the step of the code, because accepting a
//! step uses it up.

use data_encoding::BASE32_NOPAD_NOCASE;
use hmac::{Hmac, KeyInit as _, Mac as _};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha1::Sha1;

use crate::{Entropy, NoEntropy, Timestamp, opaque_debug};

/// The period for which a code is shown.
const PERIOD_MILLIS: i64 = 30_000;
const DIGITS: u32 = 6;
/// The length of a SHA-1 hash, which RFC 4226 recommends for the secret.
const SECRET_BYTES: usize = 20;
/// The block size of SHA-1, to which HMAC pads a key.
const HMAC_BLOCK_BYTES: usize = 64;
/// All characters that RFC 3986 does not leave unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A time step of 30 seconds, counted from 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TotpStep(i64);

impl TotpStep {
    /// A step before every accepted code.
    pub const NEVER: Self = Self(0);

    /// The step with this number.
    #[must_use]
    pub const fn from_number(number: i64) -> Self {
        Self(number)
    }

    /// The number of steps since 1970.
    #[must_use]
    pub const fn number(self) -> i64 {
        self.0
    }

    /// The step that contains `now`.
    #[must_use]
    pub const fn at(now: Timestamp) -> Self {
        Self(now.millis().div_euclid(PERIOD_MILLIS))
    }

    /// This step and its neighbours, because clocks differ and typing takes time.
    fn with_neighbours(self) -> [Self; 3] {
        [Self(self.0.saturating_sub(1)), self, Self(self.0.saturating_add(1))]
    }
}

/// A one-time password as the user typed it.
#[derive(Clone, Copy)]
pub struct OneTimeCode(u32);

impl OneTimeCode {
    /// Parses exactly six ASCII digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == 6 && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok().map(Self)).flatten()
    }
}

/// The secret shared with an authenticator.
#[derive(Clone)]
pub struct TotpSecret([u8; SECRET_BYTES]);

impl TotpSecret {
    /// Generates a new secret.
    pub fn generate(entropy: &Entropy) -> Result<Self, NoEntropy> {
        entropy.bytes().map(Self)
    }

    /// A secret read from the store.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; SECRET_BYTES]) -> Self {
        Self(bytes)
    }

    /// The secret as bytes, to be sealed and stored.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; SECRET_BYTES] {
        &self.0
    }

    /// Parses a secret as typed into an authenticator.
    #[must_use]
    pub fn from_base32(text: &str) -> Option<Self> {
        BASE32_NOPAD_NOCASE.decode(text.as_bytes()).ok()?.try_into().ok().map(Self)
    }

    /// The secret as typed into an authenticator: 32 characters of base 32.
    #[must_use]
    pub fn base32(&self) -> String {
        BASE32_NOPAD_NOCASE.encode(&self.0)
    }

    /// The URI from which an authenticator imports the secret, usually through a QR code.
    #[must_use]
    pub fn otpauth_uri(&self, issuer: &str, account: &str) -> String {
        let [issuer, account] = [issuer, account].map(|name| utf8_percent_encode(name, RESERVED));
        let secret = self.base32();
        let period = PERIOD_MILLIS / 1_000;
        format!(
            "otpauth://totp/{issuer}:{account}?secret={secret}&issuer={issuer}&algorithm=SHA1&digits={DIGITS}&period={period}"
        )
    }

    /// The code that an authenticator shows during `step`.
    #[must_use]
    pub fn code_at(&self, step: TotpStep) -> String {
        format_code(hotp(&self.0, step.0, DIGITS), DIGITS)
    }

    /// The step of `code`: that of `now` or a neighbour, and later than `after`, the last step whose code was accepted.
    #[must_use]
    pub fn step_of(&self, code: OneTimeCode, now: Timestamp, after: TotpStep) -> Option<TotpStep> {
        // If two steps have the same code, the later step is used, which invalidates both.
        let matching = TotpStep::at(now)
            .with_neighbours()
            .into_iter()
            .filter(|step| hotp(&self.0, step.0, DIGITS) == code.0)
            .max();
        matching.filter(|step| *step > after)
    }
}

opaque_debug!(OneTimeCode, TotpSecret);

/// The one-time password of RFC 4226 for a counter, as a number.
fn hotp(seed: &[u8; SECRET_BYTES], count: i64, digits: u32) -> u32 {
    truncated(&hash(seed, count)) % 10u32.saturating_pow(digits)
}

fn hash(seed: &[u8; SECRET_BYTES], count: i64) -> [u8; SECRET_BYTES] {
    // HMAC pads a short key with zeros. Padding here rules out an invalid length.
    let mut key = [0; HMAC_BLOCK_BYTES];
    for (to, from) in key.iter_mut().zip(seed) {
        *to = *from;
    }
    Hmac::<Sha1>::new(&key.into()).chain_update(count.to_be_bytes()).finalize().into_bytes().into()
}

/// The 31 bits selected by the hash itself.
fn truncated(hash: &[u8; SECRET_BYTES]) -> u32 {
    let offset = hash.last().map_or(0, |last| usize::from(last & 15));
    hash.iter().skip(offset).take(4).fold(0, |bits, byte| bits << 8 | u32::from(*byte)) & 0x7fff_ffff
}

fn format_code(code: u32, digits: u32) -> String {
    format!("{code:0width$}", width = usize::try_from(digits).unwrap_or(0))
}

#[cfg(test)]
mod tests;
