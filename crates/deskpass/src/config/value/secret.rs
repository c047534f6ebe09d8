//! Secret values, which are masked wherever they might be printed.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_PAD_INDIFFERENT;

use super::setting_value::SettingValue;
use crate::config::declaration::Declaration;
use crate::config::raw::RawSetting;

/// The text that is shown in place of a secret. Its length does not depend on the secret's.
pub(in crate::config) const MASK: &str = "********";

/// A secret text, such as the platform's application secret.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(String);

impl SecretText {
    /// Returns the secret, for the single place that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        // The placeholder of the documents, pasted as it is. No secret of a platform has such characters.
        if !text.chars().any(|character| character.is_ascii_alphanumeric()) {
            return Err("it is a placeholder, not a secret: paste the application's own Secret".to_owned());
        }
        // This is most likely the wrong file, or a second line in the right one.
        if text.chars().any(char::is_control) {
            return Err("it contains a line break or another control character".to_owned());
        }
        // The platform's secrets contain no blanks, and one that was copied by mistake is hard to see.
        if text.chars().any(char::is_whitespace) {
            return Err("it contains a blank".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}

impl SettingValue for SecretText {
    const SECRET: bool = true;

    fn parse(raw: &RawSetting, _: &Declaration) -> Result<Self, String> {
        Self::read(raw.text()?)
    }

    fn expected(_: &Declaration) -> String {
        "a string on one line without blanks".to_owned()
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SecretText({MASK})")
    }
}

/// The fewest characters of a secret that signs.
const MIN_SIGNING_SECRET_CHARS: usize = 32;

/// A secret that signs requests to another service, which has the same secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningSecret(SecretText);

impl SigningSecret {
    /// Returns the secret, for the single place that signs.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    fn read(text: &str) -> Result<Self, String> {
        if (1..MIN_SIGNING_SECRET_CHARS).contains(&text.chars().count()) {
            return Err(format!("it has fewer than {MIN_SIGNING_SECRET_CHARS} characters"));
        }
        SecretText::read(text).map(Self)
    }
}

impl SettingValue for SigningSecret {
    const SECRET: bool = true;

    fn parse(raw: &RawSetting, _: &Declaration) -> Result<Self, String> {
        Self::read(raw.text()?)
    }

    fn expected(_: &Declaration) -> String {
        "at least 32 characters on one line without blanks; make them with: openssl rand -hex 32".to_owned()
    }
}

/// The key that encrypts data which the service must be able to decrypt again.
#[derive(Clone, PartialEq, Eq)]
pub struct EncryptionKey([u8; 32]);

impl EncryptionKey {
    /// The key's bytes, for the cipher.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Parses base64 in either alphabet, padded or not: tools differ, but the bytes are the same.
    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        let standard = text.replace('-', "+").replace('_', "/");
        let bytes = STANDARD_PAD_INDIFFERENT.decode(standard).map_err(|_| "it is not base64".to_owned())?;
        let length = bytes.len();
        match bytes.try_into() {
            Ok(key) => Ok(Self(key)),
            Err(_) => Err(format!("it holds {length} bytes instead of 32")),
        }
    }
}

impl SettingValue for EncryptionKey {
    const SECRET: bool = true;

    fn parse(raw: &RawSetting, _: &Declaration) -> Result<Self, String> {
        Self::read(raw.text()?)
    }

    fn expected(_: &Declaration) -> String {
        "32 random bytes in base64; make them with: openssl rand -base64 32".to_owned()
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "EncryptionKey({MASK})")
    }
}

#[cfg(test)]
mod tests {
    use super::{EncryptionKey, SecretText, SigningSecret};

    fn complaint(text: &str) -> Option<String> {
        EncryptionKey::read(text).err()
    }

    #[test]
    fn a_key_reads_alike_in_every_spelling_of_base64() {
        let spellings = [
            "+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/8=",
            "+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/8",
            "-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_8=",
            "-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_8",
        ];
        let first = EncryptionKey::read(spellings[0]).map(|key| *key.as_bytes());
        assert!(first.is_ok());
        for text in spellings {
            assert_eq!(EncryptionKey::read(text).map(|key| *key.as_bytes()), first, "{text}");
        }
    }

    #[test]
    fn a_key_says_what_is_wrong_without_repeating_it() {
        assert_eq!(complaint("").as_deref(), Some("it is empty"));
        assert_eq!(complaint("aGVsbG8=").as_deref(), Some("it holds 5 bytes instead of 32"));
        assert_eq!(complaint("not base64!").as_deref(), Some("it is not base64"));
        assert_eq!(complaint("密钥").as_deref(), Some("it is not base64"));
    }

    #[test]
    fn a_secret_that_signs_is_long() {
        assert!(SigningSecret::read(&"k".repeat(32)).is_ok());
        for (text, problem) in [("", "it is empty"), ("short", "it has fewer than 32 characters")] {
            assert_eq!(SigningSecret::read(text).err().as_deref(), Some(problem));
        }
        assert!(SigningSecret::read(&"a blank ".repeat(9)).is_err());
    }

    #[test]
    fn a_secret_is_a_single_nonempty_line() {
        assert!(SecretText::read("sw0rdfish密").is_ok());
        for text in ["…", "...", "***", "<…>", "密钥"] {
            let problem = SecretText::read(text).err().unwrap_or_default();
            assert!(problem.contains("placeholder"), "{text}: {problem}");
        }
        for text in ["", "one\ntwo", "one two", " one", "one ", "one\u{3000}two", "one\u{a0}"] {
            assert!(SecretText::read(text).is_err(), "{text:?}");
        }
    }
}
