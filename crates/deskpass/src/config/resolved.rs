//! The value of every key from its strongest source, before the keys are checked together.

use std::collections::BTreeSet;
use std::path::PathBuf;

use deskpass_core::PermissionMatrix;

use super::gather::gather;
use super::key::{DefaultSpec, Profile, SettingKey};
use super::layers::{LayerValue, Layers};
use super::listen_address::connect_address;
use super::matrix;
use super::origin::Origin;
use super::problem::{ConfigError, ConfigProblem};
use super::raw::RawSetting;
use super::secret_url::PASSWORD_MASK;
use super::sources::Sources;
use super::table::{KEYS, find};
use super::value::{FromValue, Value};

/// Values wider than this do not move the column of origins to the right.
const MAX_VALUE_COLUMN: usize = 40;

/// The state of every setting. It can be shown even if it does not pass [`ResolvedSettings::check`].
#[derive(Clone, Debug)]
pub struct ResolvedSettings {
    entries: Vec<SettingEntry>,
    pub(super) problems: Vec<ConfigProblem>,
    /// Whether all sources could be read. Otherwise a missing value may be in an unread source.
    pub(super) complete: bool,
    /// The access matrix; the built-in one if the file that replaces it is invalid.
    pub(super) matrix: PermissionMatrix,
}

/// A key with its state.
#[derive(Clone, Debug)]
pub(super) struct SettingEntry {
    pub(super) key: &'static SettingKey,
    pub(super) state: SettingState,
    pub(super) origin: Origin,
}

/// The state of a key.
#[derive(Clone, Debug)]
pub(super) enum SettingState {
    Valid(Value),
    /// The value does not match the key's kind, which is already reported.
    Invalid,
    Unset,
}

/// Finds the value of every key in its strongest source. Problems are kept for [`ResolvedSettings::check`].
#[must_use]
pub fn resolve(sources: &Sources<'_>) -> ResolvedSettings {
    let mut layers = gather(sources);
    let profile = profile(&layers);
    let mut resolved = ResolvedSettings {
        entries: Vec::with_capacity(KEYS.len()),
        problems: std::mem::take(&mut layers.problems),
        complete: !layers.file_unread,
        matrix: PermissionMatrix::built_in(),
    };
    for key in KEYS {
        let entry = match layers.get(key) {
            Some(found) => resolved.given(key, found),
            None => resolved.defaulted(key, profile),
        };
        resolved.entries.push(entry);
    }
    let file =
        resolved.entry(matrix::KEY).and_then(|entry| Some((resolved.get::<PathBuf>(matrix::KEY)?, &entry.origin)));
    match matrix::load_effective(file, sources) {
        Ok(matrix) => resolved.matrix = matrix,
        Err(problems) => resolved.problems.extend(problems),
    }
    resolved
}

/// Determines the profile first, because defaults depend on it. An invalid value counts as production here, and is
/// reported like any other.
fn profile(layers: &Layers) -> Profile {
    let enabled = find("development.enabled").and_then(|key| key.kind.parse(layers.get(key)?.raw.as_ref()?).ok());
    match enabled {
        Some(Value::Flag(true)) => Profile::Development,
        _ => Profile::Production,
    }
}

impl ResolvedSettings {
    /// The settings as a table, one `key = value   # origin` per line, secrets masked.
    #[must_use]
    pub fn show(&self) -> String {
        let names = self.entries.iter().map(|entry| entry.key.name.len());
        let names = names.max().unwrap_or_default();
        let shown: Vec<_> = self.entries.iter().map(SettingEntry::shown).collect();
        let widths = shown.iter().map(|value| value.chars().count());
        let values = widths.filter(|width| *width <= MAX_VALUE_COLUMN).max();
        let values = values.unwrap_or_default();

        let line = |(entry, value): (&SettingEntry, &String)| {
            let (name, origin) = (entry.key.name, &entry.origin);
            format!("{name:names$} = {value:values$}   # {origin}\n")
        };
        let lines: Vec<_> = self.entries.iter().zip(&shown).map(line).collect();
        lines.concat()
    }

