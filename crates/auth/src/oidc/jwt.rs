//! Signed tokens: JWS in its compact form (RFC 7515).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::signing_key::SigningKey;
use crate::{Auth, Error};

/// The type of an ID token, in its header.
const ID_TOKEN_TYPE: &str = "JWT";

/// The longest token that is read back. One of ours has some kilobytes, most of which are groups.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// Signs claims.
pub(crate) fn sign(key: &SigningKey, typ: &str, claims: &Value) -> Result<String, Error> {
    let header = json!({ "alg": key.algorithm().name(), "typ": typ, "kid": key.kid() });
    let [header, claims] = [&header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    let signed = format!("{header}.{claims}");
    let signature = URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes())?);
    Ok(format!("{signed}.{signature}"))
}

/// A token that was split into its parts. Nothing of it is verified.
struct UnverifiedToken<'a> {
    kid: String,
    signed: &'a str,
    signature: Vec<u8>,
    claims: &'a str,
}

impl<'a> UnverifiedToken<'a> {
    /// Reads the parts of an ID token; `None` for anything else, also for a logout token. The header's `alg` is not read: the key
    /// decides the algorithm.
    fn parse(token: &'a str) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.').filter(|_| token.len() <= MAX_TOKEN_BYTES)?;
        let (header, claims) = signed.split_once('.')?;
        let header = decode(header)?;
        if header.get("typ")?.as_str()? != ID_TOKEN_TYPE {
            return None;
        }
        let kid = header.get("kid")?.as_str()?.to_owned();
        Some(Self { kid, signed, signature: URL_SAFE_NO_PAD.decode(signature).ok()?, claims })
    }

    /// The claims, if this key signed them.
    fn verified(&self, key: &SigningKey) -> Option<Value> {
        key.verifies(self.signed.as_bytes(), &self.signature).then(|| decode(self.claims)).flatten()
    }
}

fn decode(part: &str) -> Option<Value> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

impl Auth {
    /// The claims of an ID token that this service signed with a key that is still published; `None` for every other text. Whether
    /// it has expired is up to the caller: a hint may have.
    pub(crate) async fn verify_own(&self, token: &str) -> Result<Option<Value>, Error> {
        let Some(token) = UnverifiedToken::parse(token) else { return Ok(None) };
        let key = self.published_key(&token.kid).await?;
        Ok(key.and_then(|key| token.verified(&key)))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use deskpass_core::oidc::SigningAlgorithm;

    use super::*;

    fn key() -> SigningKey {
        SigningKey::generate(SigningAlgorithm::Es256).unwrap().0
    }

    #[test]
    fn a_token_names_its_key_and_is_verified_by_it_alone() {
        let (key, other) = (key(), key());
        let claims = json!({ "sub": "a", "aud": "b" });
        let token = sign(&key, "JWT", &claims).unwrap();
        let read = UnverifiedToken::parse(&token).unwrap();
        assert_eq!(read.kid, key.kid());
        assert_eq!(read.verified(&key), Some(claims));
        assert_eq!(read.verified(&other), None);
        assert!(!token.contains(['=', '+', '/', ' ']) && token.split('.').count() == 3);
    }

    #[test]
    fn other_texts_are_not_read() {
        let key = key();
        let logout = sign(&key, "logout+jwt", &json!({})).unwrap();
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let nameless = format!("{}.{}.", part(json!({ "typ": "JWT" })), part(json!({})));
        let long = format!("a.{}.b", "a".repeat(MAX_TOKEN_BYTES));
        for other in ["", ".", "..", "a.b.c", &logout, &nameless, &long] {
            assert!(UnverifiedToken::parse(other).is_none(), "{other}");
        }
    }

    #[test]
    fn the_algorithm_of_the_header_does_not_matter() {
        let key = key();
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = part(json!({ "alg": "none", "typ": "JWT", "kid": key.kid() }));
        let unsigned = format!("{header}.{}.", part(json!({ "sub": "a" })));
        assert_eq!(UnverifiedToken::parse(&unsigned).unwrap().verified(&key), None);
    }
}
