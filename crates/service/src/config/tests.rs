//! The settings as a whole, from the sources to the settings or problems.

mod events;
mod example;
mod keys;
mod layers;
mod matrix;
mod oidc_clients;
mod platforms;
mod reload;
mod role_rules;
mod rules;
mod secrets;
mod settings;
mod unknown;
mod values;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::{ConfigError, Override, ResolvedSettings, Settings, Sources, resolve};

/// 32 bytes, each 0xff.
const ENCRYPTION_KEY: &str = "//////////////////////////////////////////8=";

/// Builds sources for a test. Files are in memory, so no test touches the disk or the environment.
#[derive(Default)]
struct TestSources {
    config: Option<PathBuf>,
    files: BTreeMap<PathBuf, String>,
    environment: Vec<(String, String)>,
    overrides: Vec<(&'static str, String, &'static str)>,
}

impl TestSources {
    fn development() -> Self {
        Self::default().flag("development.enabled", "true", "--dev")
    }

    /// Production with all required settings.
    fn production() -> Self {
        Self::default()
            .variable("DESKPASS_PUBLIC_URL", "https://desk.example.com")
            .variable("DESKPASS_PLATFORM__CORP_ID", "wwexample")
            .variable("DESKPASS_PLATFORM__SECRET", "correct-horse")
            .variable("DESKPASS_ENCRYPTION_KEY", ENCRYPTION_KEY)
    }

    fn toml(self, text: &str) -> Self {
        self.file("deskpass.toml", text)
    }

    fn file(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.into(), text.to_owned());
        self
    }

    fn config(mut self, path: &str) -> Self {
        self.config = Some(path.into());
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    fn without_variable(mut self, name: &str) -> Self {
        self.environment.retain(|(given, _)| given != name);
        self
    }

    fn flag(mut self, key: &'static str, value: &str, flag: &'static str) -> Self {
        self.overrides.push((key, value.to_owned(), flag));
        self
    }

    fn resolve(&self) -> ResolvedSettings {
        let read = |path: &Path| {
            let text = self.files.get(path).cloned();
            text.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
        };
        let environment = self.environment.iter();
        let overrides = self.overrides.iter();
        resolve(&Sources {
            file: self.config.clone(),
            environment: environment.map(|(name, value)| (name.into(), value.into())).collect(),
            overrides: overrides.map(|(key, value, flag)| Override { key, value: value.clone(), flag }).collect(),
            read: &read,
        })
    }

    fn check(&self) -> Result<Settings, ConfigError> {
        self.resolve().check()
    }

    /// The settings; the test fails with the problems if there are any.
    #[track_caller]
    fn settings(&self) -> Settings {
        match self.check() {
            Ok(settings) => settings,
            Err(error) => panic!("refused:\n{error}"),
        }
    }

    /// The problems, one per line; empty if there are none.
    fn problems(&self) -> String {
        self.check().map_or_else(|error| error.to_string(), |_| String::new())
    }

    /// The line of `config show` about a key, with runs of blanks collapsed.
    fn shown(&self, key: &str) -> String {
        let table = self.resolve().show();
        let line = table.lines().find(|line| {
            let name = line.split('=').next().unwrap_or_default();
            name.trim() == key
        });
        let words: Vec<_> = line.unwrap_or_default().split_whitespace().collect();
        words.join(" ")
    }
}
