//! Generates `deskpass.example.toml` from the declared settings.

use super::declaration::{CLIENTS, ROLE_RULES, SIMULATED};
use super::key::SettingKey;
use super::keys::KEYS;
use super::oidc_clients::client_key::{ABOUT, CLIENT_KEYS};
use super::role_rules::{ABOUT_RULES, RULE_KEYS};

/// Comments are wrapped before this column.
const WIDTH: usize = 100;

const PREFACE: &str = "\
Every setting of deskpass with its default. Copy this file to deskpass.toml and uncomment what you change. Environment \
variables override the file, and flags of the command line override both. `deskpass config check` validates the settings, \
`deskpass config show` prints each value with its source, `deskpass reload` applies changes to the running service.";

/// The section that ends with the clients.
const OIDC: &str = "oidc";

/// The section that ends with the role rules, which it applies.
const SYNC: &str = "sync";

/// The example file: every key commented out, with its help, defaults and environment variable.
#[must_use]
pub fn example() -> String {
    let mut parts = vec![comment(PREFACE)];
    let mut current = None;
    for key in KEYS.iter() {
        let (section, _) = key.parts();
        if section != current {
            parts.extend((current == Some(OIDC)).then(clients));
            parts.extend((current == Some(SYNC)).then(role_rules));
            parts.extend(section.map(|name| format!("\n[{name}]\n")));
            current = section;
        }
        parts.push(paragraph(key));
    }
    parts.concat()
}

/// An example of a client with all its keys.
fn clients() -> String {
    let mut parts = vec![format!("\n{}#[[{CLIENTS}]]\n", comment(ABOUT))];
    for key in &CLIENT_KEYS {
        let Some(sample) = key.sample else { continue };
        let (help, value) = (comment(key.help), comment(&format!("Value: {}.", key.expected)));
        parts.push(format!("\n{help}{value}#{} = {sample}\n", key.name));
    }
    parts.concat()
}

/// An example of a role rule. A key without a sample stands in place of another.
fn role_rules() -> String {
    let mut parts = vec![format!("\n{}#[[{ROLE_RULES}]]\n", comment(ABOUT_RULES))];
    for key in &RULE_KEYS {
        let (help, value) = (comment(key.help), comment(&format!("Value: {}.", key.expected)));
        let line = key.sample.map(|sample| format!("#{} = {sample}\n", key.name)).unwrap_or_default();
        parts.push(format!("\n{help}{value}{line}"));
    }
    parts.concat()
}

fn paragraph(key: &SettingKey) -> String {
    let (_, name) = key.parts();
    [
        "\n".to_owned(),
        comment(key.help),
        comment(&format!("Value: {}.", key.expected())),
        comment(&defaults(key)),
        comment(if key.restart { "A change takes effect after a restart." } else { "" }),
        comment(&format!("Environment: {}.", variables(key))),
        // No space after the mark: this distinguishes a setting from the prose above it.
        format!("#{name} = {}\n", key.toml(key.sample())),
    ]
    .concat()
}

/// Describes the defaults of a key. Empty if they are the same: the setting itself shows the value then.
fn defaults(key: &SettingKey) -> String {
    let written = |text: Option<&str>| match text {
        None => "not set".to_owned(),
        Some(SIMULATED) => "that of the simulated application".to_owned(),
        Some(text) => key.toml(text),
    };
    let (development, production) = (written(key.development), written(key.production));
    match (key.development, key.production) {
        _ if key.required => format!("Default: {development} in development; required in production."),
        (None, None) => "Default: not set.".to_owned(),
        (one, other) if one == other => String::new(),
        _ => format!("Default: {development} in development, {production} in production."),
    }
}

fn variables(key: &SettingKey) -> String {
    match key.file_variable() {
        Some(file) => format!("{}, or {file} with the path of a file that holds it", key.variable()),
        None => key.variable(),
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
