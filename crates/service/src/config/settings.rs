//! The settings of the service: a field declares a key, its type, its default and its help text.
//!
//! `config show` and the example file follow the order of the fields. A setting whose value is the default of another one,
//! such as `{listen}`, is declared before it.

mod branding;
mod limits;
mod messages;
mod networks;
mod notices;
mod oidc;
mod pages;
mod people;
mod platform;
mod server;
mod sign_in;
mod storage;

use std::net::SocketAddr;
use std::path::PathBuf;

use deskpass_core::{EncryptionKeys, Host, HostNames, RoleRule};
use deskpass_derive::{Section, Settings};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use networks::{LOOPBACK, PRIVATE_NETWORKS};

use super::listen_address::connect_address;
use super::value::{HostName, KeyList, WebOrigin, choice};

pub use branding::Branding;
pub use limits::Limits;
pub use messages::Messages;
pub use notices::Notices;
pub use oidc::{Oidc, OidcClient};
pub use pages::Pages;
pub use people::{Approval, NumberMatching, Qr, Recheck, Sync, Verification};
pub(super) use platform::PlatformEntries;
pub use platform::{Platform, UserIdKind};
pub use server::{Log, LogFormat, LogLevel, Server, Sockets};
pub use sign_in::{Access, Agents, Audit, Bind, BindMode, PasswordFallback, Session};
pub use storage::{Shared, Store, Tls};

/// The settings of the service.
#[derive(Clone, Debug, Settings)]
pub struct Settings {
    /// The address to listen on. Port 0 selects a free port.
    #[setting(default = "127.0.0.1:8080", restart)]
    pub listen: SocketAddr,
    /// The directory of the embedded database. A relative path starts at the working directory. Not used if `store.url` is
    /// set.
    #[setting(default = "./data", restart)]
    pub data: PathBuf,
    /// The origin at which browsers and phones reach the service. Production requires https, except on localhost. In
    /// development the default follows the listening address.
    #[setting(development = "http://{listen}", required, restart, example = "https://desk.example.com")]
    pub public_url: WebOrigin,
    /// The language of messages if a client requests no supported language.
    #[setting(default = "en")]
    pub default_language: Language,
    /// Encrypts data that must be readable again: everything stored in Redis, and the one-time-password devices of employees.
    /// The recovery codes and passwords of agents are valid only together with it, and the audit log is verified with it.
    /// All nodes need the same key. Keep a copy, separate from the backups: if the key is lost, the device and the password
    /// of every agent must be reset. May be a list, newest first: all decrypt, one at a time encrypts. To change the key,
    /// list the new one and the old one, and run `deskpass key rotate`; docs/operations.md has the steps. In the
    /// environment, or in a file, several keys are separated by commas or line breaks.
    #[setting(required, restart)]
    pub encryption_key: Option<KeyList>,
    /// Proxies whose X-Forwarded-For header is trusted. List only the addresses of your proxies: a client at one of them
    /// can choose the address that rate limits and allow-lists see. A request with the header from another private address
    /// is rejected and logged, because a proxy that is not listed makes all its clients look like one. From a public
    /// address the header is ignored.
    #[setting(development = PRIVATE_NETWORKS, production = LOOPBACK)]
    pub trusted_proxies: Vec<IpNet>,
    /// Other origins whose pages under /h5/, /itagent/ and /itadmin/ users may be redirected to after sign-in. The
    /// service's own origin is always allowed.
    #[setting(default = "")]
    pub redirect_origins: Vec<WebOrigin>,
    /// The role of users who are authenticated by the platform and have no assigned role. It applies to the session only.
    /// `none` rejects these users.
    #[setting(default = "user")]
    pub default_role: DefaultRole,
    /// Development mode.
    #[section]
    pub development: Development,
    /// The database that nodes share.
    #[section]
    pub store: Store,
    /// The ephemeral store that nodes share.
    #[section]
    pub shared: Shared,
    /// TLS of the connections to both.
    #[section]
    pub tls: Tls,
    /// The platform that identifies users.
    #[section]
    pub platform: Platform,
    /// The lifetime and number of sessions.
    #[section]
    pub session: Session,
    /// Binding identities of connected corporations.
    #[section]
    pub bind: Bind,
    /// Agents and their passwords.
    #[section]
    pub agents: Agents,
    /// Sign-ins with a QR code.
    #[section]
    pub qr: Qr,
    /// How high-risk changes are confirmed.
    #[section]
    pub approval: Approval,
    /// The verification of callers.
    #[section]
    pub verification: Verification,
    /// The check whether signed-in people are still at the platform.
    #[section]
    pub recheck: Recheck,
    /// The synchronisation with the platform's directory.
    #[section]
    pub sync: Sync,
    /// OpenID Connect: the programs whose users sign in here.
    #[section]
    pub oidc: Oidc,
    /// The access matrix.
    #[section]
    pub access: Access,
    /// What the pages look like.
    #[section]
    pub branding: Branding,
    /// The retention of the audit log.
    #[section]
    pub audit: Audit,
    /// Messages to users through the platform.
    #[section]
    pub notices: Notices,
    /// Replies to messages.
    #[section]
    pub messages: Messages,
    /// Pages of your own.
    #[section]
    pub pages: Pages,
    /// WebSocket connections.
    #[section]
    pub sockets: Sockets,
    /// Rate limits.
    #[section]
    pub limits: Limits,
    /// Limits and timeouts of the HTTP server.
    #[section]
    pub server: Server,
    /// Level and format of the log.
    #[section]
    pub log: Log,
    /// The role rules of the settings file.
    #[computed(Vec::new())]
    pub role_rules: Vec<RoleRule>,
    /// The files that secrets were read from.
    #[computed(Vec::new())]
    pub secret_files: Vec<PathBuf>,
}

