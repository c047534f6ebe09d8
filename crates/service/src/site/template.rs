//! Page templates: both languages in one file, with placeholders.
//!
//! `[[English|中文]]` stands for one of the two, anywhere in the file; `{{assets}}` for the base address of this version's assets;
//! `{{client}}` for the client that the page belongs to; `{{reason}}` for the error that it shows; `{{name}}`, `{{logo}}` and
//! `{{brand}}` for the name of the company, the asset with its logo, and the link to its style sheet; `{{replies}}` for whether
//! replies to messages are on or off; `{{tabs}}` for whether tabs can share a session or stay apart.

use super::PageSwitches;
use super::brand::Brand;
use crate::config::Language;

/// The values of the placeholders.
pub(super) struct PageValues<'a> {
    pub(super) assets: &'a str,
    pub(super) client: &'a str,
    pub(super) reason: &'a str,
    pub(super) brand: &'a Brand,
    pub(super) switches: PageSwitches,
}

/// Renders a page in one language.
pub(super) fn resolve(template: &str, language: Language, values: &PageValues<'_>) -> String {
    let PageValues { assets, client, reason, brand, switches } = *values;
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, choice, after)) = next(rest) {
        text.push_str(before);
        text.push_str(language.of(choice));
        rest = after;
    }
    text.push_str(rest);
    let style = format!("<link rel=\"stylesheet\" href=\"{assets}/brand.css\">\n");
    // The name comes last: it is the operator's own text, in which nothing is replaced.
    text.replace("{{brand}}", if brand.has_style() { &style } else { "" })
        .replace("{{logo}}", brand.logo())
        .replace("{{assets}}", assets)
        .replace("{{client}}", client)
        .replace("{{reason}}", reason)
        .replace("{{replies}}", if switches.replies { "on" } else { "off" })
        .replace("{{tabs}}", if switches.has_foreign_scripts() { "apart" } else { "shared" })
        .replace("{{name}}", &escaped(brand.name.as_deref().unwrap_or("deskpass")))
}

/// A text in HTML, also in the value of an attribute.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
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
        let page = "<html lang=\"[[en|zh-CN]]\"><link href=\"{{assets}}/a.css\">[[Sign\nin|登录]] [x] | {y} [[|无]]{{client}} {{replies}} {{tabs}}";
        let brand = Brand::default();
        let values = PageValues {
            assets: "/assets/1",
            client: "h5",
            reason: "",
            brand: &brand,
            switches: PageSwitches { replies: true, ..PageSwitches::default() },
        };
        let of = |language| resolve(page, language, &values);
        assert_eq!(
            of(Language::En),
            "<html lang=\"en\"><link href=\"/assets/1/a.css\">Sign\nin [x] | {y} h5 on shared"
        );
        assert_eq!(
            of(Language::Zh),
            "<html lang=\"zh-CN\"><link href=\"/assets/1/a.css\">登录 [x] | {y} 无h5 on shared"
        );
    }

    /// An incomplete choice is left as it is, where the test of the pages finds it.
    #[test]
    fn a_broken_choice_stays() {
        for broken in ["a [[b", "a [[b|c", "a [[b]] c", "]] [["] {
            let values = PageValues {
                assets: "",
                client: "",
                reason: "",
                brand: &Brand::default(),
                switches: PageSwitches::default(),
            };
            assert_eq!(resolve(broken, Language::Zh, &values), broken);
        }
    }

    #[test]
    fn a_name_is_text_whatever_it_contains() {
        let brand = Brand { name: Some("<b>\"A&B\" {{client}}".to_owned()), ..Brand::default() };
        let values = PageValues {
            assets: "/assets/1",
            client: "h5",
            reason: "",
            brand: &brand,
            switches: PageSwitches::default(),
        };
        let page = resolve("{{brand}}{{logo}} {{name}}", Language::En, &values);
        assert_eq!(page, "mark.svg &lt;b&gt;&quot;A&amp;B&quot; {{client}}");
    }
}
