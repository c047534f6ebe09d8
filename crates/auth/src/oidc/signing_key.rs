//! A key that signs ID tokens and logout tokens.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeySize, PublicKeyComponents};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey, VerificationAlgorithm,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_core::oidc::SigningAlgorithm;
use serde_json::Value;

use crate::{Error, InternalError};

/// The length of what PKCS#8 puts in front of the PKCS#1 form of an RSA key of 2048 bits.
const PKCS8_HEADER_BYTES: usize = 26;

/// The members of a JWK that its thumbprint is made of, in alphabetical order. Their values need no escaping.
type PublicMembers = Vec<(&'static str, String)>;

/// A signing key. It prints only its identifier.
pub struct SigningKey {
    kid: String,
    jwk: Value,
    pair: KeyPair,
}

enum KeyPair {
    Rsa(RsaKeyPair),
    Ecdsa(EcdsaKeyPair),
}

/// A private key as it is sealed: PKCS#1 for RSA, PKCS#8 for ECDSA, both in DER.
pub(crate) struct PrivateKey(pub(crate) Vec<u8>);

impl SigningKey {
    /// Makes a new key. It takes a while, above all for RSA.
    pub(crate) fn generate(algorithm: SigningAlgorithm) -> Result<(Self, PrivateKey), Error> {
        let made = match algorithm {
            SigningAlgorithm::Rs256 => make_rsa_key(),
            SigningAlgorithm::Es256 => make_ec_key(),
        };
        let private = made.map_err(|_| InternalError::SigningKey("no key could be made"))?;
        let key = Self::open(algorithm, &private)?;
        // A key whose parts do not fit signs nothing that can be verified. It must not be published.
        let sample = b"deskpass signing key";
        if !key.verifies(sample, &key.sign(sample)?) {
            return Err(InternalError::SigningKey("a new key does not verify its own signature").into());
        }
        Ok((key, PrivateKey(private)))
    }

    /// Opens a private key. The library checks that its parts are consistent.
    pub(crate) fn open(algorithm: SigningAlgorithm, private: &[u8]) -> Result<Self, Error> {
        let invalid = |_| InternalError::SigningKey("it is damaged");
        let (pair, mut members) = match algorithm {
            SigningAlgorithm::Rs256 => {
                let pair = RsaKeyPair::from_der(private).map_err(invalid)?;
                let members = rsa_members(&pair);
                (KeyPair::Rsa(pair), members)
            }
            SigningAlgorithm::Es256 => {
                let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, private).map_err(invalid)?;
                let members = ec_members(&pair).ok_or(InternalError::SigningKey("its public key is damaged"))?;
                (KeyPair::Ecdsa(pair), members)
            }
        };
        let kid = thumbprint(&members);
        members.extend([("use", "sig".to_owned()), ("alg", algorithm.name().to_owned()), ("kid", kid.clone())]);
        let jwk = members.into_iter().map(|(name, value)| (name.to_owned(), Value::String(value))).collect();
        Ok(Self { kid, jwk: Value::Object(jwk), pair })
    }

    /// The identifier: the thumbprint of the public key (RFC 7638).
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The algorithm.
    #[must_use]
    pub fn algorithm(&self) -> SigningAlgorithm {
        match self.pair {
            KeyPair::Rsa(_) => SigningAlgorithm::Rs256,
            KeyPair::Ecdsa(_) => SigningAlgorithm::Es256,
        }
    }

    /// The public key as a JWK.
    #[must_use]
    pub fn public_jwk(&self) -> Value {
        self.jwk.clone()
    }

    /// Signs a message.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let failed = |_| InternalError::SigningKey("the signature could not be made");
        let rng = SystemRandom::new();
        match &self.pair {
            KeyPair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &rng, message, &mut signature).map_err(failed)?;
                Ok(signature)
            }
            KeyPair::Ecdsa(pair) => Ok(pair.sign(&rng, message).map_err(failed)?.as_ref().to_vec()),
        }
    }

    /// Whether the signature is of this key.
    #[must_use]
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let (algorithm, public): (&'static dyn VerificationAlgorithm, &[u8]) = match &self.pair {
            KeyPair::Rsa(pair) => (&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_ref()),
            KeyPair::Ecdsa(pair) => (&ECDSA_P256_SHA256_FIXED, pair.public_key().as_ref()),
        };
        UnparsedPublicKey::new(algorithm, public).verify(message, signature).is_ok()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("kid", &self.kid).finish_non_exhaustive()
    }
}

