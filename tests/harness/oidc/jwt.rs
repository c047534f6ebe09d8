//! Checks signed tokens with the published keys, as a client does.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::SignatureScheme;
use serde_json::Value;

/// The header and the claims of a token, unchecked.
pub(crate) fn decoded(token: &str) -> (Value, Value) {
    let part = |at: usize| -> Value {
        let part = token.split('.').nth(at).unwrap_or_else(|| panic!("not a token: {token}"));
        serde_json::from_slice(&bytes(part)).unwrap()
    };
    (part(0), part(1))
}

/// The claims of a token, if a key of the set signed it.
pub(crate) fn verified(jwks: &Value, token: &str) -> Option<Value> {
    signed_by_us(jwks, token).then(|| decoded(token).1)
}

/// Whether the key that the token names is in the set, and signed it.
pub(crate) fn signed_by_us(jwks: &Value, token: &str) -> bool {
    let (header, _) = decoded(token);
    let Some(key) = jwks["keys"].as_array().unwrap().iter().find(|key| key["kid"] == header["kid"]) else {
        return false;
    };
    assert_eq!((&key["alg"], &key["use"]), (&header["alg"], &Value::from("sig")), "{key}");
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let (signature, member) = (bytes(signature), |name: &str| bytes(key[name].as_str().unwrap()));
    match header["alg"].as_str().unwrap() {
        "RS256" => {
            let public = der(0x30, &[integer(&member("n")), integer(&member("e"))].concat());
            verify(SignatureScheme::RSA_PKCS1_SHA256, &public, signed, &signature)
        }
        "ES256" => {
            let (x, y) = (member("x"), member("y"));
            assert_eq!((key["crv"].as_str(), x.len(), y.len(), signature.len()), (Some("P-256"), 32, 32, 64), "{key}");
            let (r, s) = signature.split_at(32);
            let signature = der(0x30, &[integer(r), integer(s)].concat());
            verify(SignatureScheme::ECDSA_NISTP256_SHA256, &[&[4][..], &x[..], &y[..]].concat(), signed, &signature)
        }
        other => panic!("nobody asked for {other}"),
    }
}

fn verify(scheme: SignatureScheme, key: &[u8], signed: &str, signature: &[u8]) -> bool {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let known = provider.signature_verification_algorithms.mapping;
    let (_, algorithms) = known.iter().find(|(given, _)| *given == scheme).unwrap();
    algorithms[0].verify_signature(key, signed.as_bytes(), signature).is_ok()
}

fn bytes(encoded: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(encoded).unwrap_or_else(|error| panic!("{error}: {encoded}"))
}

/// A positive number in DER.
fn integer(number: &[u8]) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let number = &number[zeros..];
    let sign: &[u8] = if number.first().is_none_or(|first| *first >= 0x80) { &[0] } else { &[] };
    der(0x02, &[sign, number].concat())
}

/// A value in DER.
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(content.len()).unwrap().to_be_bytes();
    let length = match content.len() {
        0..0x80 => vec![low],
        0x80..0x100 => vec![0x81, low],
        _ => vec![0x82, high, low],
    };
    [&[tag][..], &length[..], content].concat()
}