    /// The access matrix in force. Missing required settings of production do not affect it.
    ///
    /// # Errors
    ///
    /// All problems of the given settings: an unreadable source may name the matrix.
    pub fn matrix(&self) -> Result<&PermissionMatrix, ConfigError> {
        if self.problems.is_empty() { Ok(&self.matrix) } else { Err(ConfigError::new(self.problems.clone())) }
    }

    /// The state of the key with this name.
    pub(super) fn entry(&self, name: &str) -> Option<&SettingEntry> {
        self.entries.iter().find(|entry| entry.key.name == name)
    }

    /// The state of each key.
    pub(super) fn entries(&self) -> impl Iterator<Item = &SettingEntry> {
        self.entries.iter()
    }

    /// The files that secrets were read from, without duplicates.
    pub(super) fn secret_files(&self) -> Vec<PathBuf> {
        let secret = |entry: &&SettingEntry| entry.key.kind.is_secret() && entry.has_masked_part();
        let files = self.entries.iter().filter(secret).filter_map(|entry| match &entry.origin {
            Origin::File { path, .. } | Origin::SecretFile { path, .. } => Some(path.clone()),
            _ => None,
        });
        files.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The valid value of the key with this name, as the type that the caller needs.
    pub(super) fn get<T: FromValue>(&self, name: &str) -> Option<T> {
        match &self.entry(name)?.state {
            SettingState::Valid(value) => T::from_value(value),
            SettingState::Invalid | SettingState::Unset => None,
        }
    }

    fn given(&mut self, key: &'static SettingKey, found: &LayerValue) -> SettingEntry {
        let origin = found.origin.clone();
        let state = match found.raw.as_ref().map(|raw| key.kind.parse(raw)) {
            Some(Ok(value)) => SettingState::Valid(value),
            Some(Err(what)) => {
                let problem = ConfigProblem::bad_value(key, &origin, what);
                self.problems.push(problem);
                SettingState::Invalid
            }
            None => SettingState::Invalid,
        };
        SettingEntry { key, state, origin }
    }

    fn defaulted(&self, key: &'static SettingKey, profile: Profile) -> SettingEntry {
        let value = key.default(profile).and_then(|text| {
            let text = self.expand_placeholders(text)?;
            key.kind.parse(&RawSetting::Untyped(text)).ok()
        });
        let origin = match (&value, key.default_spec) {
            (None, DefaultSpec::RequiredInProduction { .. }) if profile == Profile::Production => {
                Origin::Missing(profile)
            }
            (None, _) | (_, DefaultSpec::Same(_)) => Origin::Default,
            _ => Origin::ProfileDefault(profile),
        };
        let state = value.map_or(SettingState::Unset, SettingState::Valid);
        SettingEntry { key, state, origin }
    }

    /// Expands the placeholders of a default; `None` if the setting that a placeholder stands for is invalid.
    fn expand_placeholders(&self, text: &str) -> Option<String> {
        let mut text = text.to_owned();
        if text.contains("{listen}") {
            text = text.replace("{listen}", &connect_address(self.get("listen")?).to_string());
        }
        if text.contains("{public_url}") {
            text = text.replace("{public_url}", &self.get::<String>("public_url")?);
        }
        Some(text)
    }
}

impl SettingEntry {
    /// Whether the entry has a value with a part that must be masked. An address without a password has none.
    fn has_masked_part(&self) -> bool {
        matches!(self.state, SettingState::Valid(_)) && self.shown().contains(PASSWORD_MASK)
    }

    fn shown(&self) -> String {
        match &self.state {
            SettingState::Valid(value) => value.to_string(),
            SettingState::Invalid => "(not valid)".to_owned(),
            SettingState::Unset => "(not set)".to_owned(),
        }
    }
}
