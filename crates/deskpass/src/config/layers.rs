//! The sources laid over one another, weakest first.

use std::collections::BTreeMap;

use super::key::SettingKey;
use super::origin::Origin;
use super::problem::ConfigProblem;
use super::raw::RawSetting;

/// What a source says about a key.
pub(super) struct LayerValue {
    /// The value; `None` if one was meant but could not be had, which is reported already.
    pub(super) raw: Option<RawSetting>,
    pub(super) origin: Origin,
}

/// What the sources say together, and what was wrong with them.
#[derive(Default)]
pub(super) struct Layers {
    found: BTreeMap<&'static str, LayerValue>,
    pub(super) problems: Vec<ConfigProblem>,
    /// The settings file is there but told us nothing, so a value that is missing may stand in it.
    pub(super) file_unread: bool,
}

impl Layers {
    /// Sets a key; what a weaker source said about it no longer counts.
    pub(super) fn set(&mut self, key: &SettingKey, raw: RawSetting, origin: Origin) {
        let raw = Some(raw);
        self.found.insert(key.name, LayerValue { raw, origin });
    }

    /// Notes that a key was meant to be set but could not be, and why.
    pub(super) fn fail(&mut self, key: &SettingKey, origin: Origin, what: String, fix: &str) {
        self.add_problem(ConfigProblem::new(key.name, what, fix).at(&origin));
        self.found.insert(key.name, LayerValue { raw: None, origin });
    }

    /// Notes a problem.
    pub(super) fn add_problem(&mut self, problem: ConfigProblem) {
        self.problems.push(problem);
    }

    /// What the strongest source says about a key.
    pub(super) fn get(&self, key: &SettingKey) -> Option<&LayerValue> {
        self.found.get(key.name)
    }
}
