//! The value of every setting from its strongest source.

use deskpass_core::PermissionMatrix;

use super::declaration::Profile;
use super::keys::find;
use super::layers::Layers;
use super::oidc_clients::{self, ListedClient};
use super::origin::Origin;
use super::problem::{ConfigError, ConfigProblem};
use super::raw::RawSetting;
use super::role_rules::ListedRule;
use super::section::{Resolver, Section as _, SettingEntry};
use super::settings::{Development, Settings, SettingsEntries};
use super::sources::Sources;
use super::{environment, file, matrix, nearest};

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
    pub(super) matrix: PermissionMatrix,
    /// The clients of OpenID Connect in the settings file, without those that are invalid.
    pub(super) oidc_clients: Vec<ListedClient>,
    /// The role rules of the settings file, without those that are invalid.
    pub(super) role_rules: Vec<ListedRule>,
}

/// Finds the value of every setting in its strongest source. Problems are kept for [`ResolvedSettings::check`].
#[must_use]
pub fn resolve(sources: &Sources<'_>) -> ResolvedSettings {
    let mut layers = gather(sources);
    let mut problems = std::mem::take(&mut layers.problems);
    let oidc_clients = std::mem::take(&mut layers.oidc_clients);
    let role_rules = std::mem::take(&mut layers.role_rules);
    let profile = profile(&layers);
    problems.extend(oidc_clients::violations(&oidc_clients, profile == Profile::Production));
    let mut resolver = Resolver::new(&layers, profile);
    let settings = Settings::resolve(&mut resolver);
    problems.extend(resolver.problems);
    let matrix = matrix::load_effective(&settings.access.matrix_file, sources).unwrap_or_else(|of_the_file| {
        problems.extend(of_the_file);
        PermissionMatrix::built_in()
    });
    let (entries, complete) = (resolver.entries, !layers.file_unread);
    ResolvedSettings { settings, entries, problems, complete, matrix, oidc_clients, role_rules }
}

/// Reads every source, weakest first.
fn gather(sources: &Sources<'_>) -> Layers {
    let mut layers = Layers::default();
    file::read(sources, &mut layers);
    environment::read(sources, &mut layers);
    for given in &sources.overrides {
        let origin = Origin::Flag(given.flag);
        match find(given.key) {
            Some(key) => layers.set(key, RawSetting::Untyped(given.value.clone()), origin),
            None => layers.problems.push(nearest::unknown_key(given.key, &origin)),
        }
    }
    layers
}

/// Determines the profile first, because defaults depend on it. An invalid value counts as production here, and is
/// reported like any other.
fn profile(layers: &Layers) -> Profile {
    let development = Development::resolve(&mut Resolver::new(layers, Profile::Production));
    if development.enabled.value == Some(true) { Profile::Development } else { Profile::Production }
}

impl ResolvedSettings {
    /// The settings as a table, one `key = value   # origin` per line, secrets masked.
    #[must_use]
    pub fn show(&self) -> String {
        let keys = self.entries.iter().map(|entry| (entry.key.name.to_owned(), entry.shown(), &entry.origin));
        let clients = self.oidc_clients.iter().map(|listed| (listed.name(), listed.shown(), &listed.origin));
        let rules = self.role_rules.iter().map(|listed| (listed.name(), listed.shown(), &listed.origin));
        let rows: Vec<_> = keys.chain(clients).chain(rules).collect();
        let names = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or_default();
        let widths = rows.iter().map(|(_, value, _)| value.chars().count());
        let values = widths.filter(|width| *width <= MAX_VALUE_COLUMN).max().unwrap_or_default();
        let line = |(name, value, origin): &(String, String, &Origin)| {
            format!("{name:names$} = {value:values$}   # {origin}\n")
        };
        rows.iter().map(line).collect()
    }

    /// The access matrix in force. Missing required settings of production do not affect it. The error has all problems of the
    /// given settings: an unreadable source may name the matrix.
    pub fn matrix(&self) -> Result<&PermissionMatrix, ConfigError> {
        if self.problems.is_empty() { Ok(&self.matrix) } else { Err(ConfigError { problems: self.problems.clone() }) }
    }
}
