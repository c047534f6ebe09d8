//! The language of the commands that speak both.

use std::ffi::OsString;

use clap::Args;

use crate::config::Language;

/// The language of the output.
#[derive(Args, Debug)]
pub(super) struct LanguageArgs {
    /// Language of the output [default: that of the environment, else that of the settings].
    #[arg(long, value_name = "LANGUAGE", value_parser = ["en", "zh"])]
    language: Option<String>,
}

impl LanguageArgs {
    /// The language that the operator asks for, if any.
    pub(super) fn requested(&self, environment: &[(OsString, OsString)]) -> Option<Language> {
        self.language.as_deref().map(language_of_tag).or_else(|| environment_language(environment))
    }
}

/// The language of a tag such as `zh` or `zh_CN.UTF-8`.
fn language_of_tag(tag: &str) -> Language {
    if tag.starts_with("zh") { Language::Zh } else { Language::En }
}

/// The environment's language counts only if it is Chinese: most servers have English as a default that no user chose.
fn environment_language(environment: &[(OsString, OsString)]) -> Option<Language> {
    let value = |wanted: &str| {
        let found = environment.iter().find(|(name, value)| name == wanted && !value.is_empty());
        found.map(|(_, value)| value.to_string_lossy())
    };
    let tag = value("LC_ALL").or_else(|| value("LC_MESSAGES")).or_else(|| value("LANG"))?;
    Some(language_of_tag(&tag)).filter(|language| *language == Language::Zh)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(environment: &[(&str, &str)]) -> Option<Language> {
        environment_language(&environment.iter().map(|(name, value)| (name.into(), value.into())).collect::<Vec<_>>())
    }

    #[test]
    fn the_environment_may_wish_for_chinese() {
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8")]), Some(Language::Zh));
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8"), ("LC_ALL", "")]), Some(Language::Zh));
        assert_eq!(of(&[("LANG", "en_US.UTF-8"), ("LC_ALL", "zh_TW")]), Some(Language::Zh));
        assert_eq!(of(&[("LANG", "en_US.UTF-8"), ("LC_MESSAGES", "zh_CN")]), Some(Language::Zh));
        for other in [
            &[("LANG", "zh_CN"), ("LC_ALL", "C")][..],
            &[("LANG", "zh_CN"), ("LC_MESSAGES", "en_US")],
            &[("LANG", "en_US.UTF-8")],
            &[("LANGUAGE", "zh")],
            &[],
        ] {
            assert_eq!(of(other), None, "{other:?}");
        }
    }
}
