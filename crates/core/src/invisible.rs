//! Characters that are invisible to people and change how a text looks.

/// Whether a character is invisible or reorders other characters: one line of a list could then look like another. Blanks that
/// are as wide as they look do not count.
#[must_use]
pub fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(character, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
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
    fn characters_of_names_are_visible() {
        for character in
            "Zoë O\u{2019}Neil-Łuk 张三·阿不都 \u{3000}\u{a0}Дмитрий דוד محمد นภา e\u{301} 👍🏽\u{fffd}".chars()
        {
            assert!(!is_invisible(character), "{character:?}");
        }
    }
}
