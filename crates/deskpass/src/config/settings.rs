//! The settings as the rest of the service uses them: typed, checked, complete.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use deskpass_core::{HostNames, PermissionMatrix, Rate};
use ipnet::IpNet;

use super::choice::choice;
use super::listen_address::connect_address;
use super::secret::{EncryptionKey, SecretText};
use super::secret_url::SecretUrl;

/// The settings of the service.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address to listen on; port 0 selects a free port.
    pub listen: SocketAddr,
    /// The directory of the embedded database; not used with PostgreSQL.
    pub data: PathBuf,
    /// The origin at which browsers and phones reach the service, without a trailing slash.
    pub public_url: String,
    /// The language of messages if the client requests no supported one.
    pub default_language: Language,
    /// Encrypts data that must be decrypted again; production always has one.
    pub encryption_key: Option<EncryptionKey>,
    /// Peers whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Other origins that users may be redirected to.
    pub redirect_origins: Vec<String>,
    /// The role of users whom the platform vouches for and who have no assigned role.
    pub default_role: DefaultRole,
    /// Whether the service runs in development mode rather than production.
    pub development: bool,
    /// Whether development mode may listen on an address that other machines can reach.
    pub development_remote: bool,
    /// Additional host names that development mode accepts.
    pub development_hosts: Vec<String>,
    /// The database that nodes share.
    pub store: Store,
    /// The ephemeral store that nodes share.
    pub shared: Shared,
    /// TLS of the connections to both.
    pub tls: Tls,
    /// The platform that identifies users.
    pub platform: Platform,
    /// The lifetime and number of sessions.
    pub session: Session,
    /// Binding identities of connected corporations.
    pub bind: Bind,
    /// Agents and their passwords.
    pub agents: Agents,
    /// The access matrix.
    pub access: Access,
    /// The retention of the audit log.
    pub audit: Audit,
    /// WebSocket connections.
    pub sockets: Sockets,
    /// Rate limits.
    pub limits: Limits,
    /// Limits and timeouts of the HTTP server.
    pub server: Server,
    /// Level and format of the log.
    pub log: Log,
    /// The files that secrets were read from.
    pub secret_files: Vec<PathBuf>,
}

/// Seals data in development, as [`Settings::encryption_key`] does in production. It is public.
const DEVELOPMENT_KEY: [u8; 32] = *b"deskpass in development: no key!";

impl Settings {
    /// The key that seals all records in Redis.
    #[must_use]
    pub fn sealing_key(&self) -> [u8; 32] {
        self.encryption_key.as_ref().map_or(DEVELOPMENT_KEY, |key| *key.as_bytes())
    }

    /// The hosts that development mode accepts: this machine, the listening address, the public address, and the listed ones. If
    /// other machines may reach the service, also the machine's IP addresses, which no foreign page can claim as its host.
    #[must_use]
    pub fn hosts(&self) -> HostNames {
        let own = HostNames::local().with(&self.listen.to_string()).with_origin(&self.public_url);
        let listed = self.development_hosts.iter().fold(own, |hosts, host| hosts.with(host));
        listed.with_any_address(self.development_remote)
    }

    /// The location of the data, safe to show: the directory, or the address without its password.
    #[must_use]
    pub fn data_location(&self) -> String {
        self.store.url.as_ref().map_or_else(|| self.data.display().to_string(), ToString::to_string)
    }

    /// Replaces port 0 by the port that was selected, also in all addresses derived from the listening address.
    #[must_use]
    pub fn with_listen_address(mut self, address: SocketAddr) -> Self {
        let (asked, taken) = (format!("//{}", connect_address(self.listen)), format!("//{}", connect_address(address)));
        let Platform { api_url, authorize_url, web_login_url, .. } = &mut self.platform;
        for url in [&mut self.public_url, api_url, authorize_url, web_login_url] {
            *url = url.replacen(&asked, &taken, 1);
        }
        self.listen = address;
        self
    }
}

/// The database that nodes share.
#[derive(Clone, Debug)]
pub struct Store {
    /// The address of PostgreSQL; without it the database is embedded. Set together with [`Shared::url`].
    pub url: Option<SecretUrl>,
    /// The maximum number of connections.
    pub connections: usize,
}

/// The ephemeral store that nodes share.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The address of Redis. Set together with [`Store::url`].
    pub url: Option<SecretUrl>,
    /// The prefix of all keys in Redis.
    pub prefix: String,
}

/// TLS of the connections to PostgreSQL and Redis.
#[derive(Clone, Debug)]
pub struct Tls {
    /// Certificates of an authority that is trusted in addition to the system's.
    pub ca_file: Option<PathBuf>,
}

/// The platform that identifies users.
#[derive(Clone, Debug)]
pub struct Platform {
    /// The main corporation's id.
    pub corp_id: String,
    /// The application's secret; production always has one, development never.
    pub secret: Option<SecretText>,
    /// The application's id.
    pub agent_id: Option<String>,
    /// The address of the platform's API.
    pub api_url: String,
    /// The page that identifies users inside the platform's client.
    pub authorize_url: String,
    /// The page where users sign in on a computer.
    pub web_login_url: String,
    /// The proxy for calls to the platform.
    pub proxy: Option<String>,
    /// The file by which the platform verifies the domain.
    pub verify_file: Option<PathBuf>,
}

