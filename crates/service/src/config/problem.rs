//! Problems of the settings, and how to fix them.

use std::fmt;

use thiserror::Error;

use super::chinese::in_chinese;
use super::key::SettingKey;
use super::origin::Origin;

/// A problem. It never contains the value of a secret.
#[derive(Clone, Debug)]
pub struct ConfigProblem {
    subject: String,
    origin: Option<Origin>,
    what: String,
    fix: String,
    /// Whether production requires the value, and it is not set.
    missing: bool,
}

impl ConfigProblem {
    /// A problem with a subject other than a key, such as the file or an unknown variable.
    pub(super) fn new(subject: impl Into<String>, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { subject: subject.into(), origin: None, what: what.into(), fix: fix.into(), missing: false }
    }

    /// The problem of a missing key that production requires.
    pub(super) fn missing(key: &SettingKey, fix: String) -> Self {
        let problem = Self::new(key.name, "it is not set, and production needs it", fix);
        Self { missing: true, ..problem }
    }

    pub(super) fn at(mut self, origin: &Origin) -> Self {
        self.origin = Some(origin.clone());
        self
    }

    /// The problem of a value that its key does not accept.
    pub(super) fn bad_value(key: &SettingKey, origin: &Origin, what: String, expected: &str) -> Self {
        let fix = format!("expected {expected}");
        Self::new(key.name, what, fix).at(origin)
    }
}

impl ConfigProblem {
    /// The problem in Chinese.
    #[must_use]
    pub fn in_chinese(&self) -> String {
        let origin = self.origin.as_ref().map(|origin| format!("（{}）", in_chinese(&origin.to_string())));
        let [subject, what, fix] = [&self.subject, &self.what, &self.fix].map(|text| in_chinese(text));
        format!("{subject}{}：{what}；{fix}", origin.unwrap_or_default())
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.subject)?;
        if let Some(origin) = &self.origin {
            write!(out, " ({origin})")?;
        }
        write!(out, ": {}; {}", self.what, self.fix)
    }
}

/// All problems of the settings; `Display` lists one per line.
#[derive(Clone, Debug, Error)]
#[error("{}", lines(.problems))]
pub struct ConfigError {
    /// The problems, in the order of the sources and then of the keys.
    pub problems: Vec<ConfigProblem>,
}

impl ConfigError {
    /// Whether the only problems are missing keys that production requires.
    #[must_use]
    pub fn only_missing(&self) -> bool {
        self.problems.iter().all(|problem| problem.missing)
    }
}

fn lines(problems: &[ConfigProblem]) -> String {
    let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}
