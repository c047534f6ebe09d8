//! Colours, and whether text in them can be read.

use super::newtype::newtype;
use crate::config::raw::quoted;

/// The least contrast of text with its background (WCAG 2, level AA).
const READABLE: f64 = 4.5;

newtype! {
    /// The accent colour of the pages: dark enough for text on white, and for white text on it.
    pub struct AccentColour(Colour) as Colour {
        secret: false,
        expected: |_| r##"a colour such as "#0d6b5c""##.to_owned(),
        parse: |raw| readable(raw.text()?),
    }
}

/// A colour: red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour([u8; 3]);

impl std::fmt::Display for Colour {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [red, green, blue] = self.0;
        write!(out, "#{red:02x}{green:02x}{blue:02x}")
    }
}

impl Colour {
    const BLACK: Self = Self([0; 3]);
    pub(crate) const WHITE: Self = Self([255; 3]);

    /// Parses `#rrggbb`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6 && digits.is_ascii())?;
        let value = u32::from_str_radix(digits, 16).ok()?;
        let [_, rgb @ ..] = value.to_be_bytes();
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(Self(rgb))
    }

    /// The contrast ratio of two colours, from 1 to 21 (WCAG 2).
    pub(crate) fn contrast(self, other: Self) -> f64 {
        let (one, two) = (self.luminance() + 0.05, other.luminance() + 0.05);
        one.max(two) / one.min(two)
    }

    /// The first of the shades towards another colour that can be read on `ground`.
    pub(crate) fn readable_on(self, ground: Self, towards: Self) -> Self {
        let shades = (0..=100).map(|percent| self.mixed(towards, f64::from(percent) / 100.0));
        shades.into_iter().find(|shade| shade.contrast(ground) >= READABLE).unwrap_or(towards)
    }

    fn mixed(self, other: Self, share: f64) -> Self {
        let mut mixed = self.0;
        for (part, target) in mixed.iter_mut().zip(other.0) {
            let value = f64::from(*part) * (1.0 - share) + f64::from(target) * share;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between two bytes")]
            let value = value.round() as u8;
            *part = value;
        }
        Self(mixed)
    }

    fn luminance(self) -> f64 {
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        let [red, green, blue] = self.0.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
}

fn readable(text: &str) -> Result<Colour, String> {
    let colour = Colour::parse(text).ok_or_else(|| format!("{} is not a colour", quoted(text)))?;
    let contrast = colour.contrast(Colour::WHITE);
    if contrast >= READABLE {
        return Ok(colour);
    }
    let darker = colour.readable_on(Colour::WHITE, Colour::BLACK);
    Err(format!(
        "{colour} is too light: its contrast with white is {contrast:.1}, and text needs {READABLE}. {darker} would do"
    ))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn reads_six_digits_and_nothing_else() {
        assert_eq!(Colour::parse("#0D6b5c").unwrap().to_string(), "#0d6b5c");
        for text in ["", "#", "0d6b5c", "#0d6b5", "#0d6b5cc", "#0d6b5g", "#+d6b5c", "#０d6b", "teal"] {
            assert_eq!(Colour::parse(text), None, "{text}");
        }
    }

    #[test]
    fn contrast_is_that_of_the_standard() {
        assert!((Colour::BLACK.contrast(Colour::WHITE) - 21.0).abs() < 1e-9);
        let grey = Colour::parse("#767676").unwrap();
        assert!((4.54..4.55).contains(&grey.contrast(Colour::WHITE)));
        assert!((4.54..4.55).contains(&Colour::WHITE.contrast(grey)));
    }

    #[test]
    fn a_light_colour_is_refused_with_a_darker_one_that_would_do() {
        let problem = readable("#ffcc00").unwrap_err();
        assert!(problem.starts_with("#ffcc00 is too light: its contrast with white is 1.5"), "{problem}");
        let darker = problem.rsplit_once(". ").unwrap().1.strip_suffix(" would do").unwrap();
        assert_eq!(readable(darker).unwrap().to_string(), darker);
    }
}