/// The lifetime and number of sessions.
#[derive(Clone, Debug)]
pub struct Session {
    /// The lifetime of a session, from the sign-in.
    pub lifetime: Duration,
    /// The maximum number of sessions per employee; `None` is unlimited.
    pub max_per_employee: Option<NonZeroUsize>,
    /// The maximum number of cached sessions.
    pub cache_entries: usize,
}

/// Binding identities of connected corporations.
#[derive(Clone, Debug)]
pub struct Bind {
    /// What a binding requires.
    pub mode: BindMode,
    /// The networks that may call it if it is open outside development mode.
    pub networks: Vec<IpNet>,
}

/// What a binding requires, with `auto` resolved for the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindMode {
    /// A bind proof from the platform.
    Proof,
    /// Nothing.
    Open,
    /// Binding is disabled.
    Off,
}

/// Agents and their passwords.
#[derive(Clone, Debug)]
pub struct Agents {
    /// When agents may sign in with a password.
    pub password_fallback: PasswordFallback,
}

/// The access matrix.
#[derive(Clone, Debug)]
pub struct Access {
    /// The widest scope of each role, from the configured file or else from the built-in matrix.
    pub matrix: PermissionMatrix,
    /// The file that replaces the built-in matrix.
    pub matrix_file: Option<PathBuf>,
}

/// The retention of the audit log.
#[derive(Clone, Debug)]
pub struct Audit {
    /// How long rows of the login log are kept.
    pub retention: Duration,
}

/// WebSocket connections.
#[derive(Clone, Debug)]
pub struct Sockets {
    /// Whether the address may contain a token.
    pub query_token: bool,
    /// The interval of pings.
    pub ping: Duration,
    /// The maximum number per person on one node.
    pub max_per_employee: usize,
    /// The maximum number per address.
    pub max_per_address: usize,
}

/// Rate limits; `None` is unlimited.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Whether rate limits are enabled.
    pub enabled: bool,
    /// QR codes, per address.
    pub qrcode: Option<Rate>,
    /// Authorization URLs of the platform, per address.
    pub oauth_url: Option<Rate>,
    /// The later steps of a sign-in, together, per address.
    pub sign_in: Option<Rate>,
    /// Polls of a sign-in's status, per ticket.
    pub scan_status: Option<Rate>,
    /// Bindings, per address.
    pub bind: Option<Rate>,
    /// Sign-ins of agents, per address.
    pub agents_login: Option<Rate>,
    /// All operations with one-time passwords, together, per address.
    pub otp: Option<Rate>,
    /// Invalid tokens, per address.
    pub verify: Option<Rate>,
}

/// Limits and timeouts of the HTTP server.
#[derive(Clone, Debug)]
pub struct Server {
    /// The maximum number of open connections.
    pub max_connections: usize,
    /// The maximum number of open connections from one address that is not a trusted proxy's.
    pub max_connections_per_address: usize,
    /// The timeout for the head of a request.
    pub header_timeout: Duration,
    /// The timeout of a connection between requests.
    pub idle_timeout: Duration,
    /// The timeout for the body of a request.
    pub body_timeout: Duration,
    /// The maximum size of a request's body, in bytes.
    pub max_body: usize,
    /// After SIGTERM, how long readiness is false before connections are refused.
    pub settle: Duration,
    /// After that, how long requests in progress may take to finish.
    pub drain_timeout: Duration,
    /// The networks that may read `/metrics`.
    pub operator_networks: Vec<IpNet>,
}

/// Level and format of the log.
#[derive(Clone, Debug)]
pub struct Log {
    /// The least severe level that is logged.
    pub level: LogLevel,
    /// Text for people or JSON for machines.
    pub format: LogFormat,
}

choice! {
    /// A language of messages; `Display` writes its tag.
    pub enum Language {
        /// English.
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

choice! {
    /// `bind.mode` as written in the settings; it resolves to a [`BindMode`].
    pub(super) enum BindChoice {
        /// Open in development, proof otherwise.
        Auto = "auto",
        /// As [`BindMode::Proof`].
        Proof = "proof",
        /// As [`BindMode::Open`].
        Open = "open",
        /// As [`BindMode::Off`].
        Off = "off",
    }
}

impl BindChoice {
    /// Resolves the mode for the profile.
    pub(super) fn resolve(self, development: bool) -> BindMode {
        match self {
            Self::Auto if development => BindMode::Open,
            Self::Auto | Self::Proof => BindMode::Proof,
            Self::Open => BindMode::Open,
            Self::Off => BindMode::Off,
        }
    }
}

choice! {
    /// When agents may sign in with a password instead of through the platform.
    pub enum PasswordFallback {
        /// At any time.
        Always = "always",
        /// While the platform cannot be reached.
        Outage = "outage",
        /// Never.
        Off = "off",
    }
}

choice! {
    /// The severity of a message; `Display` writes the word that tracing uses.
    pub enum LogLevel {
        /// Failures only.
        Error = "error",
        /// Also conditions that may lead to a failure.
        Warn = "warn",
        /// Also events for operators.
        Info = "info",
        /// Also details for developers.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}

choice! {
    /// The format of log lines.
    pub enum LogFormat {
        /// Text for people.
        Text = "text",
        /// One JSON object per line.
        Json = "json",
    }
}
