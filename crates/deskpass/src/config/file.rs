//! The settings file.

use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;

use toml::de::{DeTable, DeValue, Error};

use super::keys::{find, is_section};
use super::layers::Layers;
use super::nearest;
use super::origin::Origin;
use super::problem::ConfigProblem;
use super::raw::RawSetting;
use super::sources::Sources;

/// The file that is read if no other is given.
const DEFAULT_FILE: &str = "deskpass.toml";

/// Reads the settings file, if it exists.
pub(super) fn read(sources: &Sources<'_>, layers: &mut Layers) {
    let path = sources.file.as_deref().unwrap_or(Path::new(DEFAULT_FILE));
    let text = match (sources.read)(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound && sources.file.is_none() => return,
        Err(error) => {
            let what = format!("the settings file cannot be read: {error}");
            let fix = "see that it is there and readable, or name another with --config";
            layers.problems.push(ConfigProblem::new(path.display().to_string(), what, fix));
            layers.file_unread = true;
            return;
        }
    };
    let document = TomlSource { path, text: &text };
    let (table, errors) = DeTable::parse_recoverable(&text);
    if errors.is_empty() {
        document.walk("", table.get_ref(), layers);
    } else {
        // The part of a broken file that the parser recovered would only cause follow-up problems.
        layers.file_unread = true;
        for error in &errors {
            layers
                .problems
                .push(document.syntax_error(error, "`deskpass config example` shows how each key is written"));
        }
    }
}

/// A TOML file with its path and its text.
pub(super) struct TomlSource<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl TomlSource<'_> {
    /// Sets every key of a table; `section` is the name of the table.
    fn walk(&self, section: &str, table: &DeTable<'_>, layers: &mut Layers) {
        for (name, value) in table {
            let full = match section {
                "" => name.get_ref().to_string(),
                _ => format!("{section}.{}", name.get_ref()),
            };
            let origin = self.origin(name.span());
            match (find(&full), value.get_ref()) {
                (Some(key), value) => layers.set(key, raw(value), origin),
                (None, DeValue::Table(inner)) if !inner.is_empty() || is_section(&full) => {
                    self.walk(&full, inner, layers);
                }
                (None, _) => layers.problems.push(nearest::unknown_key(&full, &origin)),
            }
        }
    }

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

fn raw(value: &DeValue<'_>) -> RawSetting {
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
