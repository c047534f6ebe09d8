//! The settings: their sources, their validation and their final values.
//!
//! The sources, weakest first: the profile's default, `deskpass.toml`, the environment, the command line. One table
//! (`config/table.rs`) lists every key; parsing, `config show`, the names of environment variables and
//! `deskpass.example.toml` all derive from it. This module never reads the process's environment or the disk directly:
//! the caller passes both in as [`Sources`].

mod build;
mod choice;
mod destination;
mod duration;
mod environment;
mod example;
mod file;
mod gather;
mod key;
mod kind;
mod layers;
mod listen_address;
mod matrix;
mod nearest;
mod network;
mod origin;
mod problem;
mod public_url;
mod rate;
mod raw;
mod resolved;
mod rules;
mod secret;
mod secret_url;
mod settings;
mod shared_url;
mod size;
mod sources;
mod store_url;
mod table;
#[cfg(test)]
mod tests;
mod value;
mod warnings;
mod web_url;

pub use destination::{Destination, destination};
pub use example::example;
pub use matrix::matrix_file;
pub use problem::{ConfigError, ConfigProblem};
pub use resolved::{ResolvedSettings, resolve};
pub use secret::{EncryptionKey, SecretText};
pub use secret_url::SecretUrl;
pub use settings::{
    Access, Agents, Audit, Bind, BindMode, DefaultRole, Language, Limits, Log, LogFormat, LogLevel, PasswordFallback,
    Platform, Server, Session, Settings, Shared, Sockets, Store, Tls,
};
pub use sources::{Override, Sources};

/// Resolves and checks the settings in one step.
///
/// # Errors
///
/// All problems of the settings, not only the first one.
pub fn load(sources: &Sources<'_>) -> Result<Settings, ConfigError> {
    resolve(sources).check()
}
