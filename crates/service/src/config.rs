//! The settings: their sources, their validation and their final values.
//!
//! The sources, weakest first: the profile's default, `deskpass.toml`, the environment, the command line. A field of
//! [`Settings`] or of one of its sections declares a setting; parsing, `config show`, the names of environment variables
//! and `deskpass.example.toml` all derive from it. This module never reads the process's environment or the disk directly:
//! the caller passes both in as [`Sources`].

mod check;
mod chinese;
mod declaration;
mod destination;
mod environment;
mod event_rules;
mod example;
mod file;
mod key;
mod keys;
mod layers;
mod listen_address;
mod matrix;
mod nearest;
mod nearest_word;
mod oidc_clients;
mod origin;
mod platform_keys;
mod problem;
mod raw;
mod reload;
mod resolved;
mod role_rules;
mod rules;
mod section;
mod service_location;
mod settings;
mod simulated;
mod sources;
#[cfg(test)]
mod tests;
mod toml_source;
mod value;
mod warnings;

pub use destination::{Destination, destination};
pub use example::example;
pub use matrix::matrix_file;
pub use problem::{ConfigError, ConfigProblem};
pub use reload::SettingsDiff;
pub use resolved::{ResolvedSettings, resolve};
pub use service_location::{ServiceLocation, local_url, service_location};
pub use settings::{
    Access, Agents, Approval, Audit, Bind, BindMode, Branding, DefaultRole, Development, Language, Limits, Log,
    LogFormat, LogLevel, Messages, Notices, NumberMatching, Oidc, OidcClient, Pages, PasswordFallback, Platform, Qr,
    Recheck, Server, Session, Settings, Shared, Sockets, Store, Sync, Tls, UserIdKind, Verification,
};
pub(crate) use simulated::SimulatedApplication;
pub use sources::{Override, Sources};
pub use value::{
    AccentColour, AgentId, ApprovalMethod, Colour, EndpointUrl, EventKey, HostName, Identifier, KeyList, Label,
    MailDomain, PostgresUrl, RedisUrl, SecretText, SecretUrl, SigningSecret, Size, WebOrigin, WebUrl, ZoneName,
};

/// Resolves and checks the settings in one step. The error has all problems, not only the first one.
pub fn load(sources: &Sources<'_>) -> Result<Settings, ConfigError> {
    resolve(sources).check()
}