/// Development mode.
#[derive(Clone, Debug, Section)]
pub struct Development {
    /// Development mode: seeded users, sign-in without proof. Also set by --dev. Never use it for real users.
    #[setting(default = false, restart)]
    pub enabled: bool,
    /// Allows development mode to listen on an address that other machines can reach, where anyone can then sign in as
    /// anyone. Also set by --dev-allow-remote.
    #[setting(default = false, restart)]
    pub allow_remote: bool,
    /// Other host names that development mode accepts, beside those in `server.hosts`. localhost, loopback addresses, the
    /// listening address and the host of `public_url` are always accepted, and with `allow_remote` every IP address. A request that names another host is
    /// rejected: otherwise a foreign page could reach the service through a name of its own (DNS rebinding).
    #[setting(default = "", restart)]
    pub hosts: Vec<HostName>,
}

/// Seals data in development, as [`Settings::encryption_key`] does in production. It is public.
const DEVELOPMENT_KEY: [u8; 32] = *b"deskpass in development: no key!";

impl Settings {
    /// The keys that seal data: the first closes, all open.
    #[must_use]
    pub fn sealing_keys(&self) -> EncryptionKeys {
        self.encryption_key.as_ref().map_or(EncryptionKeys::one(DEVELOPMENT_KEY), |list| list.keys().clone())
    }

    /// The key that seals new data.
    #[must_use]
    pub fn sealing_key(&self) -> [u8; 32] {
        *self.sealing_keys().first()
    }

    /// The hosts that the service answers under: this machine, the listening address, the public address, the origins of other
    /// pages, whose servers may pass their visitors' requests on, and the listed ones. If other machines may reach the service, as
    /// in production, also every IP address, which no foreign page can claim as its host.
    #[must_use]
    pub fn hosts(&self) -> HostNames {
        let own = HostNames::local().with(&self.listen.to_string()).with_origin(&self.public_url);
        let own = self.redirect_origins.iter().fold(own, |hosts, origin| hosts.with_origin(origin));
        let listed = self.server.hosts.iter().chain(&self.development.hosts);
        let listed = listed.fold(own, |hosts, host| hosts.with(host));
        listed.with_any_address(!self.development.enabled || self.development.allow_remote)
    }

    /// The origin of the public address, and those of other pages that users visit.
    pub(crate) fn public_origins(&self) -> impl Iterator<Item = &WebOrigin> {
        self.redirect_origins.iter().chain([&self.public_url])
    }

    /// Whether a `Host` is that of the public address, or of other pages that users visit. On this machine alone there is no
    /// difference between users and operators.
    #[must_use]
    pub fn is_public_host(&self, authority: &str) -> bool {
        let mut public = self.public_origins().filter_map(|origin| Host::parse(origin.split_once("://")?.1));
        let asked = Host::parse(authority);
        asked.is_some_and(|asked| !asked.is_local() && public.any(|host| host.is_same(asked)))
    }

    /// The location of the data, safe to show: the directory, or the address without its password.
    #[must_use]
    pub fn data_location(&self) -> String {
        self.store.url.as_ref().map_or_else(|| self.data.display().to_string(), ToString::to_string)
    }

    /// Replaces port 0 by the port that was selected, also in the public address if that is derived from it.
    #[must_use]
    pub fn with_listen_address(mut self, address: SocketAddr) -> Self {
        let (asked, taken) = (format!("//{}", connect_address(self.listen)), format!("//{}", connect_address(address)));
        self.public_url.replace(&asked, &taken);
        self.listen = address;
        self
    }

    /// The origin at which this machine reaches the service without TLS.
    #[must_use]
    pub(crate) fn local_origin(&self) -> String {
        format!("http://{}", connect_address(self.listen))
    }
}

choice! {
    /// A language of messages; `Display` writes its tag.
    #[derive(Default, Serialize, Deserialize)]
    pub enum Language {
        /// English.
        #[default]
        En = "en",
        /// Chinese.
        Zh = "zh",
    }
}

impl Language {
    /// Selects one of two texts.
    pub fn of<T>(self, [english, chinese]: [T; 2]) -> T {
        match self {
            Self::En => english,
            Self::Zh => chinese,
        }
    }
}

choice! {
    /// The role of users without an assigned role. No user becomes an administrator by default.
    pub enum DefaultRole {
        /// Employees.
        User = "user",
        /// Support staff.
        Agent = "agent",
        /// Supervisors of support staff.
        Supervisor = "supervisor",
        /// Security staff.
        Security = "security",
        /// The sign-in is refused.
        None = "none",
    }
}
