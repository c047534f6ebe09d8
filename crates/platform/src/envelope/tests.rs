#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use proptest::prelude::*;

use super::*;

const KEY: &str = "kWxPEV2UEDyxWpmPdKC3F4dgPDmOvfKX1HGnEUDS1aR";
const CORP: &str = "wx49f0ab532d5d035a";
const RANDOM: &[u8; 16] = b"1234567890123456";
const TIMESTAMP: &str = "1411525903";
const NONCE: &str = "461056294";

/// A message that another implementation encrypted.
const XML_TEXT: &str = "<xml><Event><![CDATA[change_contact]]></Event><ChangeType>delete_user</ChangeType><UserID><![CDATA[zhangsan]]></UserID></xml>";
const XML_MESSAGE: SealedMessage<'static> = SealedMessage {
    signature: "17cf61434cd5677fc7278b60608f1ec0a155c0c2",
    timestamp: TIMESTAMP,
    nonce: NONCE,
    encrypted: "9s4gMv99m88kKTh/H8IdkJiXl/mCfMvZo2Fwru5bly1lIyuNQTD+VlXxrfflYaBSOfpK1U56zt5Fz5qT2Dv/8fYFQKzlrwOkAtHiYQ8U3QAfyvNjAER48tVB/ZilHjqrvk3fQCE2YDRHZKxvWNNFX/L8REAamXKy+0xi9dnkx6LPg1+33Hn97dg7wcqpf2xIeRPS9WZSPij1dRACtB12lRnBG5twldJkSIyklahSMJoQZRTH3lzwMeOV0tcEa//V",
};

fn wecom() -> Envelope {
    Envelope::new("123456".to_owned(), KEY).unwrap()
}

fn open(envelope: &Envelope, message: &SealedMessage<'_>, receiver: &str) -> Result<String, InboundError> {
    envelope.verify(message)?.open(&[receiver]).map(|opened| opened.text)
}

/// Signs what is already encrypted.
fn open_bytes(bytes: &[u8]) -> Result<String, InboundError> {
    let encrypted = STANDARD.encode(bytes);
    let signature = wecom().sign(TIMESTAMP, NONCE, &encrypted);
    let message = SealedMessage { signature: &signature, timestamp: TIMESTAMP, nonce: NONCE, encrypted: &encrypted };
    open(&wecom(), &message, CORP)
}

fn encrypt(content: &[u8]) -> Vec<u8> {
    let envelope = wecom();
    aes_cbc::encrypt(&envelope.key, &envelope.iv, content, Padding::To32)
}

#[test]
fn a_message_is_encrypted_and_signed_as_by_other_implementations() {
    let sealed = wecom().seal(XML_TEXT, CORP, RANDOM, TIMESTAMP, NONCE);
    assert_eq!((sealed.signature.as_str(), sealed.encrypted.as_str()), (XML_MESSAGE.signature, XML_MESSAGE.encrypted));
    assert_eq!(open(&wecom(), &XML_MESSAGE, CORP).as_deref(), Ok(XML_TEXT));
}

