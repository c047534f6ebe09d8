//! The seal of a `state`: that a node of this service wrote it, and when. Whoever has none costs the platform no call.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_core::{Digest, EncryptionKeys, KeyBytes, Timestamp};
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use super::pkce::keyed;

/// What the key is derived for.
const PURPOSE: &[u8] = b"deskpass login state";

/// As much of the digest as no one can guess; a state should stay short.
const MAC_BYTES: usize = 16;

/// How long a browser may stay at the platform.
const STATE_LIFETIME: Duration = Duration::from_mins(10);

/// How far the clock of the node that wrote it may be ahead.
const CLOCK_SKEW: Duration = Duration::from_mins(5);

/// The seal of a text that is written now.
pub(super) fn of(keys: &EncryptionKeys, text: &str, now: Timestamp) -> String {
    let mac: [u8; 32] = mac(keys.first(), text, now).finalize().into_bytes().into();
    let (mac, _) = mac.split_at(MAC_BYTES);
    URL_SAFE_NO_PAD.encode([now.millis().to_be_bytes().as_slice(), mac].concat())
}

/// Whether a seal is of this text, of one of the keys, and recent. Compared in constant time.
pub(super) fn fits(keys: &EncryptionKeys, seal: &str, text: &str, now: Timestamp) -> bool {
    let Ok(bytes) = URL_SAFE_NO_PAD.decode(seal) else { return false };
    let Some((written, given)) = bytes.split_first_chunk().filter(|(_, given)| given.len() == MAC_BYTES) else {
        return false;
    };
    let written = Timestamp::from_millis(i64::from_be_bytes(*written));
    keys.iter().any(|key| mac(key, text, written).verify_truncated_left(given).is_ok())
        && now < written + STATE_LIFETIME
        && written <= now + CLOCK_SKEW
}

fn mac(key: &KeyBytes, text: &str, written: Timestamp) -> Hmac<Sha256> {
    let derived = Digest::of(&[PURPOSE, key]);
    keyed(derived.bytes().iter().copied()).chain_update(written.millis().to_be_bytes()).chain_update(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_is_of_one_text_of_our_keys_and_for_ten_minutes() {
        let [old, new] = [[1; 32], [2; 32]];
        let now = Timestamp::from_millis(1_800_000_000_000);
        let seal = of(&EncryptionKeys::one(old), "auth_login", now);
        assert_eq!(seal.len(), 32);
        let keys = EncryptionKeys::new(new, [old]);
        let fits_at = |after| fits(&keys, &seal, "auth_login", now + after);
        assert!(fits_at(Duration::ZERO) && fits_at(STATE_LIFETIME.saturating_sub(Duration::from_millis(1))));
        assert!(!fits_at(STATE_LIFETIME));
        assert!(fits(&keys, &seal, "auth_login", now - CLOCK_SKEW));
        assert!(!fits(&keys, &seal, "auth_login", now - CLOCK_SKEW - Duration::from_millis(1)));
        assert!(!fits(&keys, &seal, "auth_login~p", now));
        assert!(!fits(&EncryptionKeys::one(new), &seal, "auth_login", now));
        for wrong in ["", "AAAA", seal.split_at(30).0, &format!("{seal}AAAA"), "not base64~"] {
            assert!(!fits(&keys, wrong, "auth_login", now), "{wrong}");
        }
    }
}
