//! The sources laid over one another, weakest first.

use std::collections::BTreeMap;

use super::key::Key;
use super::origin::Origin;
use super::problem::Problem;
use super::raw::Raw;

/// What a source says about a key.
pub(super) struct Found {
    /// The value; `None` if one was meant but could not be had, which is reported already.
    pub(super) raw: Option<Raw>,
    pub(super) origin: Origin,
}

/// What the sources say together, and what was wrong with them.
#[derive(Default)]
pub(super) struct Layers {
    found: BTreeMap<&'static str, Found>,
    pub(super) problems: Vec<Problem>,
    /// The settings file is there but told us nothing, so a value that is missing may stand in it.
    pub(super) file_unread: bool,
}

impl Layers {
    /// Sets a key; what a weaker source said about it no longer counts.
    pub(super) fn set(&mut self, key: &Key, raw: Raw, origin: Origin) {
        let raw = Some(raw);
        self.found.insert(key.name, Found { raw, origin });
    }

    /// Notes that a key was meant to be set but could not be, and why.
    pub(super) fn fail(&mut self, key: &Key, origin: Origin, what: String, mend: &str) {
        self.refuse(Problem::of(key.name, what, mend).at(&origin));
        self.found.insert(key.name, Found { raw: None, origin });
    }

    /// Notes a problem.
    pub(super) fn refuse(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// What the strongest source says about a key.
    pub(super) fn get(&self, key: &Key) -> Option<&Found> {
        self.found.get(key.name)
    }
}
