use data_encoding::HEXLOWER;
use proptest::prelude::*;

use super::*;

/// The secret of the examples in both RFCs.
const SECRET: &[u8; 20] = b"12345678901234567890";

/// RFC 4226, appendix D: the hash, the truncated value, and the code, for the counts from 0 to 9.
const HOTP: [(&str, u32, &str); 10] = [
    ("cc93cf18508d94934c64b65d8ba7667fb7cde4b0", 0x4c93_cf18, "755224"),
    ("75a48a19d4cbe100644e8ac1397eea747a2d33ab", 0x4139_7eea, "287082"),
    ("0bacb7fa082fef30782211938bc1c5e70416ff44", 0x082f_ef30, "359152"),
    ("66c28227d03a2d5529262ff016a1e6ef76557ece", 0x66ef_7655, "969429"),
    ("a904c900a64b35909874b33e61c5938a8e15ed1c", 0x61c5_938a, "338314"),
    ("a37e783d7b7233c083d4f62926c7a25f238d0316", 0x33c0_83d4, "254676"),
    ("bc9cd28561042c83f219324d3c607256c03272ae", 0x7256_c032, "287922"),
    ("a4fb960c0bc06e1eabb804e5b397cdc4b45596fa", 0x04e5_b397, "162583"),
    ("1b3c89f65e6c9e883012052823443f048b4332db", 0x2823_443f, "399871"),
    ("1637409809a679dc698207310c8c7fc07290d9e5", 0x2679_dc69, "520489"),
];

/// RFC 6238, appendix B: seconds, step, and the eight digits under SHA-1.
const TOTP: [(i64, i64, &str); 6] = [
    (59, 0x1, "94287082"),
    (1_111_111_109, 0x0235_23ec, "07081804"),
    (1_111_111_111, 0x0235_23ed, "14050471"),
    (1_234_567_890, 0x0273_ef07, "89005924"),
    (2_000_000_000, 0x03f9_40aa, "69279037"),
    (20_000_000_000, 0x27bc_86aa, "65353130"),
];

