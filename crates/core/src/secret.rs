//! Typed bearer values: what one kind means, no other kind can be mistaken for.

use std::fmt;
use std::marker::PhantomData;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::secret_kind::{Access, SecretKind, Ticket};
use crate::{Entropy, NoEntropy};

const PREFIX_CHARS: usize = 4;
const RANDOM_CHARS: usize = 43;
const CHECKSUM_CHARS: usize = 6;
const SECRET_CHARS: usize = PREFIX_CHARS + RANDOM_CHARS + CHECKSUM_CHARS;

/// A bearer value: prefix, 256 random bits, checksum, in characters that need no quoting in a header, a URL or a
/// socket's subprotocol. It prints only as its kind; reading it out takes [`Secret::expose`].
#[derive(Clone, Copy)]
pub struct Secret<K> {
    text: [u8; SECRET_CHARS],
    kind: PhantomData<K>,
}

/// The text is not a secret of the kind asked for.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a secret of this kind")]
pub struct MalformedSecret;

impl<K: SecretKind> Secret<K> {
    /// A new value nobody has seen.
    ///
    /// # Errors
    /// When there are no random bytes to be had.
    pub fn generate(entropy: &Entropy) -> Result<Self, NoEntropy> {
        Ok(Self::from_random(entropy.bytes()?))
    }

    fn from_random(random: [u8; 32]) -> Self {
        let random = URL_SAFE_NO_PAD.encode(random);
        let mut text = [0; SECRET_CHARS];
        for (to, from) in text.iter_mut().zip(K::PREFIX.bytes().chain(random.bytes())) {
            *to = from;
        }
        let (body, tail) = text.split_at_mut(PREFIX_CHARS + RANDOM_CHARS);
        tail.copy_from_slice(&checksum(body));
        Self { text, kind: PhantomData }
    }

    /// Reads a value a client sent. A wrong kind, a typing error or a cut-off value is told here, before any store is
    /// asked.
    ///
    /// # Errors
    /// When the text is not of this kind.
    pub fn parse(text: &str) -> Result<Self, MalformedSecret> {
        let text: [u8; SECRET_CHARS] = text.as_bytes().try_into().map_err(|_| MalformedSecret)?;
        let (body, tail) = text.split_at(PREFIX_CHARS + RANDOM_CHARS);
        if body.starts_with(K::PREFIX.as_bytes()) && tail == checksum(body) {
            Ok(Self { text, kind: PhantomData })
        } else {
            Err(MalformedSecret)
        }
    }
}

impl<K> Secret<K> {
    /// The value itself, for the one answer that hands it over.
    #[must_use]
    pub fn expose(&self) -> &str {
        // Both constructors put ASCII here, so the fallback is never taken.
        std::str::from_utf8(&self.text).unwrap_or_default()
    }

    /// What is stored and logged instead of the value.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest(Sha256::digest(self.text).into())
    }
}

/// A token that only the holder of its ticket can read: what lies between the phone's "yes" and the browser that waits for
/// it signs nobody in by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealedToken([u8; 32]);

impl Serialize for SealedToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl<'de> Deserialize<'de> for SealedToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = URL_SAFE_NO_PAD.decode(String::deserialize(deserializer)?).map_err(D::Error::custom)?;
        bytes.try_into().map(Self).map_err(|_| D::Error::custom("not a sealed token"))
    }
}

/// For a field that is to be written out with its secret in it: `#[serde(with = "deskpass_core::exposed")]`. A secret by
/// itself cannot be written, so that none gets into a record by mistake.
pub mod exposed {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::Secret;
    use crate::secret_kind::SecretKind;

    /// Writes the secret itself.
    ///
    /// # Errors
    /// When the serializer fails.
    pub fn serialize<K, S: Serializer>(secret: &Secret<K>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(secret.expose())
    }

    /// Reads what [`serialize`] wrote.
    ///
    /// # Errors
    /// When it is not a secret of this kind.
    pub fn deserialize<'de, K: SecretKind, D: Deserializer<'de>>(deserializer: D) -> Result<Secret<K>, D::Error> {
        let text = String::deserialize(deserializer)?;
        Secret::parse(&text).map_err(D::Error::custom)
    }
}

impl Secret<Access> {
    /// The token, to be read with `ticket` alone. A ticket seals one token, ever.
    #[must_use]
    pub fn seal(&self, ticket: &Secret<Ticket>) -> SealedToken {
        let mut bytes = [0; 32];
        // The random part of a token is always 32 bytes.
        let _ = URL_SAFE_NO_PAD
            .decode_slice(self.text.get(PREFIX_CHARS..PREFIX_CHARS + RANDOM_CHARS).unwrap_or_default(), &mut bytes);
        SealedToken(xor_with_ticket(bytes, ticket))
    }

