//! Proof Key for Code Exchange (RFC 7636), with the method `S256` only.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::opaque_debug;

/// The challenge that a client sends with its authorization request: the SHA-256 of its verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeChallenge([u8; 32]);

/// The verifier that a client sends with the code.
#[derive(Clone)]
pub struct CodeVerifier(String);

opaque_debug!(CodeVerifier);

impl CodeChallenge {
    /// Parses a challenge: 43 characters of base64url without padding.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }

    /// Whether the verifier belongs to the challenge.
    #[must_use]
    pub fn is_met_by(&self, verifier: &CodeVerifier) -> bool {
        // The challenge is not secret, so comparing it in constant time would protect nothing.
        Sha256::digest(verifier.0.as_bytes()).as_slice() == self.0
    }
}

impl CodeVerifier {
    /// Parses a verifier: 43 to 128 unreserved characters.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_unreserved = |c: u8| c.is_ascii_alphanumeric() || b"-._~".contains(&c);
        ((43..=128).contains(&text.len()) && text.bytes().all(is_unreserved)).then(|| Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc_holds() {
        let verifier = CodeVerifier::parse("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        let challenge = CodeChallenge::parse("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert!(challenge.zip(verifier).is_some_and(|(challenge, verifier)| challenge.is_met_by(&verifier)));
    }

    #[test]
    fn other_lengths_and_characters_are_refused() {
        for bad in ["", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-c", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM="] {
            assert!(CodeChallenge::parse(bad).is_none(), "{bad}");
        }
        for bad in ["a".repeat(42), "a".repeat(129), format!("{}+", "a".repeat(43))] {
            assert!(CodeVerifier::parse(&bad).is_none(), "{bad}");
        }
    }
}