#[test]
fn messages_of_other_implementations_are_opened() {
    let echo = SealedMessage {
        signature: "dd6b9c95b495b3f7e2901bfbc76c664930ffdb96",
        timestamp: "1411443780",
        nonce: "437374425",
        encrypted: "4ByGGj+sVCYcvGeQYhaKIk1o0pQRNbRjxybjTGblXrBaXlTXeOo1+bXFXDQQb1o6co6Yh9Bv41n7hOchLF6p+Q==",
    };
    assert_eq!(open(&wecom(), &echo, CORP).as_deref(), Ok("5927782489442352469"));

    let other_key = "4Ma3YBrSBbX2aez8MJpXGBne5LSDwgGqHbhM9WPYIws";
    let other = Envelope::new("kjr2TKI8umCBfVF3wAHk8JiPwma5VBme".to_owned(), other_key).unwrap();
    let echo = SealedMessage {
        signature: "1ba3cb09c0d2c2b3ed6900d37f91a6efae6cb011",
        timestamp: "1583940690",
        nonce: "VHh7ymSeb0jc4lSb",
        encrypted: "6KmUQuPVu7UhjyVqRdbo5SfcRqaHvbUlKSHFvBV2ZuR6TIlKsygcfeSd1GDplg1C5KSKr6UPHCaC/nIX3ZNt9w==",
    };
    assert_eq!(open(&other, &echo, "ww6a112864f8022910").as_deref(), Ok("94966531020182955848408"));

    // Padded with 31 bytes, more than a block.
    let dingtalk = Envelope::new("mryue".to_owned(), "Yue0EfdN5900c1ce5cf6A152c63DDe1808a60c5ecd7").unwrap();
    let check = SealedMessage {
        signature: "03044561471240d4a14bb09372dfcfd4fd0e40cb",
        timestamp: "1608001896814",
        nonce: "WL4PK6yA",
        encrypted: "0vJiX6vliEpwG3U45CtXqi+m8PXbQRARJ8p8BbDuD1EMTDf0jKpQ79QS93qEk7XHpP6u+oTTrd15NRPvNvmBKyDCYxxOK+HZeKju4yhELOFchzNukR+t8SB/qk4ROMu3",
    };
    assert_eq!(open(&dingtalk, &check, "ding6ccabc44d2c8d38b").as_deref(), Ok(r#"{"EventType":"check_url"}"#));
}

#[test]
fn a_key_is_43_characters_and_its_spare_bits_do_not_matter() {
    let key = |key: &str| Envelope::new("token".to_owned(), key).map(|envelope| envelope.key);
    assert_eq!(key(KEY), key(&KEY.replace("1aR", "1aQ")), "the last two bits");
    assert_ne!(key(KEY), key(&KEY.replace("1aR", "1aU")));
    for wrong in ["", &format!("{KEY}="), &format!("{KEY}A"), &KEY.replace('R', ""), &KEY.replace('R', "-")] {
        assert_eq!(key(wrong), Err(InvalidEnvelope::Key), "{wrong}");
    }
    assert_eq!(Envelope::new(String::new(), KEY).err(), Some(InvalidEnvelope::Token));
    assert_eq!(format!("{:?}", wecom()), "Envelope");
}

#[test]
fn the_signature_covers_everything() {
    let shorter = XML_MESSAGE.encrypted.get(4..).unwrap();
    for changed in [
        SealedMessage { signature: "", ..XML_MESSAGE },
        SealedMessage { signature: "17cf61434cd5677fc7278b60608f1ec0a155c0c3", ..XML_MESSAGE },
        SealedMessage { signature: "17CF61434CD5677FC7278B60608F1EC0A155C0C2", ..XML_MESSAGE },
        SealedMessage { timestamp: "1411525904", ..XML_MESSAGE },
        SealedMessage { nonce: "461056295", ..XML_MESSAGE },
        SealedMessage { encrypted: shorter, ..XML_MESSAGE },
        SealedMessage { encrypted: "", ..XML_MESSAGE },
    ] {
        assert_eq!(open(&wecom(), &changed, CORP), Err(InboundError::Signature), "{changed:?}");
    }
    let other = Envelope::new("1234567".to_owned(), KEY).unwrap();
    assert_eq!(open(&other, &XML_MESSAGE, CORP), Err(InboundError::Signature));
}

#[test]
fn a_message_to_another_receiver_is_refused() {
    for other in ["ww6a112864f8022910", "wx49f0ab532d5d035", "wx49f0ab532d5d035aa", "WX49F0AB532D5D035A", ""] {
        assert_eq!(open(&wecom(), &XML_MESSAGE, other), Err(InboundError::Receiver), "{other}");
    }
    let unaddressed = wecom().seal("text", "", RANDOM, TIMESTAMP, NONCE);
    let message = SealedMessage { signature: &unaddressed.signature, encrypted: &unaddressed.encrypted, ..XML_MESSAGE };
    assert_eq!(open(&wecom(), &message, ""), Err(InboundError::Receiver), "no receiver is no receiver");
    let opened = wecom().verify(&XML_MESSAGE).unwrap().open(&["someone", CORP]).unwrap();
    assert_eq!(opened.receiver, CORP);
}

#[test]
fn everything_that_cannot_be_decrypted_is_the_same_error() {
    let whole = STANDARD.decode(XML_MESSAGE.encrypted).unwrap();
    let length = |length: u32| encrypt(&[RANDOM.as_slice(), &length.to_be_bytes(), b"text", CORP.as_bytes()].concat());
    assert_eq!(open_bytes(&length(4)).as_deref(), Ok("text"));
    for broken in [
        Vec::new(),
        vec![0; 15],
        vec![0; 16],
        vec![0; 32],
        whole.get(..whole.len() - 1).unwrap().to_vec(),
        whole.get(..whole.len() - 16).unwrap().to_vec(),
        encrypt(b""),
        encrypt(RANDOM),
        encrypt(&[RANDOM.as_slice(), &[0, 0, 0]].concat()),
        length(23),
        length(u32::MAX),
        encrypt(&[RANDOM.as_slice(), &[0, 0, 0, 2, 0xc3, 0x28], CORP.as_bytes()].concat()),
    ] {
        assert_eq!(open_bytes(&broken), Err(InboundError::Malformed), "{broken:?}");
    }
    let message = |encrypted: &str| {
        let signature = wecom().sign(TIMESTAMP, NONCE, encrypted);
        open(&wecom(), &SealedMessage { signature: &signature, encrypted, ..XML_MESSAGE }, CORP)
    };
    assert_eq!(message("not base64"), Err(InboundError::Malformed));
    assert_eq!(message(&format!("{}\n", XML_MESSAGE.encrypted)), Err(InboundError::Malformed));
}

proptest! {
    #[test]
    fn a_sealed_message_opens_for_its_receiver_only(
        text in "\\PC{0,99}",
        receiver in "[a-z0-9]{1,20}",
        other in "[a-z0-9]{1,20}",
        random: [u8; 16],
        nonce in "[!-~]{0,20}",
    ) {
        let sealed = wecom().seal(&text, &receiver, &random, TIMESTAMP, &nonce);
        let SealedReply { signature, encrypted } = &sealed;
        let message = SealedMessage { signature, timestamp: TIMESTAMP, nonce: &nonce, encrypted };
        prop_assert_eq!(open(&wecom(), &message, &receiver), Ok(text.clone()));
        prop_assert_eq!(open(&wecom(), &message, &other).is_ok(), other == receiver);
    }

    #[test]
    fn a_flipped_bit_breaks_the_signature(at in 0..256_usize, bit in 0..7_u32) {
        let mut encrypted = XML_MESSAGE.encrypted.as_bytes().to_vec();
        if let Some(byte) = encrypted.get_mut(at) {
            *byte ^= 1 << bit;
        }
        let encrypted = String::from_utf8(encrypted).unwrap();
        let message = SealedMessage { encrypted: &encrypted, ..XML_MESSAGE };
        prop_assert_eq!(open(&wecom(), &message, CORP), Err(InboundError::Signature));
    }

    /// With the right signature, as if the token had been guessed.
    #[test]
    fn arbitrary_bytes_open_nothing(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(open_bytes(&bytes).is_err());
    }
}
