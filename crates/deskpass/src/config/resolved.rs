//! The value of every setting from its strongest source, and the check of the settings as a whole.

use std::collections::BTreeSet;
use std::path::PathBuf;

use deskpass_core::PermissionMatrix;

use super::gather::gather;
use super::key::Profile;
use super::layers::Layers;
use super::origin::Origin;
use super::problem::{ConfigError, ConfigProblem};
use super::section::{Resolver, Section as _, SettingEntry, SettingState};
use super::settings::{Development, Settings, SettingsEntries};
use super::sources::Sources;
use super::value::PASSWORD_MASK;
use super::{matrix, rules};

/// Values wider than this do not move the column of origins to the right.
const MAX_VALUE_COLUMN: usize = 40;

/// The state of every setting. It can be shown even if it does not pass [`ResolvedSettings::check`].
#[derive(Clone, Debug)]
pub struct ResolvedSettings {
    /// The settings by their fields.
    pub(super) settings: SettingsEntries,
    /// The same settings as a list.
    pub(super) entries: Vec<SettingEntry>,
    pub(super) problems: Vec<ConfigProblem>,
    /// Whether all sources could be read. Otherwise a missing value may be in an unread source.
    pub(super) complete: bool,
    /// The access matrix; the built-in one if the file that replaces it is invalid.
    matrix: PermissionMatrix,
}

/// Finds the value of every setting in its strongest source. Problems are kept for [`ResolvedSettings::check`].
#[must_use]
pub fn resolve(sources: &Sources<'_>) -> ResolvedSettings {
    let mut layers = gather(sources);
    let mut problems = std::mem::take(&mut layers.problems);
    let mut resolver = Resolver::new(&layers, profile(&layers));
    let settings = Settings::resolve(&mut resolver);
    problems.extend(resolver.problems);
    let matrix = matrix::load_effective(&settings.access.matrix_file, sources).unwrap_or_else(|of_the_file| {
        problems.extend(of_the_file);
        PermissionMatrix::built_in()
    });
    ResolvedSettings { settings, entries: resolver.entries, problems, complete: !layers.file_unread, matrix }
}

/// Determines the profile first, because defaults depend on it. An invalid value counts as production here, and is
/// reported like any other.
fn profile(layers: &Layers) -> Profile {
    let development = Development::resolve(&mut Resolver::new(layers, Profile::Production));
    if development.enabled.value == Some(true) { Profile::Development } else { Profile::Production }
}

impl ResolvedSettings {
    /// Checks the settings as a whole.
    ///
    /// # Errors
    ///
    /// All problems of the settings: unknown keys, invalid values, unsafe combinations.
    pub fn check(&self) -> Result<Settings, ConfigError> {
        let mut problems = self.problems.clone();
        if self.complete {
            problems.extend(rules::violations(self));
        }
        match Settings::build(&self.settings) {
            Some(mut settings) if problems.is_empty() => {
                settings.access.matrix = self.matrix.clone();
                settings.secret_files = self.secret_files();
                Ok(settings)
            }
            _ => Err(ConfigError::new(problems)),
        }
    }

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

    /// The files that secrets were read from, without duplicates. An address without a password is no secret.
    fn secret_files(&self) -> Vec<PathBuf> {
        let masked = |entry: &&SettingEntry| {
            let valid = matches!(entry.state, SettingState::Valid(_));
            entry.key.value_type.secret && valid && entry.shown().contains(PASSWORD_MASK)
        };
        let files = self.entries.iter().filter(masked).filter_map(|entry| match &entry.origin {
            Origin::File { path, .. } | Origin::SecretFile { path, .. } => Some(path.clone()),
            _ => None,
        });
        files.collect::<BTreeSet<_>>().into_iter().collect()
    }
}
