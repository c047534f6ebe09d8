//! The merged sources, weakest first.

use std::collections::BTreeMap;

use super::key::SettingKey;
use super::oidc_clients::ListedClient;
use super::origin::Origin;
use super::problem::ConfigProblem;
use super::raw::RawSetting;
use super::role_rules::ListedRule;

/// The value of a key in a source.
pub(super) struct LayerValue {
    /// The value; `None` if the source sets the key but the value could not be read, which is already reported.
    pub(super) raw: Option<RawSetting>,
    pub(super) origin: Origin,
}

/// The merged values of all sources, and the problems of the sources.
#[derive(Default)]
pub(super) struct Layers {
    found: BTreeMap<&'static str, LayerValue>,
    /// The clients of OpenID Connect, which only the file has.
    pub(super) oidc_clients: Vec<ListedClient>,
    /// The role rules, which only the file has.
    pub(super) role_rules: Vec<ListedRule>,
    pub(super) problems: Vec<ConfigProblem>,
    /// The settings file exists but could not be read, so a missing value may be in it.
    pub(super) file_unread: bool,
}

impl Layers {
    /// Sets a key, which replaces the value of a weaker source.
    pub(super) fn set(&mut self, key: &SettingKey, raw: RawSetting, origin: Origin) {
        self.found.insert(key.name, LayerValue { raw: Some(raw), origin });
    }

    /// Records that a source sets a key but its value could not be read, and why.
    pub(super) fn fail(&mut self, key: &SettingKey, origin: Origin, what: String, fix: &str) {
        self.problems.push(ConfigProblem::new(key.name, what, fix).at(&origin));
        self.found.insert(key.name, LayerValue { raw: None, origin });
    }

    /// The value of a key in the strongest source.
    pub(super) fn get(&self, key: &SettingKey) -> Option<&LayerValue> {
        self.found.get(key.name)
    }
}
