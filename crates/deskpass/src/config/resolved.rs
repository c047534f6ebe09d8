//! The strongest word on every key, before the keys are judged together.

use std::collections::BTreeSet;
use std::path::PathBuf;

use deskpass_core::Matrix;

use super::gather::gather;
use super::key::{Fallback, Key, Profile};
use super::layers::{Found, Layers};
use super::listen_address::reachable;
use super::matrix;
use super::origin::Origin;
use super::problem::{ConfigError, Problem};
use super::raw::Raw;
use super::secret_url::STARS;
use super::sources::Sources;
use super::table::{KEYS, find};
use super::value::{FromValue, Value};

/// Values wider than this do not push the origins of all others to the right.
const WIDEST_COLUMN: usize = 40;

/// Where every setting stands. It can be shown even while it does not pass [`Resolved::check`].
#[derive(Clone, Debug)]
pub struct Resolved {
    entries: Vec<Entry>,
    pub(super) problems: Vec<Problem>,
    /// Whether all sources could be read, so that a missing value is really missing.
    pub(super) complete: bool,
    /// Who may do what; the built-in matrix while the file that replaces it is not good.
    pub(super) matrix: Matrix,
}

/// A key with what became of it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: &'static Key,
    pub(super) state: State,
    pub(super) origin: Origin,
}

/// What became of a key.
#[derive(Clone, Debug)]
pub(super) enum State {
    Valid(Value),
    /// Given, but not as its kind wants it; reported already.
    Invalid,
    Unset,
}

/// Finds the strongest value of every key. Problems are kept for [`Resolved::check`].
#[must_use]
pub fn resolve(sources: &Sources<'_>) -> Resolved {
    let mut layers = gather(sources);
    let profile = profile(&layers);
    let mut resolved = Resolved {
        entries: Vec::with_capacity(KEYS.len()),
        problems: std::mem::take(&mut layers.problems),
        complete: !layers.file_unread,
        matrix: Matrix::built_in(),
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
    match matrix::in_force(file, sources) {
        Ok(matrix) => resolved.matrix = matrix,
        Err(problems) => resolved.problems.extend(problems),
    }
    resolved
}

/// Comes first, because defaults depend on it. An unreadable value counts as production here, and
/// is reported like any other.
fn profile(layers: &Layers) -> Profile {
    let enabled = find("development.enabled").and_then(|key| key.kind.parse(layers.get(key)?.raw.as_ref()?).ok());
    match enabled {
        Some(Value::Flag(true)) => Profile::Development,
        _ => Profile::Production,
    }
}

impl Resolved {
    /// The settings as a table, one `key = value   # origin` a line, secrets masked.
    #[must_use]
    pub fn show(&self) -> String {
        let names = self.entries.iter().map(|entry| entry.key.name.len());
        let names = names.max().unwrap_or_default();
        let shown: Vec<_> = self.entries.iter().map(Entry::shown).collect();
        let widths = shown.iter().map(|value| value.chars().count());
        let values = widths.filter(|width| *width <= WIDEST_COLUMN).max();
        let values = values.unwrap_or_default();

        let line = |(entry, value): (&Entry, &String)| {
            let (name, origin) = (entry.key.name, &entry.origin);
            format!("{name:names$} = {value:values$}   # {origin}\n")
        };
        let lines: Vec<_> = self.entries.iter().zip(&shown).map(line).collect();
        lines.concat()
    }

    /// The access matrix in force. Settings that production still lacks do not matter to it.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with what was given: the matrix may stand where it cannot be seen.
    pub fn matrix(&self) -> Result<&Matrix, ConfigError> {
        if self.problems.is_empty() { Ok(&self.matrix) } else { Err(ConfigError::new(self.problems.clone())) }
    }

    /// What became of the key of this name.
    pub(super) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key.name == name)
    }

    /// What became of each key.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The files that secrets were read from, each once.
    pub(super) fn secret_files(&self) -> Vec<PathBuf> {
        let secret = |entry: &&Entry| entry.key.kind.is_secret() && entry.hides_something();
        let files = self.entries.iter().filter(secret).filter_map(|entry| match &entry.origin {
            Origin::File { path, .. } | Origin::SecretFile { path, .. } => Some(path.clone()),
            _ => None,
        });
        files.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The valid value of the key of this name, as the type that the caller wants.
    pub(super) fn get<T: FromValue>(&self, name: &str) -> Option<T> {
        match &self.entry(name)?.state {
            State::Valid(value) => T::from_value(value),
            State::Invalid | State::Unset => None,
        }
    }

    fn given(&mut self, key: &'static Key, found: &Found) -> Entry {
        let origin = found.origin.clone();
        let state = match found.raw.as_ref().map(|raw| key.kind.parse(raw)) {
            Some(Ok(value)) => State::Valid(value),
            Some(Err(what)) => {
                let problem = Problem::bad_value(key, &origin, what);
                self.problems.push(problem);
                State::Invalid
            }
            None => State::Invalid,
        };
        Entry { key, state, origin }
    }

    fn defaulted(&self, key: &'static Key, profile: Profile) -> Entry {
        let value = key.default(profile).and_then(|text| {
            let text = self.filled_in(text)?;
            key.kind.parse(&Raw::Untyped(text)).ok()
        });
        let origin = match (&value, key.fallback) {
            (None, Fallback::RequiredInProduction { .. }) if profile == Profile::Production => Origin::Missing(profile),
            (None, _) | (_, Fallback::Same(_)) => Origin::Default,
            _ => Origin::ProfileDefault(profile),
        };
        let state = value.map_or(State::Unset, State::Valid);
        Entry { key, state, origin }
    }

    /// Fills in what a default is made from; there is nothing to fill in when that is not valid itself.
    fn filled_in(&self, text: &str) -> Option<String> {
        let mut text = text.to_owned();
        if text.contains("{listen}") {
            text = text.replace("{listen}", &reachable(self.get("listen")?).to_string());
        }
        if text.contains("{public_url}") {
            text = text.replace("{public_url}", &self.get::<String>("public_url")?);
        }
        Some(text)
    }
}

impl Entry {
    /// Whether it has a value of which a part must not be shown. An address without a password has none.
    fn hides_something(&self) -> bool {
        matches!(self.state, State::Valid(_)) && self.shown().contains(STARS)
    }

    fn shown(&self) -> String {
        match &self.state {
            State::Valid(value) => value.to_string(),
            State::Invalid => "(not valid)".to_owned(),
            State::Unset => "(not set)".to_owned(),
        }
    }
}
