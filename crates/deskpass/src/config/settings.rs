//! The settings as the rest of the service sees them: typed, checked, complete.

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

/// What the service runs with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the service listens; port 0 takes a free port.
    pub listen: SocketAddr,
    /// The directory of the embedded database; not used when there is another one.
    pub data: PathBuf,
    /// The origin under which browsers and phones reach the service, without a trailing slash.
    pub public_url: String,
    /// The language of messages when a client asks for none that we speak.
    pub default_language: Language,
    /// Encrypts what must be readable again; production always has one.
    pub encryption_key: Option<EncryptionKey>,
    /// Peers whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Other origins whose pages people may be sent back to.
    pub redirect_origins: Vec<String>,
    /// The role of whoever the platform vouches for and nobody gave one.
    pub default_role: DefaultRole,
    /// Development mode rather than production.
    pub development: bool,
    /// Whether development mode may listen where others reach it.
    pub development_remote: bool,
    /// Other host names that development mode answers to.
    pub development_hosts: Vec<String>,
    /// The database that nodes share.
    pub store: Store,
    /// What nodes share and may be lost.
    pub shared: Shared,
    /// How connections to both are encrypted.
    pub tls: Tls,
    /// The platform that proves who people are.
    pub platform: Platform,
    /// How long and how many.
    pub session: Session,
    /// Binding identities of connected corporations.
    pub bind: Bind,
    /// Support staff and their passwords.
    pub agents: Agents,
    /// Who may do what.
    pub access: Access,
    /// What is kept of what happened.
    pub audit: Audit,
    /// Clients that stay connected.
    pub sockets: Sockets,
    /// How often clients may ask.
    pub limits: Limits,
    /// Limits and patience of the HTTP server.
    pub server: Server,
    /// What is logged, and how.
    pub log: Log,
    /// The files that secrets were read from.
    pub secret_files: Vec<PathBuf>,
}

/// Seals in development what [`Settings::encryption_key`] seals in production. Everybody can read it here.
const DEVELOPMENT_KEY: [u8; 32] = *b"deskpass in development: no key!";

impl Settings {
    /// What seals everything that is left in Redis.
    #[must_use]
    pub fn sealing_key(&self) -> [u8; 32] {
        self.encryption_key.as_ref().map_or(DEVELOPMENT_KEY, |key| *key.as_bytes())
    }

    /// The hosts that development mode answers to: this machine, where it listens, where it is known to be, and what is listed.
    /// Where others may reach it they do so by the machine's addresses, which no foreign page can claim to be.
    #[must_use]
    pub fn hosts(&self) -> HostNames {
        let own = HostNames::local().with(&self.listen.to_string()).with_origin(&self.public_url);
        let listed = self.development_hosts.iter().fold(own, |hosts, host| hosts.with(host));
        listed.with_any_address(self.development_remote)
    }

    /// Where the data is, fit to be shown: the directory, or the address without its password.
    #[must_use]
    pub fn data_location(&self) -> String {
        self.store.url.as_ref().map_or_else(|| self.data.display().to_string(), ToString::to_string)
    }

    /// The same settings, once a free port was taken: what was made from the address asked for follows.
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
    /// Where PostgreSQL is; without it the database is embedded. Set together with [`Shared::url`].
    pub url: Option<SecretUrl>,
    /// How many connections to it are opened at most.
    pub connections: usize,
}

/// What nodes share and may be lost.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Where Redis is. Set together with [`Store::url`].
    pub url: Option<SecretUrl>,
    /// What the names of its keys begin with.
    pub prefix: String,
}

/// How connections to PostgreSQL and Redis are encrypted.
#[derive(Clone, Debug)]
pub struct Tls {
    /// Certificates of an authority that is trusted besides the system's.
    pub ca_file: Option<PathBuf>,
}

/// The platform that proves who people are.
#[derive(Clone, Debug)]
pub struct Platform {
    /// The main corporation's id.
    pub corp_id: String,
    /// The application's secret; production always has one, development never.
    pub secret: Option<SecretText>,
    /// The application's id.
    pub agent_id: Option<String>,
    /// Where the platform's API is.
    pub api_url: String,
    /// The page where people inside the platform's client are identified.
    pub authorize_url: String,
    /// The page where people sign in on a computer.
    pub web_login_url: String,
    /// The proxy for calls to the platform.
    pub proxy: Option<String>,
    /// The file by which the platform verifies the domain.
    pub verify_file: Option<PathBuf>,
}

/// Sessions: how long and how many.
#[derive(Clone, Debug)]
pub struct Session {
    /// How long a session lasts after sign-in.
    pub lifetime: Duration,
    /// How many an employee may have at once; `None` is any number.
    pub max_per_employee: Option<NonZeroUsize>,
    /// How many are kept in memory.
    pub cache_entries: usize,
}