fn seconds(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn typed(code: &str) -> OneTimeCode {
    OneTimeCode::parse(code).unwrap_or_else(|| unreachable!("{code} is a code"))
}

#[test]
fn the_table_of_rfc_4226() {
    for (count, (hex, cut, code)) in (0i64..).zip(HOTP) {
        let hash = hash(SECRET, count);
        assert_eq!((&*HEXLOWER.encode(&hash), truncated(&hash)), (hex, cut), "count {count}");
        assert_eq!(TotpSecret::from_bytes(*SECRET).code_at(TotpStep::from_number(count)), code, "count {count}");
    }
}

#[test]
fn the_table_of_rfc_6238() {
    for (time, step, code) in TOTP {
        assert_eq!(TotpStep::at(seconds(time)).number(), step, "{time}");
        assert_eq!(format_code(hotp(SECRET, step, 8), 8), code, "{time}");
        assert_eq!(
            TotpSecret::from_bytes(*SECRET).code_at(TotpStep::from_number(step)),
            code.get(2..).unwrap_or_default(),
            "{time}"
        );
    }
}

#[test]
fn truncation_reads_at_every_offset() {
    let ending = |last| [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0x96, 17, 18, 19, last];
    assert_eq!(truncated(&ending(0xff)), 0x1611_1213);
    assert_eq!(truncated(&ending(0xf0)), 0x0102_0304);
}

#[test]
fn steps_begin_every_thirty_seconds_beyond_32_bits() {
    for (time, step) in [(0, 0), (29, 0), (30, 1), (1 << 31, 71_582_788), (1 << 32, 143_165_576), (-1, -1)] {
        assert_eq!(TotpStep::at(seconds(time)).number(), step);
    }
    let code = |time| TotpSecret::from_bytes(*SECRET).code_at(TotpStep::at(seconds(time)));
    assert_eq!((code(1 << 31), code(1 << 32)), ("703886".to_owned(), "791428".to_owned()));
    assert_eq!(TotpStep::at(Timestamp::from_millis(29_999)), TotpStep::NEVER);
}

#[test]
fn a_code_is_six_ascii_digits_and_nothing_else() {
    assert_eq!(typed("000000").0, 0);
    assert_eq!(typed("012345").0, 12_345);
    let wrong = [
        "",
        " 123456",
        "123456 ",
        "12345",
        "1234567",
        "１２３４５６",
        "١٢٣٤٥٦",
        "۱۲",
        "१२",
        "+12345",
        "-12345",
        "12 456",
        "123 456",
        "123-456",
        "12345a",
        "0x1234",
        "1e1234",
        "12345\n",
        "12345\0",
        "123.45",
        "①②",
        "²²²",
    ];
    for wrong in wrong {
        assert!(OneTimeCode::parse(wrong).is_none(), "{wrong:?}");
    }
}

#[test]
fn a_device_may_be_one_step_off_and_no_more() {
    let (seed, now) = (TotpSecret::from_bytes(*SECRET), seconds(1_800_000_000));
    let here = TotpStep::at(now).number();
    for (off, accepted) in [(-2, false), (-1, true), (0, true), (1, true), (2, false)] {
        let step = TotpStep::from_number(here + off);
        let found = seed.step_of(typed(&seed.code_at(step)), now, TotpStep::NEVER);
        assert_eq!(found, accepted.then_some(step), "{off} steps off");
    }
}

#[test]
fn a_step_counts_only_after_the_last_used_step() {
    let (seed, now) = (TotpSecret::from_bytes(*SECRET), seconds(1_800_000_000));
    let [before, here, next] = TotpStep::at(now).with_neighbours();
    let code = typed(&seed.code_at(here));
    assert_eq!(seed.step_of(code, now, before), Some(here));
    assert_eq!(seed.step_of(code, now, here), None);
    assert_eq!(seed.step_of(code, now, next), None);
    assert_eq!(seed.step_of(typed(&seed.code_at(before)), now, here), None);
    assert_eq!(seed.step_of(typed(&seed.code_at(next)), now, here), Some(next));
}

#[test]
fn a_code_that_fits_two_steps_is_accepted_once() {
    // One in a million steps has the code of the step after the next.
    let (seed, number) = (TotpSecret::from_bytes(*SECRET), 153_567);
    assert_eq!(hotp(SECRET, number, 6), hotp(SECRET, number + 2, 6));
    let (code, now) = (typed(&seed.code_at(TotpStep::from_number(number))), seconds((number + 1) * 30));
    let used = seed.step_of(code, now, TotpStep::NEVER);
    assert_eq!(used, Some(TotpStep::from_number(number + 2)));
    assert_eq!(used.and_then(|used| seed.step_of(code, now, used)), None);
}

#[test]
fn the_seed_is_given_as_base_32_and_as_an_address() {
    let seed = TotpSecret::from_bytes(*SECRET);
    assert_eq!(seed.base32(), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
    let read = |text: &str| TotpSecret::from_base32(text).map(|seed| seed.0);
    assert_eq!(read(&seed.base32()), Some(*SECRET));
    assert_eq!(
        seed.otpauth_uri("Deskpass", "user01"),
        "otpauth://totp/Deskpass:user01?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Deskpass&algorithm=SHA1&digits=6&period=30"
    );
}

#[test]
fn every_letter_is_read_in_either_case() {
    for text in ["ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "abcdefghijklmnopqrstuvwxyz234567"] {
        let bytes = TotpSecret::from_base32(text).map(|seed| HEXLOWER.encode(seed.bytes()));
        assert_eq!(bytes.as_deref(), Some("00443214c74254b635cf84653a56d7c675be77df"), "{text}");
    }
}

#[test]
fn what_is_no_seed_is_refused() {
    let letters = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJ";
    for end in
        ["", "QA", "QAAAAAAA", "=", "Q=", "0", "1", "8", "9", "-", " ", "é", "Ａ", "\u{17f}", "\u{212a}", "\u{141}"]
    {
        assert!(TotpSecret::from_base32(&format!("{letters}{end}")).is_none(), "{end:?}");
    }
    assert!(TotpSecret::from_base32("").is_none() && TotpSecret::from_base32(letters.split_at(16).0).is_none());
}

#[test]
fn names_are_escaped_in_the_address() {
    let address = TotpSecret::from_bytes(*SECRET).otpauth_uri("A: b&c=d/e?#%", "张 wei@x-y._~");
    let (label, rest) = ("A%3A%20b%26c%3Dd%2Fe%3F%23%25", "%E5%BC%A0%20wei%40x-y._~");
    assert!(address.starts_with(&format!("otpauth://totp/{label}:{rest}?secret=")), "{address}");
    assert!(address.contains(&format!("&issuer={label}&algorithm=")), "{address}");
}

#[test]
fn neither_seed_nor_code_prints_itself() {
    assert_eq!(format!("{:?} {:?}", TotpSecret::from_bytes(*SECRET), typed("123456")), "TotpSecret OneTimeCode");
}

#[test]
fn seeds_differ_and_need_entropy() {
    let seed = || TotpSecret::generate(&Entropy::system()).map(|seed| *seed.bytes());
    assert_ne!(seed(), seed());
    assert!(TotpSecret::generate(&Entropy::from_fn(|_| Err(NoEntropy))).is_err());
}

proptest! {
    #[test]
    fn a_seed_is_read_as_it_is_written(seed: [u8; 20]) {
        let text = TotpSecret::from_bytes(seed).base32();
        // RFC 4648, section 6: five bits each, the most significant first.
        let letters = (0..32).map(|at| (0..5).fold(0, |value, bit| {
            let bit = at * 5 + bit;
            value << 1 | (seed.get(bit / 8).map_or(0, |byte| byte >> (7 - bit % 8) & 1))
        }));
        let letter = |value: u8| char::from(if value < 26 { b'A' + value } else { b'2' - 26 + value });
        prop_assert_eq!(&text, &letters.map(letter).collect::<String>());
        for text in [text.to_lowercase(), text] {
            prop_assert_eq!(TotpSecret::from_base32(&text).map(|read| read.0), Some(seed));
        }
    }

    /// Any sequence of attempts, in any order and with repetitions.
    #[test]
    fn no_step_is_accepted_twice(seed: [u8; 20], tries in prop::collection::vec((0..8i64, -3..=3i64), 1..60)) {
        let seed = TotpSecret::from_bytes(seed);
        let (mut last, mut accepted) = (TotpStep::NEVER, Vec::new());
        let mut now = 1_800_000_000;
        for (later, off) in tries {
            now += later * 5;
            let meant = TotpStep::from_number(TotpStep::at(seconds(now)).number() + off);
            if let Some(step) = seed.step_of(typed(&seed.code_at(meant)), seconds(now), last) {
                prop_assert!(!accepted.contains(&step) && step > last);
                prop_assert!((step.number() - TotpStep::at(seconds(now)).number()).abs() <= 1);
                accepted.push(step);
                last = step;
            }
        }
    }

    #[test]
    fn every_displayed_code_parses(seed: [u8; 20], step: i64) {
        let code = TotpSecret::from_bytes(seed).code_at(TotpStep::from_number(step));
        prop_assert_eq!(OneTimeCode::parse(&code).map(|read| read.0), code.parse().ok());
    }

    #[test]
    fn arbitrary_times_and_texts_never_panic(seed: [u8; 20], now: i64, after: i64, text in "\\PC{0,12}") {
        let code = OneTimeCode::parse(&text).unwrap_or(OneTimeCode(0));
        let _ = TotpSecret::from_bytes(seed).step_of(code, Timestamp::from_millis(now), TotpStep::from_number(after));
        let _ = TotpSecret::from_bytes(seed).otpauth_uri(&text, &text);
    }
}
