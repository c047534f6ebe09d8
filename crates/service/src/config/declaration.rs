//! What a field of the settings declares: the name of its key, its help text, defaults and range.

use std::fmt;

/// The prefix of all environment variables of the service.
pub(super) const PREFIX: &str = "DESKPASS_";

/// The suffix of a variable that names a file with a secret.
pub(super) const FILE_SUFFIX: &str = "_FILE";

/// The default that is what the application has at the simulated platform, which depends on the kind of the platform.
pub(super) const SIMULATED: &str = "{simulated}";

/// The name of the array of tables with the clients of OpenID Connect. It is no key: only the file has it.
pub(super) const CLIENTS: &str = "oidc.clients";

/// The name of the array of tables with the role rules. It is no key: only the file has it.
pub(super) const ROLE_RULES: &str = "role_rules";

/// The two modes of the service; defaults differ between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Profile {
    Development,
    Production,
}

impl fmt::Display for Profile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Development => "development",
            Self::Production => "production",
        })
    }
}

/// The declaration of a setting. Values are written as in the environment.
#[derive(Debug)]
pub(super) struct Declaration {
    /// The name with the section, such as `session.lifetime`.
    pub(super) name: &'static str,
    /// The documentation of the field.
    pub(super) help: &'static str,
    /// The default in development. `{listen}` stands for that setting.
    pub(super) development: Option<&'static str>,
    /// The default in production.
    pub(super) production: Option<&'static str>,
    /// Whether production requires an explicit value.
    pub(super) required: bool,
    /// Whether a change takes effect only at the next start. Every other setting also changes with a reload.
    pub(super) restart: bool,
    /// The value in the example file if production has no default. Empty for a secret: a published secret would get used.
    pub(super) example: &'static str,
    /// The smallest value; empty if the type has no order.
    pub(super) min: &'static str,
    /// The largest value; empty if the type has no order.
    pub(super) max: &'static str,
}

impl Declaration {
    /// The section and the name within it; top-level keys have no section.
    pub(super) fn parts(&self) -> (Option<&'static str>, &'static str) {
        match self.name.split_once('.') {
            Some((section, name)) => (Some(section), name),
            None => (None, self.name),
        }
    }

    pub(super) fn variable(&self) -> String {
        let name = self.name.replace('.', "__").to_ascii_uppercase();
        format!("{PREFIX}{name}")
    }

    pub(super) fn default(&self, profile: Profile) -> Option<&'static str> {
        match profile {
            Profile::Development => self.development,
            Profile::Production => self.production,
        }
    }

    /// The value in the example file: production's, because a settings file is mostly for production.
    pub(super) fn sample(&self) -> &'static str {
        self.production.unwrap_or(self.example)
    }

    /// Whether a value is within the declared range, whose ends `parse` reads.
    pub(super) fn allows<T: PartialOrd>(&self, value: &T, parse: impl Fn(&str) -> Option<T>) -> bool {
        parse(self.min).is_some_and(|min| min <= *value) && parse(self.max).is_some_and(|max| *value <= max)
    }
}