/// Binding identities of connected corporations.
#[derive(Clone, Debug)]
pub struct Bind {
    /// What a bind needs.
    pub mode: BindMode,
    /// Who may call it when it is open outside development mode.
    pub networks: Vec<IpNet>,
}

/// What a bind needs, with `auto` resolved for the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindMode {
    /// A proof from the platform.
    Proof,
    /// Nothing.
    Open,
    /// It is refused.
    Off,
}

/// Support staff and their passwords.
#[derive(Clone, Debug)]
pub struct Agents {
    /// When a password will do.
    pub password_fallback: PasswordFallback,
}

/// Who may do what.
#[derive(Clone, Debug)]
pub struct Access {
    /// The widest scope of each role, from the file that replaces the built-in matrix where one is named.
    pub matrix: PermissionMatrix,
    /// That file.
    pub matrix_file: Option<PathBuf>,
}

/// What is kept of what happened.
#[derive(Clone, Debug)]
pub struct Audit {
    /// How long rows of the login log are kept.
    pub retention: Duration,
}

/// Clients that stay connected.
#[derive(Clone, Debug)]
pub struct Sockets {
    /// Whether a token may stand in the address.
    pub query_token: bool,
    /// How often they are asked whether they are there.
    pub ping: Duration,
    /// How many a person may have on one node.
    pub max_per_employee: usize,
    /// How many may come from one address.
    pub max_per_address: usize,
}

/// How often clients may ask; `None` is as often as they like.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Whether any of it counts.
    pub enabled: bool,
    /// QR codes, by address.
    pub qrcode: Option<Rate>,
    /// Addresses to go to the platform with, by address.
    pub oauth_url: Option<Rate>,
    /// The steps of a sign-in after that, together, by address.
    pub sign_in: Option<Rate>,
    /// Looks at a sign-in, by ticket.
    pub scan_status: Option<Rate>,
    /// Binding, by address.
    pub bind: Option<Rate>,
    /// Sign-ins of agents, by address.
    pub agents_login: Option<Rate>,
    /// Everything about one-time passwords, together, by address.
    pub otp: Option<Rate>,
    /// Tokens that are not good, by address.
    pub verify: Option<Rate>,
}

/// Limits and patience of the HTTP server.
#[derive(Clone, Debug)]
pub struct Server {
    /// Connections open at once.
    pub max_connections: usize,
    /// Connections open at once from one address that is not a trusted proxy's.
    pub max_connections_per_address: usize,
    /// How long a client may take to send the head of a request.
    pub header_timeout: Duration,
    /// How long a connection may wait between requests.
    pub idle_timeout: Duration,
    /// How long a client may take to send the body of a request.
    pub body_timeout: Duration,
    /// The largest body of a request, in bytes.
    pub max_body: usize,
    /// After SIGTERM, how long readiness is false before connections are refused.
    pub settle: Duration,
    /// After that, how long requests under way may take to finish.
    pub drain_timeout: Duration,
    /// Who may read `/metrics`.
    pub operator_networks: Vec<IpNet>,
}

/// What is logged, and how.
#[derive(Clone, Debug)]
pub struct Log {
    /// The least severe messages that are logged.
    pub level: LogLevel,
    /// For people or for machines.
    pub format: LogFormat,
}

choice! {
    /// A language that messages come in; `Display` writes its tag.
    pub enum Language {
        /// English.
        En = "en",
        /// Chinese.
        Zh = "zh",
    }
}

impl Language {
    /// One of two wordings.
    pub fn of<T>(self, [english, chinese]: [T; 2]) -> T {
        match self {
            Self::En => english,
            Self::Zh => chinese,
        }
    }
}

choice! {
    /// The role of whoever nobody gave one. Nobody becomes an administrator by default.
    pub enum DefaultRole {
        /// Employees.
        User = "user",
        /// Support staff.
        Agent = "agent",
        /// Those who look after support staff.
        Supervisor = "supervisor",
        /// Those who look after security.
        Security = "security",
        /// They are turned away.
        None = "none",
    }
}

choice! {
    /// `bind.mode` as it is written; [`BindMode`] is what it comes to.
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
    /// What it comes to in this profile.
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
        /// Whenever they like.
        Always = "always",
        /// While the platform cannot be reached.
        Outage = "outage",
        /// Never.
        Off = "off",
    }
}

choice! {
    /// The severity of a message; `Display` writes the word that tracing knows it by.
    pub enum LogLevel {
        /// Failures only.
        Error = "error",
        /// And what may become one.
        Warn = "warn",
        /// And what an operator wants to know.
        Info = "info",
        /// And what a developer wants to know.
        Debug = "debug",
        /// And everything else.
        Trace = "trace",
    }
}

choice! {
    /// How log lines are written.
    pub enum LogFormat {
        /// Lines for people.
        Text = "text",
        /// One JSON object a line.
        Json = "json",
    }
}
