//! The check of the settings as a whole.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::origin::Origin;
use super::problem::ConfigError;
use super::resolved::ResolvedSettings;
use super::rules;
use super::section::{Section as _, SettingEntry, SettingState};
use super::settings::Settings;
use super::value::PASSWORD_MASK;

impl ResolvedSettings {
    /// Checks the settings as a whole. The error has all problems: unknown keys, invalid values, unsafe combinations.
    pub fn check(&self) -> Result<Settings, ConfigError> {
        let mut problems = self.problems.clone();
        if self.complete {
            problems.extend(rules::violations(self));
        }
        match Settings::build(&self.settings) {
            Some(mut settings) if problems.is_empty() => {
                settings.access.matrix = self.matrix.clone();
                settings.oidc.clients = self.oidc_clients.iter().map(|listed| listed.client.clone()).collect();
                settings.role_rules = self.role_rules.iter().map(|listed| listed.rule.clone()).collect();
                settings.secret_files = self.secret_files();
                Ok(settings)
            }
            _ => Err(ConfigError { problems }),
        }
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
        // The private key is not a setting but a file that a setting names.
        let private_key = self.settings.server.tls_key.value.clone();
        let of_clients = self.oidc_clients.iter().filter_map(|listed| listed.secret_source.clone());
        files.chain(private_key).chain(of_clients).collect::<BTreeSet<_>>().into_iter().collect()
    }
}
