//! Generates `deskpass.example.toml` from the table.

use super::key::{DefaultSpec, SettingKey};
use super::table::KEYS;

/// Comments are wrapped before this column.
const WIDTH: usize = 100;

const PREFACE: &str = "\
Every setting of deskpass with its default. Copy this file to deskpass.toml and uncomment what \
you change. Stronger than the file are environment variables, and stronger than those the flags \
of the command line. `deskpass config check` validates, `deskpass config show` tells where each \
value came from.";

/// The example file: every key commented out, with its help, defaults and environment variable.
#[must_use]
pub fn example() -> String {
    let mut parts = vec![comment(PREFACE)];
    let mut current = None;
    for key in KEYS {
        let (section, _) = key.parts();
        if section != current {
            parts.extend(section.map(|name| format!("\n[{name}]\n")));
            current = section;
        }
        parts.push(paragraph(key));
    }
    parts.concat()
}

fn paragraph(key: &SettingKey) -> String {
    let (_, name) = key.parts();
    [
        "\n".to_owned(),
        comment(key.help),
        comment(&format!("Value: {}.", key.kind.expected())),
        comment(&defaults(key)),
        comment(&format!("Environment: {}.", variables(key))),
        // No space after the mark: this distinguishes a setting from the prose above it.
        format!("#{name} = {}\n", sample(key)),
    ]
    .concat()
}

/// Describes the profiles' defaults of a key. Empty if they are the same: the setting itself shows the value then.
fn defaults(key: &SettingKey) -> String {
    match key.default_spec {
        DefaultSpec::Same(_) => String::new(),
        DefaultSpec::PerProfile { development, production } => {
            format!("Default: {} in development, {} in production.", key.toml(development), key.toml(production))
        }
        DefaultSpec::RequiredInProduction { development, .. } => {
            let development = development.map_or("not set".to_owned(), |text| key.toml(text));
            format!("Default: {development} in development; required in production.")
        }
        DefaultSpec::Optional { development: Some(text), .. } => {
            format!("Default: {} in development, not set in production.", key.toml(text))
        }
        DefaultSpec::Optional { development: None, .. } => "Default: not set.".to_owned(),
    }
}

fn variables(key: &SettingKey) -> String {
    match key.file_variable() {
        Some(file) => format!("{}, or {file} with the path of a file that holds it", key.variable()),
        None => key.variable(),
    }
}

/// The sample value of a key: production's value, because a settings file is mostly for production.
fn sample(key: &SettingKey) -> String {
    match key.default_spec {
        DefaultSpec::Same(text)
        | DefaultSpec::PerProfile { production: text, .. }
        | DefaultSpec::RequiredInProduction { example: text, .. }
        | DefaultSpec::Optional { example: text, .. } => key.toml(text),
    }
}

/// Wraps prose into comment lines; empty prose results in no line.
fn comment(prose: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in prose.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("# {word}")),
        }
    }
    lines.iter().map(|line| line.clone() + "\n").collect()
}
