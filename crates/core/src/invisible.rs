//! Characters that are invisible to people and change how a text looks.

/// Whether a character is invisible or reorders other characters: one line of a list could then look like another. Blanks that
/// are as wide as they look do not count.
#[must_use]
pub fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(character, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether a character looks like a space, or like nothing, and is not the plain space. Names may have some of them; where a person
/// decides by what a text says, they are to be spelled out.
#[must_use]
pub fn is_blank(character: char) -> bool {
    (character.is_whitespace() && character != ' ')
        || matches!(character, '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}')
        || matches!(character, '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{fffc}')
        || matches!(character, '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0080}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_format_characters_are_invisible() {
        let marks = ['\u{61c}', '\u{200e}', '\u{200f}', '\u{200b}', '\u{feff}', '\u{2028}', '\u{2029}'];
        let moving = ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}').chain(['\n', '\t', '\u{1b}', '\u{85}']);
        for character in marks.into_iter().chain(moving) {
            assert!(is_invisible(character), "{character:?}");
        }
    }

    #[test]
    fn what_looks_like_a_space_or_like_nothing_is_blank() {
        for character in ['\u{a0}', '\u{2003}', '\u{202f}', '\u{3000}', '\u{2800}', '\u{3164}', '\u{ffa0}', '\u{fe0f}']
        {
            assert!(is_blank(character), "{character:?}");
        }
        assert!(!"Zoë 张三 e\u{301} 👍🏽.".chars().any(is_blank));
    }

    #[test]
    fn characters_of_names_are_visible() {
        for character in
            "Zoë O\u{2019}Neil-Łuk 张三·阿不都 \u{3000}\u{a0}Дмитрий דוד محمد นภา e\u{301} 👍🏽\u{fffd}".chars()
        {
            assert!(!is_invisible(character), "{character:?}");
        }
    }
}
