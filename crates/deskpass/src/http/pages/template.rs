//! Page templates: both languages in one file, with placeholders.
//!
//! `[[English|中文]]` stands for one of the two, anywhere in the file; `{{assets}}` for the base address of this version's assets;
//! `{{client}}` for the client that the page belongs to.

use crate::config::Language;

/// Renders a page in one language.
pub(super) fn resolve(template: &str, language: Language, assets: &str, client: &str) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, choice, after)) = next(rest) {
        text.push_str(before);
        text.push_str(language.of(choice));
        rest = after;
    }
    text.push_str(rest);
    text.replace("{{assets}}", assets).replace("{{client}}", client)
}

/// The text before the next choice, its two wordings, and the text after it.
fn next(text: &str) -> Option<(&str, [&str; 2], &str)> {
    let (before, inside) = text.split_once("[[")?;
    let (choice, after) = inside.split_once("]]")?;
    let (english, chinese) = choice.split_once('|')?;
    Some((before, [english, chinese], after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_two_languages_one_place_of_assets_and_a_client() {
        let page =
            "<html lang=\"[[en|zh-CN]]\"><link href=\"{{assets}}/a.css\">[[Sign\nin|登录]] [x] | {y} [[|无]]{{client}}";
        let of = |language| resolve(page, language, "/assets/1", "h5");
        assert_eq!(of(Language::En), "<html lang=\"en\"><link href=\"/assets/1/a.css\">Sign\nin [x] | {y} h5");
        assert_eq!(of(Language::Zh), "<html lang=\"zh-CN\"><link href=\"/assets/1/a.css\">登录 [x] | {y} 无h5");
    }

    /// An incomplete choice is left as it is, where the test of the pages finds it.
    #[test]
    fn a_broken_choice_stays() {
        for broken in ["a [[b", "a [[b|c", "a [[b]] c", "]] [["] {
            assert_eq!(resolve(broken, Language::Zh, "", ""), broken);
        }
    }
}
