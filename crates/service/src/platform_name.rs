//! The name of the platform in texts for people.

use deskpass_platform::PlatformKind;

use crate::config::Language;

/// Stands for the name of the platform in texts, which are written once for all platforms.
const PLACEHOLDER: &str = "{platform}";

/// Fills in the name of the platform, in the reader's language.
pub(crate) fn with_platform_name(text: String, kind: PlatformKind, language: Language) -> String {
    if text.contains(PLACEHOLDER) { text.replace(PLACEHOLDER, language.of(kind.title())) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_the_platform_in_the_readers_language() {
        for kind in PlatformKind::ALL {
            let [english, chinese] = kind.title();
            let named = |text: &str, language| with_platform_name(text.to_owned(), kind, language);
            assert_eq!(named("{platform} or {platform}", Language::En), format!("{english} or {english}"));
            assert_eq!(named("通过{platform}登录", Language::Zh), format!("通过{chinese}登录"));
            assert_eq!(named("{role} of the platform", Language::En), "{role} of the platform");
        }
    }
}
