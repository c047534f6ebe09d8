//! Proof Key for Code Exchange (RFC 7636).
//!
//! The verifier is derived from the browser's flow cookie, so nothing is stored: a code that the platform issued for a link of one
//! browser is worth nothing in another.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_core::{Flow, Secret};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The block size of SHA-256, to which HMAC pads a key.
const HMAC_BLOCK_BYTES: usize = 64;

/// What the verifier is derived for, so that no other use of the cookie reveals it.
const PURPOSE: &[u8] = b"deskpass pkce";

/// A keyed digest whose key is the cookie.
pub(super) fn keyed_by(flow: &Secret<Flow>) -> Hmac<Sha256> {
    keyed(flow.expose().bytes())
}

/// A keyed digest whose key is at most a block.
pub(super) fn keyed(given: impl Iterator<Item = u8>) -> Hmac<Sha256> {
    // HMAC pads a short key with zeros; with the padding done here, the length cannot be wrong.
    let mut key = [0_u8; HMAC_BLOCK_BYTES];
    for (to, from) in key.iter_mut().zip(given) {
        *to = from;
    }
    Hmac::<Sha256>::new(&key.into())
}

/// The verifier of the browser with this cookie.
pub(super) fn verifier(flow: &Secret<Flow>) -> String {
    let mac: [u8; 32] = keyed_by(flow).chain_update(PURPOSE).finalize().into_bytes().into();
    URL_SAFE_NO_PAD.encode(mac)
}

/// The challenge (S256) for a verifier.
pub(super) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(<Sha256 as sha2::Digest>::digest(verifier))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use deskpass_core::Entropy;

    use super::*;

    #[test]
    fn a_browser_has_one_verifier_and_other_browsers_have_others() {
        let [one, other]: [Secret<Flow>; 2] = [(); 2].map(|()| Secret::generate(&Entropy::system()).unwrap());
        assert_eq!(verifier(&one), verifier(&one));
        assert_ne!(verifier(&one), verifier(&other));
        let plain = |c: u8| c.is_ascii_alphanumeric() || c == b'-' || c == b'_';
        for text in [verifier(&one), challenge(&verifier(&one))] {
            assert!(text.len() == 43 && text.bytes().all(plain), "{text}");
        }
    }

    /// The example of RFC 7636, appendix B.
    #[test]
    fn the_challenge_is_that_of_the_standard() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
