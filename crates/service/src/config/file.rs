//! The settings file.

use std::io::ErrorKind;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::declaration::{CLIENTS, ROLE_RULES};
use super::keys::{find, is_section};
use super::layers::Layers;
use super::nearest;
use super::oidc_clients;
use super::problem::ConfigProblem;
use super::role_rules;
use super::sources::Sources;
use super::toml_source::{TomlSource, raw};

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
        walk(&document, "", table.get_ref(), sources, layers);
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

/// Sets every key of a table; `section` is the name of the table.
fn walk(document: &TomlSource<'_>, section: &str, table: &DeTable<'_>, sources: &Sources<'_>, layers: &mut Layers) {
    for (name, value) in table {
        let full = match section {
            "" => name.get_ref().to_string(),
            _ => format!("{section}.{}", name.get_ref()),
        };
        let origin = document.origin(name.span());
        match (find(&full), value.get_ref()) {
            (Some(key), value) => layers.set(key, raw(value), origin),
            (None, value) if full == CLIENTS => {
                let (clients, problems) = oidc_clients::read(document, value, &origin, sources);
                layers.oidc_clients = clients;
                layers.problems.extend(problems);
            }
            (None, value) if full == ROLE_RULES => {
                let (rules, problems) = role_rules::read(document, value, &origin);
                layers.role_rules = rules;
                layers.problems.extend(problems);
            }
            (None, DeValue::Table(inner)) if !inner.is_empty() || is_section(&full) => {
                walk(document, &full, inner, sources, layers);
            }
            (None, _) => layers.problems.push(nearest::unknown_key(&full, &origin)),
        }
    }
}
