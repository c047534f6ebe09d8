//! What binds a `state` to the browser that the service sent to the platform: a keyed digest of its flow cookie.
//!
//! Without it, another browser's code would sign in this browser silently while its flow cookie is good.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_core::{Flow, Secret};
use hmac::Mac as _;

use super::pkce::keyed_by;

/// What the digest is made for, so that it reveals nothing else that the cookie is used for.
const PURPOSE: &[u8] = b"deskpass state";

/// As much of the digest as no one can guess; a state should stay short.
const BINDING_BYTES: usize = 16;

/// The binding to the browser with this cookie.
pub(super) fn of(flow: &Secret<Flow>) -> String {
    let mac: [u8; 32] = keyed_by(flow).chain_update(PURPOSE).finalize().into_bytes().into();
    let (binding, _) = mac.split_at(BINDING_BYTES);
    URL_SAFE_NO_PAD.encode(binding)
}

/// Whether a binding is to the browser with this cookie. Compared in constant time.
pub(super) fn fits(binding: &str, flow: &Secret<Flow>) -> bool {
    let given = URL_SAFE_NO_PAD.decode(binding).ok().filter(|given| given.len() == BINDING_BYTES);
    given.is_some_and(|given| keyed_by(flow).chain_update(PURPOSE).verify_truncated_left(&given).is_ok())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use deskpass_core::Entropy;

    use super::*;

    #[test]
    fn a_binding_fits_one_browser_and_as_a_whole() {
        let [one, other]: [Secret<Flow>; 2] = [(); 2].map(|()| Secret::generate(&Entropy::system()).unwrap());
        let binding = of(&one);
        assert_eq!(binding.len(), 22);
        assert!(fits(&binding, &one) && !fits(&binding, &other));
        for wrong in ["", "AA", binding.split_at(4).0, &format!("{binding}AA"), &format!("{binding}=="), "not base64~"]
        {
            assert!(!fits(wrong, &one), "{wrong}");
        }
    }
}
