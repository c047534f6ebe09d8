//! What is wrong with the settings, and how to fix it.

use std::fmt;

use thiserror::Error;

use super::key::SettingKey;
use super::origin::Origin;

/// One thing that is wrong. It never holds the value of a secret.
#[derive(Clone, Debug)]
pub struct ConfigProblem {
    subject: String,
    origin: Option<Origin>,
    what: String,
    fix: String,
    kind: ProblemKind,
}

/// Whether something is there and wrong, or just not there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProblemKind {
    Wrong,
    Missing,
}

impl ConfigProblem {
    /// A problem of something that is not a key, such as the file or a stray variable.
    pub(super) fn new(subject: impl Into<String>, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { subject: subject.into(), origin: None, what: what.into(), fix: fix.into(), kind: ProblemKind::Wrong }
    }

    /// A key without which there is no production.
    pub(super) fn missing(key: &SettingKey, fix: String) -> Self {
        let problem = Self::new(key.name, "it is not set, and production needs it", fix);
        Self { kind: ProblemKind::Missing, ..problem }
    }

    /// The same problem, and where it was found.
    pub(super) fn at(mut self, origin: &Origin) -> Self {
        self.origin = Some(origin.clone());
        self
    }

    /// A value that its key does not take.
    pub(super) fn bad_value(key: &SettingKey, origin: &Origin, what: String) -> Self {
        let fix = format!("expected {}", key.kind.expected());
        Self::new(key.name, what, fix).at(origin)
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

/// Everything that is wrong with the settings; `Display` lists it one problem a line.
#[derive(Clone, Debug, Error)]
#[error("{}", lines(.problems))]
pub struct ConfigError {
    problems: Vec<ConfigProblem>,
}

impl ConfigError {
    pub(super) fn new(problems: Vec<ConfigProblem>) -> Self {
        Self { problems }
    }

    /// The problems, in the order of the sources and then of the keys.
    #[must_use]
    pub fn problems(&self) -> &[ConfigProblem] {
        &self.problems
    }

    /// Whether nothing is wrong but that production's required keys are missing.
    #[must_use]
    pub fn only_missing(&self) -> bool {
        self.problems.iter().all(|problem| problem.kind == ProblemKind::Missing)
    }
}

fn lines(problems: &[ConfigProblem]) -> String {
    let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}
