//! The source of a value.

use std::fmt;
use std::path::PathBuf;

use super::declaration::Profile;

/// The source of a value, written so that the operator can find it.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// The default of both profiles.
    Default,
    /// The default of this profile; the other profile has a different one.
    ProfileDefault(Profile),
    /// No source sets the value, and this profile requires it.
    Missing(Profile),
    /// A line of the settings file.
    File { path: PathBuf, line: usize },
    /// An environment variable.
    Variable(String),
    /// A file that an environment variable names.
    SecretFile { path: PathBuf, variable: String },
    /// A flag of the command line.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => out.write_str("default"),
            Self::ProfileDefault(profile) => write!(out, "default ({profile})"),
            Self::Missing(profile) => write!(out, "required in {profile}"),
            Self::File { path, line } => write!(out, "{}:{line}", path.display()),
            Self::Variable(name) => write!(out, "environment {name}"),
            Self::SecretFile { path, variable } => {
                write!(out, "file {} ({variable})", path.display())
            }
            Self::Flag(flag) => out.write_str(flag),
        }
    }
}
