//! The location and the mode of the data.

use std::path::PathBuf;

use super::PostgresSettings;

/// The location of the data.
#[derive(Clone, Debug)]
pub enum Location {
    /// In this directory, used by this process only.
    Embedded(PathBuf),
    /// On a server that several nodes share.
    Postgres(PostgresSettings),
}

/// The mode of the data. It is set when the data is created and never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// For trials: any user can sign in as any employee.
    Development,
    /// For production use.
    Production,
}

impl Mode {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Development => "development mode",
            Self::Production => "production",
        }
    }
}