/// A new RSA key of 2048 bits as PKCS#1 (RFC 8017 §A.1.2), the form that every version opens.
fn make_rsa_key() -> Result<Vec<u8>, Unspecified> {
    let pkcs8: Pkcs8V1Der<'_> = RsaKeyPair::generate(KeySize::Rsa2048)?.as_der()?;
    pkcs8.as_ref().get(PKCS8_HEADER_BYTES..).map(<[u8]>::to_vec).ok_or(Unspecified)
}

/// A new P-256 key as PKCS#8.
fn make_ec_key() -> Result<Vec<u8>, Unspecified> {
    Ok(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)?.to_pkcs8v1()?.as_ref().to_vec())
}

/// The numbers have no leading zeros (RFC 7518 §6.3.1).
fn rsa_members(pair: &RsaKeyPair) -> PublicMembers {
    let PublicKeyComponents::<Vec<u8>> { n, e } = pair.public_key().into();
    vec![("e", URL_SAFE_NO_PAD.encode(e)), ("kty", "RSA".to_owned()), ("n", URL_SAFE_NO_PAD.encode(n))]
}

/// Both coordinates have their full length (RFC 7518 §6.2.1.2).
fn ec_members(pair: &EcdsaKeyPair) -> Option<PublicMembers> {
    // An uncompressed point: a byte that says so, then the coordinates.
    let (x, y) = pair.public_key().as_ref().get(1..)?.split_at_checked(32)?;
    let [x, y] = [x, y].map(|coordinate| URL_SAFE_NO_PAD.encode(coordinate));
    Some(vec![("crv", "P-256".to_owned()), ("kty", "EC".to_owned()), ("x", x), ("y", y)])
}

