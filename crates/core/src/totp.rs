//! One-time passwords that follow the clock: RFC 6238 on RFC 4226, with SHA-1, six digits and steps of 30 seconds, which is
//! what every authenticator understands.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha1::Sha1;

use crate::{Entropy, NoEntropy, Timestamp, base32};

/// How long a code is shown.
const PERIOD_MILLIS: i64 = 30_000;
const DIGITS: u32 = 6;
/// The length of a hash, as RFC 4226 recommends for a secret.
const SECRET_BYTES: usize = 20;
/// The block of SHA-1, to which HMAC fills up a key.
const HMAC_BLOCK_BYTES: usize = 64;
/// All that RFC 3986 does not leave unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// One stretch of 30 seconds, counted from 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TotpStep(i64);

impl TotpStep {
    /// Before every code that was ever accepted.
    pub const NEVER: Self = Self(0);

    /// The step of this number.
    #[must_use]
    pub const fn from_number(number: i64) -> Self {
        Self(number)
    }

    /// How many steps after 1970 this one begins.
    #[must_use]
    pub const fn number(self) -> i64 {
        self.0
    }

    /// The step that `now` lies in.
    #[must_use]
    pub const fn at(now: Timestamp) -> Self {
        Self(now.millis().div_euclid(PERIOD_MILLIS))
    }

    /// This step and its neighbours: clocks differ, and typing takes time.
    fn with_neighbours(self) -> [Self; 3] {
        [Self(self.0.saturating_sub(1)), self, Self(self.0.saturating_add(1))]
    }
}

/// A one-time password as somebody typed it.
#[derive(Clone, Copy)]
pub struct OneTimeCode(u32);

impl OneTimeCode {
    /// Reads exactly six ASCII digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == 6 && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok().map(Self)).flatten()
    }
}

impl fmt::Debug for OneTimeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OneTimeCode")
    }
}

/// The secret that a device and we share.
#[derive(Clone)]
pub struct TotpSecret([u8; SECRET_BYTES]);

impl TotpSecret {
    /// A seed nobody has seen.
    ///
    /// # Errors
    /// When there are no random bytes to be had.
    pub fn generate(entropy: &Entropy) -> Result<Self, NoEntropy> {
        entropy.bytes().map(Self)
    }

    /// A seed that was kept.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; SECRET_BYTES]) -> Self {
        Self(bytes)
    }

    /// The seed itself, to be sealed and kept.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; SECRET_BYTES] {
        &self.0
    }

    /// A seed as somebody typed it into an authenticator.
    #[must_use]
    pub fn from_base32(text: &str) -> Option<Self> {
        base32::decode(text.chars()).map(Self)
    }

    /// The seed as people type it into an authenticator: 32 characters of base 32.
    #[must_use]
    pub fn base32(&self) -> String {
        base32::encode(&self.0)
    }

    /// The address by which an authenticator takes the seed over, usually from a picture.
    #[must_use]
    pub fn otpauth_uri(&self, issuer: &str, account: &str) -> String {
        let [issuer, account] = [issuer, account].map(|name| utf8_percent_encode(name, RESERVED));
        let secret = self.base32();
        let period = PERIOD_MILLIS / 1_000;
        format!(
            "otpauth://totp/{issuer}:{account}?secret={secret}&issuer={issuer}&algorithm=SHA1&digits={DIGITS}&period={period}"
        )
    }

    /// The code that a device shows during `step`.
    #[must_use]
    pub fn code_at(&self, step: TotpStep) -> String {
        format_code(hotp(&self.0, step.0, DIGITS), DIGITS)
    }

    /// The step `code` belongs to: that of `now` or one beside it, and later than `after`, the last one a code was accepted
    /// for.
    #[must_use]
    pub fn step_of(&self, code: OneTimeCode, now: Timestamp, after: TotpStep) -> Option<TotpStep> {
        // Should two of them have the same code, the later one uses up both.
        let matching = TotpStep::at(now)
            .with_neighbours()
            .into_iter()
            .filter(|step| hotp(&self.0, step.0, DIGITS) == code.0)
            .max();
        matching.filter(|step| *step > after)
    }
}

impl fmt::Debug for TotpSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TotpSecret")
    }
}

/// The one-time password of RFC 4226 for one count, as a number.
fn hotp(seed: &[u8; SECRET_BYTES], count: i64, digits: u32) -> u32 {
    truncated(&hash(seed, count)) % 10u32.saturating_pow(digits)
}

fn hash(seed: &[u8; SECRET_BYTES], count: i64) -> [u8; SECRET_BYTES] {
    // HMAC fills a short key up with zeros; done here, there is no length that could be wrong.
    let mut key = [0; HMAC_BLOCK_BYTES];
    for (to, from) in key.iter_mut().zip(seed) {
        *to = *from;
    }
    Hmac::<Sha1>::new(&key.into()).chain_update(count.to_be_bytes()).finalize().into_bytes().into()
}

/// The 31 bits that the hash itself points at.
fn truncated(hash: &[u8; SECRET_BYTES]) -> u32 {
    let offset = hash.last().map_or(0, |last| usize::from(last & 15));
    hash.iter().skip(offset).take(4).fold(0, |bits, byte| bits << 8 | u32::from(*byte)) & 0x7fff_ffff
}

fn format_code(code: u32, digits: u32) -> String {
    format!("{code:0width$}", width = usize::try_from(digits).unwrap_or(0))
}

#[cfg(test)]
mod tests;
