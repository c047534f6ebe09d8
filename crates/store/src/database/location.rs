//! Where the data is, and what it is for.

use std::path::PathBuf;

use super::PostgresSettings;

/// Where the data is.
#[derive(Clone, Debug)]
pub enum Location {
    /// In this directory, for this process alone.
    Embedded(PathBuf),
    /// With a server that several nodes share.
    Postgres(PostgresSettings),
}

/// What data is for. Decided when it is made, and never changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// To try things with: anyone can sign in as anyone.
    Development,
    /// In earnest.
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
