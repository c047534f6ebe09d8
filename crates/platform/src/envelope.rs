//! The envelope in which two of the platforms send events: signed with a token, encrypted with a key, addressed to a receiver.
//!
//! What is encrypted consists of 16 random bytes, the length of the message, the message, and the identifier of its receiver.
//! The cipher authenticates nothing, so the order of the checks matters: [`Envelope::verify`] checks the signature, and only what
//! it returns can be opened.

pub mod aes_cbc;
pub mod digest;

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, STANDARD};
use deskpass_core::opaque_debug;

use self::aes_cbc::{InitializationVector, Key, Padding};
use crate::InboundError;

const KEY_CHARS: usize = 43;
const RANDOM_BYTES: usize = 16;
const LENGTH_BYTES: usize = 4;

/// Keys are random characters, so the last one may have bits that belong to no byte.
const KEY_ENCODING: GeneralPurpose =
    GeneralPurpose::new(&alphabet::STANDARD, NO_PAD.with_decode_allow_trailing_bits(true));

/// Signs and checks, encrypts and decrypts with one token and one key.
#[derive(Clone)]
pub struct Envelope {
    token: String,
    key: Key,
    iv: InitializationVector,
}

opaque_debug!(Envelope);

/// An error: the token or the key cannot be used.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum InvalidEnvelope {
    /// The token is empty.
    #[error("the token must not be empty")]
    Token,
    /// The key is not one.
    #[error("the key must be 43 letters and digits, as the platform's console generates it")]
    Key,
}

/// A message as it arrived: nothing of it is trusted yet.
#[derive(Clone, Copy, Debug)]
pub struct SealedMessage<'a> {
    /// The signature.
    pub signature: &'a str,
    /// The time that was signed, as written.
    pub timestamp: &'a str,
    /// The random text that was signed.
    pub nonce: &'a str,
    /// The encrypted message in base64.
    pub encrypted: &'a str,
}

/// A message whose signature is right.
#[derive(Clone, Copy, Debug)]
pub struct AuthenticMessage<'a> {
    envelope: &'a Envelope,
    encrypted: &'a str,
}

/// A message that was decrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedMessage {
    /// The text.
    pub text: String,
    /// The receiver, one of those that were expected.
    pub receiver: String,
}

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedReply {
    /// The signature.
    pub signature: String,
    /// The encrypted message in base64.
    pub encrypted: String,
}

impl Envelope {
    /// Creates an envelope from the values in the platform's console.
    pub fn new(token: String, key: &str) -> Result<Self, InvalidEnvelope> {
        if token.is_empty() {
            return Err(InvalidEnvelope::Token);
        }
        let key = Some(key).filter(|key| key.len() == KEY_CHARS).and_then(|key| KEY_ENCODING.decode(key).ok());
        let key: Key = key.and_then(|key| key.try_into().ok()).ok_or(InvalidEnvelope::Key)?;
        let iv: InitializationVector = *key.first_chunk().ok_or(InvalidEnvelope::Key)?;
        Ok(Self { token, key, iv })
    }

    /// Checks the signature.
    pub fn verify<'a>(&'a self, message: &SealedMessage<'a>) -> Result<AuthenticMessage<'a>, InboundError> {
        let SealedMessage { signature, timestamp, nonce, encrypted } = *message;
        if !digest::is_same(&self.sign(timestamp, nonce, encrypted), signature) {
            return Err(InboundError::Signature);
        }
        Ok(AuthenticMessage { envelope: self, encrypted })
    }

    /// Encrypts and signs a message to a receiver. The random bytes keep equal messages from being encrypted equally.
    #[must_use]
    pub fn seal(
        &self,
        text: &str,
        receiver: &str,
        random: &[u8; RANDOM_BYTES],
        timestamp: &str,
        nonce: &str,
    ) -> SealedReply {
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes();
        let content = [random.as_slice(), &length, text.as_bytes(), receiver.as_bytes()].concat();
        let encrypted = STANDARD.encode(aes_cbc::encrypt(&self.key, &self.iv, &content, Padding::To32));
        SealedReply { signature: self.sign(timestamp, nonce, &encrypted), encrypted }
    }

    /// The signature is about these four texts in the order of their bytes, and about nothing else that a request contains.
    fn sign(&self, timestamp: &str, nonce: &str, encrypted: &str) -> String {
        let mut parts = [self.token.as_str(), timestamp, nonce, encrypted].map(str::as_bytes);
        parts.sort_unstable();
        digest::sha1_hex(&parts)
    }
}

impl AuthenticMessage<'_> {
    /// Decrypts the message, which must be addressed to one of these receivers. All failures before that are one error.
    pub fn open(&self, receivers: &[&str]) -> Result<OpenedMessage, InboundError> {
        let (message, receiver) = self.decrypt().ok_or(InboundError::Malformed)?;
        let is_expected = |expected: &&&str| !expected.is_empty() && expected.as_bytes() == receiver;
        let receiver = receivers.iter().find(is_expected).ok_or(InboundError::Receiver)?;
        let text = String::from_utf8(message).map_err(|_| InboundError::Malformed)?;
        Ok(OpenedMessage { text, receiver: (*receiver).to_owned() })
    }

    /// The message and its receiver.
    fn decrypt(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let encrypted = STANDARD.decode(self.encrypted).ok()?;
        let Envelope { key, iv, .. } = self.envelope;
        let content = aes_cbc::decrypt(key, iv, &encrypted, Padding::To32)?;
        let (_, content) = content.split_at_checked(RANDOM_BYTES)?;
        let (length, content) = content.split_first_chunk::<LENGTH_BYTES>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (message, receiver) = content.split_at_checked(length)?;
        Some((message.to_vec(), receiver.to_vec()))
    }
}
