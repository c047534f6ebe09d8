//! Secret values, which are masked wherever they might be printed.

use std::collections::BTreeSet;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_PAD_INDIFFERENT;
use deskpass_core::{Digest, EncryptionKeys, KeyBytes};
use sha2::{Digest as _, Sha256};

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

/// The most characters of a client's secret.
const MAX_CLIENT_SECRET_CHARS: usize = 256;

/// The fewest different characters of a client's secret. A random one always has more.
const MIN_DIFFERENT_CHARS: usize = 8;

/// What the texts contain that stand for a secret in documents.
const PLACEHOLDER_WORDS: [&str; 4] = ["change", "example", "placeholder", "replace"];

/// Checks the secret of a client of OpenID Connect, and returns its SHA-256, which is all that the service needs. The characters
/// need no encoding in a form or in Basic authentication.
pub(in crate::config) fn client_secret_digest(text: &str) -> Result<Digest, String> {
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-') {
        return Err("it contains other characters than letters, digits, \"_\" and \"-\"".to_owned());
    }
    if text.len() < MIN_SIGNING_SECRET_CHARS {
        return Err(format!("it has fewer than {MIN_SIGNING_SECRET_CHARS} characters"));
    }
    if text.len() > MAX_CLIENT_SECRET_CHARS {
        return Err(format!("it has more than {MAX_CLIENT_SECRET_CHARS} characters"));
    }
    let (different, lower) = (text.bytes().collect::<BTreeSet<_>>().len(), text.to_ascii_lowercase());
    if different < MIN_DIFFERENT_CHARS || PLACEHOLDER_WORDS.iter().any(|word| lower.contains(word)) {
        return Err("it is a placeholder, not a secret".to_owned());
    }
    Ok(Digest::from_bytes(Sha256::digest(text).into()))
}

/// The most keys at a time: one that encrypts, and some that are being replaced.
const MAX_KEYS: usize = 5;

/// The key that encrypts data which the service must be able to decrypt again, or several, newest first: the first encrypts, all
/// decrypt.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyList(EncryptionKeys);

impl KeyList {
    /// The keys, for the cipher.
    #[must_use]
    pub fn keys(&self) -> &EncryptionKeys {
        &self.0
    }

    fn read(texts: &[&str]) -> Result<Self, String> {
        if texts.len() > MAX_KEYS {
            return Err(format!("it has more than {MAX_KEYS} keys"));
        }
        let keys = texts.iter().map(|text| read_key(text)).collect::<Result<Vec<_>, _>>()?;
        let (first, others) = keys.split_first().ok_or("it is empty")?;
        let list = EncryptionKeys::new(*first, others.iter().copied());
        if list.others().len() < others.len() {
            return Err("it has the same key twice".to_owned());
        }
        Ok(Self(list))
    }
}

/// Parses base64 in either alphabet, padded or not: tools differ, but the bytes are the same.
fn read_key(text: &str) -> Result<KeyBytes, String> {
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    let standard = text.replace('-', "+").replace('_', "/");
    let bytes = STANDARD_PAD_INDIFFERENT.decode(standard).map_err(|_| "it is not base64".to_owned())?;
    let length = bytes.len();
    bytes.try_into().map_err(|_| format!("it holds {length} bytes instead of 32"))
}

impl SettingValue for KeyList {
    const SECRET: bool = true;

    fn parse(raw: &RawSetting, _: &Declaration) -> Result<Self, String> {
        match raw {
            RawSetting::List(_) => Self::read(&raw.texts()?),
            // In a file of its own, a key may have its own line.
            _ => Self::read(&raw.text()?.split([',', '\n']).map(str::trim).collect::<Vec<_>>()),
        }
    }

    fn expected(_: &Declaration) -> String {
        "32 random bytes in base64; make them with: openssl rand -base64 32".to_owned()
    }
}

impl fmt::Debug for KeyList {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "KeyList({MASK})")
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyList, SecretText, SigningSecret, client_secret_digest, read_key};

    fn complaint(text: &str) -> Option<String> {
        read_key(text).err()
    }

    #[test]
    fn a_key_reads_alike_in_every_spelling_of_base64() {
        let spellings = [
            "+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/8=",
            "+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/8",
            "-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_8=",
            "-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_8",
        ];
        let first = read_key(spellings[0]);
        assert!(first.is_ok());
        for text in spellings {
            assert_eq!(read_key(text), first, "{text}");
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
    fn a_list_has_few_keys_and_none_twice() {
        let keys = ["A", "B", "C", "D", "E", "F"].map(|letter| format!("{}A=", letter.repeat(42)));
        let all = keys.each_ref().map(|key| &**key);
        let [a, b, ..] = all;
        let others = |texts: &[&str]| KeyList::read(texts).map(|list| list.keys().others().len());
        assert_eq!((others(&[a]), others(&all[..5])), (Ok(0), Ok(4)));
        for (texts, problem) in [
            (&all[..], "it has more than 5 keys"),
            (&[a, b, a][..], "it has the same key twice"),
            (&[a, ""][..], "it is empty"),
            (&[][..], "it is empty"),
        ] {
            assert_eq!(others(texts), Err(problem.to_owned()));
        }
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
    fn the_secret_of_a_client_is_random_text_without_special_characters() {
        let good = "dpe_Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MDEyMzQ1Njc4";
        assert_eq!(client_secret_digest(good).map(|digest| digest.to_text().len()), Ok(43));
        for (text, problem) in [
            ("", "it is empty"),
            ("0123456789abcdef", "it has fewer than 32 characters"),
            (&good.repeat(7), "it has more than 256 characters"),
            (&"k".repeat(40), "it is a placeholder, not a secret"),
            ("replace-me-0123456789-0123456789-abc", "it is a placeholder, not a secret"),
            (&good.replace('_', "+"), "it contains other characters than letters, digits, \"_\" and \"-\""),
        ] {
            assert_eq!(client_secret_digest(text).err().as_deref(), Some(problem), "{text}");
        }
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
