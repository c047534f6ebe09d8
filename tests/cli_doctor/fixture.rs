//! A service for the doctor to examine.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::cli_simulate::Simulated;
use crate::harness::{PRODUCTION, binary};

/// A production service with a simulated platform, and a directory of its own to be examined in.
pub(crate) struct DoctorFixture {
    pub(crate) directory: TempDir,
    pub(crate) platform: Simulated,
    pub(crate) settings: Vec<(&'static str, String)>,
}

/// The output of the doctor.
pub(crate) struct DoctorOutput {
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
}

impl DoctorFixture {
    /// A fixture in which every check passes.
    pub(crate) fn new() -> Self {
        Self::with(&["--domain", "desk.example.com"])
    }

    /// A fixture whose platform is started with these arguments.
    pub(crate) fn with(platform: &[&str]) -> Self {
        let platform = Simulated::start(&[&["--secret", PRODUCTION[1].1], platform].concat());
        let api_url = format!("http://{}/sim", platform.address);
        let mut settings: Vec<_> = PRODUCTION.map(|(key, value)| (key, value.to_owned())).into();
        settings.push(("platform.api_url", api_url));
        settings.push(("platform.agent_id", "1000002".to_owned()));
        Self { directory: tempfile::tempdir().unwrap(), platform, settings }
    }

    pub(crate) fn set(&mut self, key: &'static str, value: &str) {
        self.settings.retain(|(given, _)| *given != key);
        self.settings.push((key, value.to_owned()));
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = binary();
        command.current_dir(self.directory.path()).args(arguments).env_remove("LC_ALL").env_remove("LANG");
        for (key, value) in &self.settings {
            command.env(format!("DESKPASS_{}", key.to_uppercase().replace('.', "__")), value);
        }
        command
    }

    /// Runs the doctor, and asserts that it prints no secret.
    pub(crate) fn examine(&self, arguments: &[&str]) -> DoctorOutput {
        examined(self.command(&["doctor"]).args(arguments))
    }

    /// The output in both languages; both must report the same.
    pub(crate) fn both(&self) -> [DoctorOutput; 2] {
        ["en", "zh"].map(|language| self.examine(&["--language", language]))
    }
}

pub(crate) fn examined(command: &mut Command) -> DoctorOutput {
    let output = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    for secret in [PRODUCTION[1].1, PRODUCTION[3].1] {
        assert!(!text.contains(secret), "the doctor disclosed a secret:\n{text}");
    }
    DoctorOutput { code: output.status.code(), text }
}

impl DoctorOutput {
    /// Asserts that a line begins with this text, and returns the line below it.
    pub(crate) fn line(&self, beginning: &str) -> &str {
        let mut lines = self.text.lines().skip_while(|line| !line.starts_with(beginning));
        assert!(lines.next().is_some(), "{beginning:?} is missing in\n{}", self.text);
        lines.next().unwrap_or_default()
    }

    /// Asserts that a line begins with this text and has these words below it.
    pub(crate) fn below(&self, beginning: &str, words: &[&str]) {
        let line = self.line(beginning);
        assert!(
            line.starts_with("  ") && words.iter().all(|word| line.contains(word)),
            "{words:?} below\n{}",
            self.text
        );
    }

    /// Asserts that exactly these checks fail and that the exit code says so.
    pub(crate) fn wrong(&self, expected: &[&str]) {
        let found: Vec<_> = self.text.lines().filter(|line| line.starts_with('✗')).collect();
        let same = found.len() == expected.len() && found.iter().zip(expected).all(|(line, what)| line.contains(what));
        assert!(same, "{expected:?} expected in\n{}", self.text);
        assert_eq!(self.code, Some(i32::from(!expected.is_empty())), "{}", self.text);
    }
}
