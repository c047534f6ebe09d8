//! Resolves the settings of a section, and builds the section from them.

use std::net::SocketAddr;

use deskpass_platform::PlatformKind;

use super::declaration::{Profile, SIMULATED};
use super::key::SettingKey;
use super::layers::{LayerValue, Layers};
use super::listen_address::connect_address;
use super::origin::Origin;
use super::problem::ConfigProblem;
use super::raw::RawSetting;
use super::simulated::SimulatedApplication;
use super::value::{MASK, SettingValue};

/// The placeholder of the listening address in a default.
const LISTEN: &str = "{listen}";

/// A section of the settings, or all of them. `#[derive(Section)]` and `#[derive(Settings)]` implement it.
pub(super) trait Section: Sized {
    /// The settings of the section with their origins.
    type Entries;

    /// The keys of the section, in the order of the fields.
    fn keys() -> Vec<&'static SettingKey>;

    /// Finds the value of every setting in its strongest source.
    fn resolve(resolver: &mut Resolver<'_>) -> Self::Entries;

    /// The section; `None` if a value that it must have is invalid or missing.
    fn build(entries: &Self::Entries) -> Option<Self>;

    /// Adds the keys whose values differ.
    fn changed_keys(&self, other: &Self, found: &mut Vec<&'static SettingKey>);

    /// Replaces the values of the settings that need a restart by those of the running service.
    fn keep_fixed(&mut self, running: &Self);

    /// The same for the settings with their origins.
    fn keep_fixed_entries(entries: &mut Self::Entries, running: &Self::Entries);
}

/// A setting with its value and its origin.
#[derive(Clone, Debug)]
pub(super) struct Setting<T> {
    /// The value, if it is valid.
    pub(super) value: Option<T>,
    pub(super) entry: SettingEntry,
}

/// A key with the state and the origin of its value.
#[derive(Clone, Debug)]
pub(super) struct SettingEntry {
    pub(super) key: &'static SettingKey,
    pub(super) state: SettingState,
    pub(super) origin: Origin,
}

#[derive(Clone, Debug)]
pub(super) enum SettingState {
    /// The value as in the file; `None` if it must not be shown.
    Valid(Option<toml::Value>),
    /// The value does not match the setting's type, which is already reported.
    Invalid,
    Unset,
}

impl SettingEntry {
    /// Whether a source or a default has a value, valid or not.
    pub(super) fn is_set(&self) -> bool {
        !matches!(self.state, SettingState::Unset)
    }

    /// The value as `config show` prints it.
    pub(super) fn shown(&self) -> String {
        match &self.state {
            SettingState::Valid(Some(value)) => value.to_string(),
            SettingState::Valid(None) => MASK.to_owned(),
            SettingState::Invalid => "(not valid)".to_owned(),
            SettingState::Unset => "(not set)".to_owned(),
        }
    }

    pub(super) fn problem(&self, what: impl Into<String>, fix: impl Into<String>) -> ConfigProblem {
        ConfigProblem::new(self.key.name, what, fix).at(&self.origin)
    }
}

/// Finds the values of settings, one after the other, and keeps what is wrong with them.
pub(super) struct Resolver<'a> {
    layers: &'a Layers,
    profile: Profile,
    pub(super) entries: Vec<SettingEntry>,
    pub(super) problems: Vec<ConfigProblem>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(layers: &'a Layers, profile: Profile) -> Self {
        Self { layers, profile, entries: Vec::new(), problems: Vec::new() }
    }

    /// Finds the value of a setting: that of the strongest source, or else the default.
    pub(super) fn setting<T: SettingValue>(&mut self, key: &'static SettingKey) -> Setting<T> {
        let (value, absent, origin) = if let Some(LayerValue { raw, origin }) = self.layers.get(key) {
            let value = raw.as_ref().and_then(|raw| self.parse(key, raw, origin));
            (value, SettingState::Invalid, origin.clone())
        } else {
            let text = key.default(self.profile).and_then(|text| self.expand_placeholders(key, text));
            let origin = key.default_origin(self.profile, text.is_some());
            let value = text.and_then(|text| self.parse(key, &RawSetting::Untyped(text), &origin));
            (value, SettingState::Unset, origin)
        };
        let state = value.as_ref().map_or(absent, |value: &T| SettingState::Valid(value.to_toml()));
        let entry = SettingEntry { key, state, origin };
        self.entries.push(entry.clone());
        Setting { value, entry }
    }

    fn parse<T: SettingValue>(&mut self, key: &SettingKey, raw: &RawSetting, origin: &Origin) -> Option<T> {
        match T::parse(raw, key) {
            Ok(value) => Some(value),
            Err(what) => {
                let expected = key.expected_by(self.text("platform.kind").and_then(PlatformKind::parse));
                self.problems.push(ConfigProblem::bad_value(key, origin, what, &expected));
                None
            }
        }
    }

    /// Expands the placeholders of a default; `None` if the setting that a placeholder depends on is invalid, or the simulated
    /// platform has no such thing. That setting is declared before those whose defaults depend on it.
    fn expand_placeholders(&self, key: &SettingKey, text: &str) -> Option<String> {
        if text == SIMULATED {
            let kind = PlatformKind::parse(self.text("platform.kind")?)?;
            return SimulatedApplication::of(kind).setting(key.name).map(str::to_owned);
        }
        if !text.contains(LISTEN) {
            return Some(text.to_owned());
        }
        let listen: SocketAddr = self.text("listen")?.parse().ok()?;
        Some(text.replace(LISTEN, &connect_address(listen).to_string()))
    }

    /// The valid value of a setting that is already resolved.
    fn text(&self, name: &str) -> Option<&str> {
        let entry = self.entries.iter().find(|entry| entry.key.name == name)?;
        match &entry.state {
            SettingState::Valid(Some(value)) => value.as_str(),
            _ => None,
        }
    }
}