/// The thumbprint of a public key (RFC 7638 §3): the digest of its members as JSON without blanks.
fn thumbprint(members: &[(&'static str, String)]) -> String {
    let members: Vec<_> = members.iter().map(|(name, value)| format!("\"{name}\":\"{value}\"")).collect();
    URL_SAFE_NO_PAD.encode(digest(&SHA256, format!("{{{}}}", members.join(",")).as_bytes()))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at the first surprise")]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    /// The example of RFC 7638 §3.1.
    #[test]
    fn the_thumbprint_is_that_of_the_rfc() {
        let n = "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";
        let members = vec![("e", "AQAB".to_owned()), ("kty", "RSA".to_owned()), ("n", n.to_owned())];
        assert_eq!(thumbprint(&members), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
    }

    #[test]
    fn keys_sign_what_only_they_verify_and_publish_no_private_member() {
        for (algorithm, length, members) in [
            (SigningAlgorithm::Rs256, 256, ["kty", "n", "e", "use", "alg", "kid"].as_slice()),
            (SigningAlgorithm::Es256, 64, &["kty", "crv", "x", "y", "use", "alg", "kid"]),
        ] {
            let [(key, private), (other, _)] = [(); 2].map(|()| SigningKey::generate(algorithm).unwrap());
            let signature = key.sign(b"message").unwrap();
            assert_eq!(signature.len(), length);
            assert!(key.verifies(b"message", &signature) && !key.verifies(b"massage", &signature));
            assert!(!other.verifies(b"message", &signature) && key.kid() != other.kid());
            let jwk = key.public_jwk();
            let found: BTreeSet<_> = jwk.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(found, members.iter().copied().collect(), "{algorithm}");
            assert_eq!((&jwk["alg"], &jwk["kid"]), (&json!(algorithm.name()), &json!(key.kid())));
            let again = SigningKey::open(algorithm, &private.0).unwrap();
            assert!(
                again.kid() == key.kid() && again.verifies(b"message", &signature) && again.algorithm() == algorithm
            );
        }
    }

    #[test]
    fn a_public_key_has_the_form_of_its_standard() {
        let (rsa, _) = SigningKey::generate(SigningAlgorithm::Rs256).unwrap();
        let (ec, _) = SigningKey::generate(SigningAlgorithm::Es256).unwrap();
        let bytes = |jwk: &Value, member: &str| URL_SAFE_NO_PAD.decode(jwk[member].as_str().unwrap()).unwrap();
        let n = bytes(&rsa.public_jwk(), "n");
        assert!(n.len() == 256 && n.first().is_some_and(|first| *first >= 0x80), "2048 bits");
        assert_eq!(rsa.public_jwk()["e"], "AQAB");
        for member in ["x", "y"] {
            assert_eq!(bytes(&ec.public_jwk(), member).len(), 32, "{member}");
        }
    }

    /// Nodes of 0.2.0, which share the database during an upgrade, open nothing else.
    #[test]
    fn private_keys_keep_their_form() {
        let (_, rsa) = SigningKey::generate(SigningAlgorithm::Rs256).unwrap();
        assert_eq!(rsa.0[..2], [0x30, 0x82], "a sequence");
        assert_eq!(rsa.0[4..12], [2, 1, 0, 2, 0x82, 1, 1, 0], "version 0, and a modulus of 256 bytes: PKCS#1");
        let (_, ec) = SigningKey::generate(SigningAlgorithm::Es256).unwrap();
        assert_eq!(ec.0[..7], [0x30, 0x81, 0x87, 2, 1, 0, 0x30], "PKCS#8, with the public key");
    }

    /// An RSA key in the form that 0.2.0 made and sealed, which OpenSSL checked: PKCS#1, the larger prime first, and a private exponent
    /// modulo (p - 1)(q - 1), where others reduce it further. It signs nothing else.
    const RSA_KEY_OF_0_2_0: &str = "MIIEowIBAAKCAQEAuTEUDwPyh88nC_AjMHeJshwPP_8T0bQsWc5F05Q232eSV7yWC-V05ybfqbwBWyoBpIIqB-SJMtG_W18-ODMV\
        hHg1wnyhiclmGRNhHDndfkxjt7BuiXRndIXwLMuK3w15nR-w_m0d8AzFdwdZ48v9CDDsD3tjnG5Mox9lOaTvYzKRp44v8EePR3xp\
        zjz0Yo2HJIliJNjCA532L00QvEzSi6pEUpLBz3cfK0aJZZWRCkIkqp6KA3ZpTfF0jqSEDzcxO9j_7pgd2SnsHenEdjwbSgKZNEzQ\
        zZP_Rh9xL4iua_v8Vs20Jhzv6uq7uy5EW2VUcM1db0EgqTq8SNJ9tE0rUQIDAQABAoIBAHuNruBFte2920Mvt4qCdi-KYPJFcCec\
        mWphIF0EqYdrRkua2lCdid0eJmLLt-vmnqnu3bPeWVq6bXy8knpUOqriuJtFI1EWOTPJpiR6xreYp37KCzVRoCQxqAd61O_zwYt-\
        tUtJ6YtaOfQrx2Efm3V3jkbV_6NCQ4chTxuiWsRGuQk_166F1Sm2HiTvEOVzrfnzeJr4-t-mN7AfcygMQG4UiDvTldZp7RjDJBTJ\
        QfLAqKDUYg2jz5EbmOVU85EZbUE-5pabdMDWtMWeUjZN6JsZCR0C4bIJ_zcUzc8hGLpESMp8liDnRhLsfyF6gWt8Xku8DIReZ3vY\
        mA9e4kSnQXECgYEA7jDt_0W_u8ip1nwpBdNTSD1trfKbFiJlougwCBJfSPq-A6B1VrJrPJYVxDIMz7PYIXAQbzJ75tnbh3PThah-\
        hBxEsV0Nk90VhfsaWXLQpsZBnzI4kLbIFk_NoKcmGTvrzQManV-g-BN1vXx0XCW3pT-_xRt7zfLpEtJI_HCEjdsCgYEAxwm4JJdX\
        TXGwOD9JyUu6kLKvxXE0_s4UbUiGDTvJ7810_ITkhbrZayx63Xbnlra5SqxeW9E_qSMm_MRdG6_s42T4hT6Zq_z_B-S650Y2OouQ\
        _RBpdWMBfJ3dEAAW2DHuTVutdvN3FFSYsjCeNUWj4m7kABLhnWhaxdMNBR65kUMCgYADQ4RfVRNVfWBmYfkl7Ulc2gqgsYxSd1Ix\
        M0FFOws3MshbwF0bPQKfJ-dQcuceCXbSrnhrLaPo-984MewaDr79DG4ciAvhlMvwtAoeY6ZcQqcviT6hLP_83kcRBnlNKzcF7h71\
        PRQ1kf6xA_2MLbAggYkdKE0_-y4aZes-GkSWtQKBgBrklkvjYvlkzhGbg4W-RLP-YL-Fv0paX-owLWSmWm-bTB4-en4TNANGHEfG\
        JB56C-kqBwnS6Q4aYM8wXQA7sf87ilS-k5bodTEE17geBX-9kdaPnCAvQ2kqD091I6EMhg1PwM1csg8-Ku-QoB_EjBMxNn9IDdHt\
        4q3uCUlS0HHvAoGBANKLx-3v3zDHuciESiO_1tg_FV51rC9bJcKsV0f3ZqmObCfkXXq1iUDTEEUUvBlTHQA1PoR2wgaO121P3z0d\
        6q7FfP-_MIJ5IYEnZyBr0jT71nCI_-TK9-J-BgTIhb1UBBzr2iVJwCBajSHo-KTyyiY_UAmjsJ0gqhkBKe6rwkhU";
    /// The thumbprint of its public key.
    const KID_OF_0_2_0: &str = "UxZlIqieUIz5Mke4-X5tXYwTl3K9SqYxXDXyHzDPRoM";
    /// What OpenSSL signed with it. Signatures of RS256 have no random part.
    const SIGNATURE_OF_0_2_0: &str = "Rldxqda4fu8zIojHhbqxvYwFIt2G5KBEaJI3wHIpv9SKAdc2r73cqflScCCqhNfsMEfLbM2HFCS2ov2XX32NFhkiAMffDUIxo219\
        t4htYtjCZWILQ3xFYK3TX8j2WvAasNwhYhTl23BTjRg9gM-y8U0wJwpbgtDiitVC0JNXa8RhuvKaQ8GPiWBhJbsJixZCfrGSiNe6\
        sMaOKXtcYTvPfNOBhb2yB_Hku6poChm-I0ANFeU1NV74M-uH6619DyE2O6-QiYZKSfza_UnlR0C0oHuMn8E29tUQtjLH2EwwC15_\
        Xjr0HnFszKoXUjAJ1nP3ZlmTSkFP55fcl2vk_e_xhQ";

    #[test]
    fn an_rsa_key_of_0_2_0_signs_as_before() {
        let private = URL_SAFE_NO_PAD.decode(RSA_KEY_OF_0_2_0).unwrap();
        let key = SigningKey::open(SigningAlgorithm::Rs256, &private).unwrap();
        let jwk = key.public_jwk();
        assert_eq!((key.kid(), &jwk["kid"]), (KID_OF_0_2_0, &json!(KID_OF_0_2_0)));
        let signature = key.sign(b"a token").unwrap();
        assert_eq!(URL_SAFE_NO_PAD.encode(&signature), SIGNATURE_OF_0_2_0);
        // As a program does, which has nothing but the published key.
        let [n, e] = ["n", "e"].map(|member| URL_SAFE_NO_PAD.decode(jwk[member].as_str().unwrap()).unwrap());
        let published = PublicKeyComponents { n, e };
        published.verify(&RSA_PKCS1_2048_8192_SHA256, b"a token", &signature).unwrap();
        assert!(published.verify(&RSA_PKCS1_2048_8192_SHA256, b"another", &signature).is_err());
    }

    #[test]
    fn a_damaged_key_does_not_open() {
        for algorithm in SigningAlgorithm::ALL {
            let (_, private) = SigningKey::generate(algorithm).unwrap();
            let cut = private.0.get(..private.0.len() - 1).unwrap();
            assert!(SigningKey::open(algorithm, cut).is_err() && SigningKey::open(algorithm, b"").is_err());
            let other = SigningAlgorithm::ALL.into_iter().find(|other| *other != algorithm).unwrap();
            assert!(SigningKey::open(other, &private.0).is_err(), "of another algorithm");
        }
    }
}
