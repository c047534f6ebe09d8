//! Printed recovery codes that replace a lost device or password.

use data_encoding::BASE32_NOPAD_NOCASE;

use crate::{Digest, EmployeeKey, Entropy, NoEntropy, opaque_debug};

const CODE_BYTES: usize = 10;
const GROUP_CHARS: usize = 4;

/// A recovery code: 80 random bits, written as four groups of four letters.
#[derive(Clone)]
pub struct RecoveryCode([u8; CODE_BYTES]);

impl RecoveryCode {
    /// Generates a new code.
    pub fn generate(entropy: &Entropy) -> Result<Self, NoEntropy> {
        entropy.bytes().map(Self)
    }

    /// Parses a code as people type it: in either case, grouped or not, with digits for letters that look like them.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let letters: String = text.chars().filter(|letter| !is_separator(*letter)).map(fold_lookalike).collect();
        BASE32_NOPAD_NOCASE.decode(letters.as_bytes()).ok()?.try_into().ok().map(Self)
    }

    /// The text of the code as shown to the user, such as `abcd-efgh-ijkl-mnop`.
    #[must_use]
    pub fn text(&self) -> String {
        let letters = BASE32_NOPAD_NOCASE.encode(&self.0).to_ascii_lowercase();
        letters.char_indices().fold(String::new(), |text, (at, letter)| {
            let dash = if at > 0 && at % GROUP_CHARS == 0 { "-" } else { "" };
            format!("{text}{dash}{letter}")
        })
    }

    /// The stored digest of the code, valid only for `owner`. Without `key`, which is stored elsewhere, it cannot be guessed.
    #[must_use]
    pub fn digest(&self, key: &[u8; 32], owner: &EmployeeKey) -> Digest {
        Digest::of(&[b"deskpass spare code", key, owner.corp().as_bytes(), owner.id().as_bytes(), &self.0])
    }
}

opaque_debug!(RecoveryCode);

/// Whether a character only separates groups: a blank or a dash, including dashes that a word processor substitutes.
fn is_separator(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

/// Replaces a digit by the letter that looks like it. The alphabet has none of these digits, so the user misread a letter.
fn fold_lookalike(letter: char) -> char {
    match letter {
        '0' => 'o',
        '1' => 'i',
        '8' => 'b',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Option<[u8; 10]> {
        RecoveryCode::parse(text).map(|code| code.0)
    }

    #[test]
    fn a_code_is_sixteen_letters_in_four_groups() {
        assert_eq!(RecoveryCode([0; 10]).text(), "aaaa-aaaa-aaaa-aaaa");
        assert_eq!(RecoveryCode([0xff; 10]).text(), "7777-7777-7777-7777");
        assert_eq!(RecoveryCode(*b"foobarfoob").text(), "mzxw-6ytb-ojtg-633c");
    }

    #[test]
    fn typed_variants_of_a_code_are_accepted() {
        let code = Some(*b"foobarfoob");
        let spellings = [
            "mzxw-6ytb-ojtg-633c",
            "MZXW-6YTB-OJTG-633C",
            "mzxw6ytbojtg633c",
            " mzxw 6ytb ojtg 633c\n",
            "mZxW–6yTb—oJtG−633c",
            "mzxw6ytb0jtg633c",
            "mzxw-6yt8-ojtg-633c",
            "m-z-x-w-6-y-t-b-o-j-t-g-6-3-3-c",
            "mzxw\u{3000}6ytb\tojtg\u{a0}633c",
            "mzxw-6ytb-ojtg-633c-",
        ];
        for spelling in spellings {
            assert_eq!(read(spelling), code, "{spelling:?}");
        }
        assert_eq!(read("1iiI-IIII-1111-iiii"), read("iiii-iiii-iiii-iiii"));
    }

    #[test]
    fn texts_that_are_not_codes_are_refused() {
        let wrong = [
            "",
            "-",
            "mzxw-6ytb-ojtg-633",
            "mzxw-6ytb-ojtg-633cc",
            "mzxw_6ytb_ojtg_633c",
            "mzxw-6ytb-ojtg-6339",
            "mzxw-6ytb-ojtg-633=",
            "mzxw-6ytb",
            "mzxw-6ytb-ojtg-633c-aaaa-aaaa",
            "ｍzxw-6ytb-ojtg-633c",
            "mzxw-6ytb-ojtg-633\0c",
            "123456",
            "mzxw-6ytb-ojtg-633é",
        ];
        for wrong in wrong {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_code_does_not_print_itself_and_needs_entropy() {
        assert_eq!(format!("{:?}", RecoveryCode([0; 10])), "RecoveryCode");
        assert!(RecoveryCode::generate(&Entropy::from_fn(|_| Err(NoEntropy))).is_err());
        let fresh = || RecoveryCode::generate(&Entropy::system()).map(|code| code.0);
        assert_ne!(fresh(), fresh());
    }

    #[test]
    fn a_digest_depends_on_key_owner_and_code() {
        let owner = |corp, id| EmployeeKey::from_parts(corp, id);
        let digests = [
            RecoveryCode([1; 10]).digest(&[7; 32], &owner("ww", "user01")),
            RecoveryCode([2; 10]).digest(&[7; 32], &owner("ww", "user01")),
            RecoveryCode([1; 10]).digest(&[8; 32], &owner("ww", "user01")),
            RecoveryCode([1; 10]).digest(&[7; 32], &owner("ww", "user02")),
            RecoveryCode([1; 10]).digest(&[7; 32], &owner("wwu", "ser01")),
        ];
        for (at, digest) in digests.iter().enumerate() {
            assert_eq!(digests.iter().position(|same| same == digest), Some(at));
        }
        assert_eq!(
            RecoveryCode([1; 10]).digest(&[7; 32], &owner("ww", "user01")),
            *digests.first().unwrap_or_else(|| unreachable!())
        );
    }

    proptest! {
        #[test]
        fn a_code_round_trips(bytes: [u8; 10]) {
            let text = RecoveryCode(bytes).text();
            prop_assert_eq!(text.len(), 19);
            prop_assert_eq!(read(&text), Some(bytes));
            prop_assert_eq!(read(&text.to_uppercase()), Some(bytes));
            prop_assert_eq!(read(&text.replace('-', " ")), Some(bytes));
            prop_assert_eq!(read(&text.replace('o', "0").replace('i', "1").replace('b', "8")), Some(bytes));
        }

        #[test]
        fn another_letter_is_another_code(bytes: [u8; 10], at in 0..19usize, letter in "[a-z2-7]") {
            let mut near = RecoveryCode(bytes).text();
            prop_assume!(near.get(at..=at) != Some("-") && near.get(at..=at) != Some(letter.as_str()));
            near.replace_range(at..=at, &letter);
            prop_assert!(read(&near).is_some() && read(&near) != Some(bytes));
        }

        #[test]
        fn arbitrary_text_is_refused_without_panic(text in "\\PC{0,40}") {
            if let Some(code) = RecoveryCode::parse(&text) {
                prop_assert_eq!(read(&code.text()), Some(code.0));
            }
        }
    }
}