    /// The token that was sealed for `ticket`. Another ticket opens a token that never was.
    #[must_use]
    pub fn unseal(sealed: SealedToken, ticket: &Secret<Ticket>) -> Self {
        Self::from_random(xor_with_ticket(sealed.0, ticket))
    }
}

/// Both ways: 32 random bytes under a pad that is made from the ticket and used once.
fn xor_with_ticket(bytes: [u8; 32], ticket: &Secret<Ticket>) -> [u8; 32] {
    let pad: [u8; 32] = Sha256::new().chain_update("deskpass delivery\0").chain_update(ticket.text).finalize().into();
    let mut masked = bytes;
    for (byte, pad) in masked.iter_mut().zip(pad) {
        *byte ^= pad;
    }
    masked
}

impl<K: SecretKind> fmt::Debug for Secret<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}…", K::PREFIX)
    }
}

fn checksum(body: &[u8]) -> [u8; CHECKSUM_CHARS] {
    let mut text = [0; CHECKSUM_CHARS];
    // Four bytes always take six characters.
    let _ = URL_SAFE_NO_PAD.encode_slice(crc32fast::hash(body).to_be_bytes(), &mut text);
    text
}

/// The SHA-256 of a bearer value: finds its record, and is of no use to whoever steals it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of any other value that is only to be recognised, such as a platform's code.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            // The length keeps two parts from being read as two others.
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// The digest as bytes, such as to be a key of its own.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A hash that was made in another way.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest as it stands in the store.
    #[must_use]
    pub fn to_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// Reads what [`Digest::to_text`] wrote.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_text(&text).ok_or_else(|| D::Error::custom("not a digest"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_text().get(..8).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Other;
    impl SecretKind for Other {
        const PREFIX: &'static str = "dpx_";
    }

    fn fresh<K: SecretKind>() -> Secret<K> {
        Secret::generate(&Entropy::system()).unwrap_or_else(|_| unreachable!("the system has entropy"))
    }

    #[test]
    fn what_was_generated_parses_and_nothing_near_it_does() {
        let secret = fresh::<Access>();
        let text = secret.expose();
        assert_eq!(Secret::<Access>::parse(text).map(|same| same.digest()), Ok(secret.digest()));
        assert!(Secret::<Other>::parse(text).is_err());
        for at in 0..text.len() {
            let mut changed = text.as_bytes().to_vec();
            for (here, byte) in changed.iter_mut().enumerate() {
                if here == at {
                    *byte = if *byte == b'A' { b'B' } else { b'A' };
                }
            }
            assert!(Secret::<Access>::parse(&String::from_utf8_lossy(&changed)).is_err(), "changed at {at}");
        }
        for near in [format!("{text} "), format!(" {text}"), format!("{text}="), text.to_lowercase(), String::new()] {
            assert!(Secret::<Access>::parse(&near).is_err(), "{near:?}");
        }
    }

    #[test]
    fn a_secret_does_not_print_itself() {
        let secret = fresh::<Access>();
        assert_eq!(format!("{secret:?}"), "dpa_…");
        assert_eq!(format!("{:?}", secret.digest()).len(), 8);
    }

    #[test]
    fn only_its_ticket_opens_a_sealed_token() {
        let (token, ticket) = (fresh::<Access>(), fresh::<Ticket>());
        let sealed = token.seal(&ticket);
        assert_eq!(Secret::unseal(sealed, &ticket).expose(), token.expose());
        assert_ne!(Secret::unseal(sealed, &fresh()).expose(), token.expose());
    }

    #[test]
    fn without_entropy_there_is_no_secret() {
        let dry = Entropy::from_fn(|_| Err(NoEntropy));
        assert!(Secret::<Access>::generate(&dry).is_err());
    }

    #[test]
    fn digests_survive_the_store() {
        let digest = fresh::<Access>().digest();
        assert_eq!(Digest::from_text(&digest.to_text()), Some(digest));
        assert_eq!(Digest::from_text("short"), None);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "\\PC{0,80}") {
            let _ = Secret::<Access>::parse(&text);
            let _ = Digest::from_text(&text);
        }

        #[test]
        fn guesses_with_the_right_prefix_are_refused(tail in "[A-Za-z0-9_-]{49}") {
            // One in 2^32 would pass the checksum, and still be unknown to the store.
            let guess = format!("dpa_{tail}");
            prop_assert!(Secret::<Access>::parse(&guess).is_err());
        }
    }
}
