//! Typed bearer secrets: a secret of one kind cannot be mistaken for a secret of another kind.

use std::fmt;
use std::marker::PhantomData;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::secret_kind::{Access, SecretKind, SecretKindName, Ticket};
use crate::{Entropy, NoEntropy};

const PREFIX_CHARS: usize = 4;
const RANDOM_CHARS: usize = 43;
const CHECKSUM_CHARS: usize = 6;
const SECRET_CHARS: usize = PREFIX_CHARS + RANDOM_CHARS + CHECKSUM_CHARS;

/// A bearer secret: prefix, 256 random bits and checksum, in characters that need no quoting in a header, a URL or a socket's
/// subprotocol. It prints only its kind; [`Secret::expose`] returns the value.
#[derive(Clone, Copy)]
pub struct Secret<K> {
    text: [u8; SECRET_CHARS],
    kind: PhantomData<K>,
}

/// An error: the text is not a secret of the expected kind.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a secret of this kind")]
pub struct MalformedSecret;

impl<K: SecretKind> Secret<K> {
    /// Generates a new secret.
    pub fn generate(entropy: &Entropy) -> Result<Self, NoEntropy> {
        Ok(Self::from_random(entropy.bytes()?))
    }

    /// The secret with these random bytes.
    pub(crate) fn from_random(random: [u8; 32]) -> Self {
        let random = URL_SAFE_NO_PAD.encode(random);
        let mut text = [0; SECRET_CHARS];
        for (to, from) in text.iter_mut().zip(K::PREFIX.bytes().chain(random.bytes())) {
            *to = from;
        }
        let (body, tail) = text.split_at_mut(PREFIX_CHARS + RANDOM_CHARS);
        tail.copy_from_slice(&checksum(body));
        Self { text, kind: PhantomData }
    }

    /// Derives a secret from another value under a key: the same parts always give the same secret, so that an answer can be
    /// repeated without being stored.
    #[must_use]
    pub fn derive(key: &[u8; 32], parts: &[&[u8]]) -> Self {
        // A key of 32 bytes is never too long for HMAC.
        let mac = Hmac::<Sha256>::new_from_slice(key).map(|mac| mac.chain_update(Digest::of(parts).bytes()));
        Self::from_random(mac.map_or([0; 32], |mac| mac.finalize().into_bytes().into()))
    }

    /// Parses a value that a client sent. A wrong kind or a mistyped or truncated value is detected here, without a query.
    pub fn parse(text: &str) -> Result<Self, MalformedSecret> {
        Ok(Self { text: check(text, K::PREFIX)?, kind: PhantomData })
    }
}

impl SecretKindName {
    /// The digest of a value of this kind.
    pub fn digest(self, text: &str) -> Result<Digest, MalformedSecret> {
        Ok(digest(check(text, self.prefix())?))
    }
}

/// The text of a secret with this prefix and the right checksum.
fn check(text: &str, prefix: &str) -> Result<[u8; SECRET_CHARS], MalformedSecret> {
    let text: [u8; SECRET_CHARS] = text.as_bytes().try_into().map_err(|_| MalformedSecret)?;
    let (body, tail) = text.split_at(PREFIX_CHARS + RANDOM_CHARS);
    if body.starts_with(prefix.as_bytes()) && tail == checksum(body) { Ok(text) } else { Err(MalformedSecret) }
}

fn digest(text: [u8; SECRET_CHARS]) -> Digest {
    Digest(Sha256::digest(text).into())
}

impl<K> Secret<K> {
    /// The value itself, for the response that delivers it.
    #[must_use]
    pub fn expose(&self) -> &str {
        // Both constructors write ASCII here, so the fallback is never used.
        std::str::from_utf8(&self.text).unwrap_or_default()
    }

    /// The digest that is stored and logged instead of the value.
    #[must_use]
    pub fn digest(&self) -> Digest {
        digest(self.text)
    }
}

/// A token that only the holder of its ticket can read. The value stored between the phone's confirmation and the collection by
/// the browser is useless by itself.
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

/// A serde module for a field that is serialized with its secret: `#[serde(with = "deskpass_core::exposed")]`. A secret has no
/// `Serialize` of its own, so that it is not written to a record by mistake.
pub mod exposed {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::Secret;
    use crate::secret_kind::SecretKind;

    /// Serializes the secret itself.
    pub fn serialize<K, S: Serializer>(secret: &Secret<K>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(secret.expose())
    }

    /// Deserializes the output of [`serialize`].
    pub fn deserialize<'de, K: SecretKind, D: Deserializer<'de>>(deserializer: D) -> Result<Secret<K>, D::Error> {
        let text = String::deserialize(deserializer)?;
        Secret::parse(&text).map_err(D::Error::custom)
    }
}

impl Secret<Access> {
    /// Seals the token so that only `ticket` can read it. A ticket seals only one token.
    #[must_use]
    pub fn seal(&self, ticket: &Secret<Ticket>) -> SealedToken {
        let mut bytes = [0; 32];
        // The random part of a token is always 32 bytes.
        let _ = URL_SAFE_NO_PAD
            .decode_slice(self.text.get(PREFIX_CHARS..PREFIX_CHARS + RANDOM_CHARS).unwrap_or_default(), &mut bytes);
        SealedToken(xor_with_ticket(bytes, ticket))
    }

    /// The token that was sealed for `ticket`. With another ticket, the result is a token that does not exist.
    #[must_use]
    pub fn unseal(sealed: SealedToken, ticket: &Secret<Ticket>) -> Self {
        Self::from_random(xor_with_ticket(sealed.0, ticket))
    }
}

/// Seals and unseals: XORs 32 random bytes with a pad that is derived from the ticket and used once.
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

/// The SHA-256 of a bearer secret. It identifies the record, and is useless to an attacker who steals it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of another value that only has to be recognised, such as a platform's code.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            // The length keeps different splits into parts from having the same digest.
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// The digest as bytes, for example for use as a key.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A hash that was computed elsewhere.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest as text, as in the store.
    #[must_use]
    pub fn to_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// Parses the output of [`Digest::to_text`].
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
    use crate::Half;

    struct Other;
    impl SecretKind for Other {
        const PREFIX: &'static str = "dpx_";
    }

    fn fresh<K: SecretKind>() -> Secret<K> {
        Secret::generate(&Entropy::system()).unwrap_or_else(|_| unreachable!("the system has entropy"))
    }

    #[test]
    fn a_generated_secret_parses_and_no_variation_does() {
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
    fn the_prefix_names_the_kind_and_only_that_kind_parses_the_value() {
        let value = fresh::<Half>();
        assert_eq!(SecretKindName::of(value.expose()), Some(SecretKindName::Half));
        for kind in SecretKindName::ALL {
            let expected = if *kind == SecretKindName::Half { Ok(value.digest()) } else { Err(MalformedSecret) };
            assert_eq!(kind.digest(value.expose()), expected, "{kind:?}");
        }
        assert_eq!(
            (SecretKindName::of("dp"), SecretKindName::of("Bearer dpa_"), SecretKindName::of("")),
            (None, None, None)
        );
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
            // One in 2^32 guesses passes the checksum, and is still unknown to the store.
            let guess = format!("dpa_{tail}");
            prop_assert!(Secret::<Access>::parse(&guess).is_err());
        }
    }
}
