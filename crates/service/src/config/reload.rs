//! What a reload changes: every setting, except those that the running service cannot change.

use super::declaration::{CLIENTS, ROLE_RULES};
use super::problem::ConfigError;
use super::resolved::ResolvedSettings;
use super::rules;
use super::section::Section as _;
use super::settings::Settings;

/// The settings that differ from those of the running service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsDiff {
    /// The names of those that a reload changes.
    pub reloaded: Vec<&'static str>,
    /// The names of those that stay as they are until the next start.
    pub need_restart: Vec<&'static str>,
}

impl Settings {
    /// The settings after a reload with `new`, and what differs. Settings that need a restart keep their values.
    #[must_use]
    pub fn reload(&self, mut new: Self) -> (Self, SettingsDiff) {
        let mut changed = Vec::new();
        self.changed_keys(&new, &mut changed);
        let mut diff = SettingsDiff::default();
        for key in changed {
            let list = if key.restart { &mut diff.need_restart } else { &mut diff.reloaded };
            list.push(key.name);
        }
        if self.access.matrix != new.access.matrix {
            diff.add_reloaded("access.matrix_file");
        }
        if self.oidc.clients != new.oidc.clients {
            diff.add_reloaded(CLIENTS);
        }
        if self.role_rules != new.role_rules {
            diff.add_reloaded(ROLE_RULES);
        }
        new.keep_fixed(self);
        (new, diff)
    }
}

impl ResolvedSettings {
    /// The sources after a reload, in which the settings that need a restart are those of the running service. The error has what is
    /// unsafe together then: each of both was checked by itself, and this mixture was not.
    pub fn keep_fixed(mut self, running: &Self) -> Result<Self, ConfigError> {
        Settings::keep_fixed_entries(&mut self.settings, &running.settings);
        let problems = rules::violations(&self);
        if problems.is_empty() { Ok(self) } else { Err(ConfigError { problems }) }
    }
}

impl SettingsDiff {
    /// Adds a setting whose file has other content under the same name.
    pub(crate) fn add_reloaded(&mut self, name: &'static str) {
        if !self.reloaded.contains(&name) {
            self.reloaded.push(name);
        }
    }
}
