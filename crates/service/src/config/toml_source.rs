//! A TOML file, with the lines that its values stand in.

use std::ops::Range;
use std::path::Path;

use toml::de::{DeValue, Error};

use super::origin::Origin;
use super::problem::ConfigProblem;
use super::raw::RawSetting;

/// A TOML file with its path and its text.
pub(super) struct TomlSource<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl TomlSource<'_> {
    /// A problem for a syntax error. The error's own `Display` would quote the line, which may contain a secret.
    pub(super) fn syntax_error(&self, error: &Error, fix: &str) -> ConfigProblem {
        let origin = self.origin(error.span().unwrap_or_default());
        if error.message().starts_with("duplicate key")
            && let Some(key) = self.key_of_line(error.span().unwrap_or_default())
        {
            let what = format!("{key} stands in the file twice");
            return ConfigProblem::new(origin.to_string(), what, "remove one of the two");
        }
        let what = format!("this is not TOML: {}", error.message());
        ConfigProblem::new(origin.to_string(), what, fix)
    }

    /// The key, or the name of the section, in the line where a span begins. The rest of the line may be a secret.
    fn key_of_line(&self, span: Range<usize>) -> Option<&str> {
        let start = self.text.get(..span.start)?.rfind('\n').map_or(0, |end| end + 1);
        let line = self.text.get(start..)?.lines().next()?;
        let name = line.split(['=', ']']).next()?.trim().trim_start_matches('[').trim();
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        (!name.is_empty() && name.chars().all(plain)).then_some(name)
    }

    /// The line in which a span begins.
    pub(super) fn origin(&self, span: Range<usize>) -> Origin {
        let line = 1 + self.text.bytes().take(span.start).filter(|byte| *byte == b'\n').count();
        Origin::File { path: self.path.to_owned(), line }
    }
}

/// The value as it is written.
pub(super) fn raw(value: &DeValue<'_>) -> RawSetting {
    match value {
        DeValue::String(text) => RawSetting::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(RawSetting::Other("so large a number"), RawSetting::Integer),
        DeValue::Boolean(flag) => RawSetting::Boolean(*flag),
        DeValue::Array(items) => RawSetting::List(items.iter().map(|item| raw(item.get_ref())).collect()),
        DeValue::Float(_) => RawSetting::Other("a number with a fraction"),
        DeValue::Datetime(_) => RawSetting::Other("a date or time"),
        DeValue::Table(_) => RawSetting::Other("a section"),
    }
}
