//! The table of settings: the only place that lists every key.
//!
//! The order matters: `config show` and the example file follow it, TOML requires top-level keys before sections, and
//! `listen` comes before the default that is derived from it.

use std::time::Duration;

use super::key::DefaultSpec::{Optional, PerProfile, RequiredInProduction, Same};
use super::key::{DefaultSpec, SettingKey};
use super::kind::ValueKind;
use super::settings::{BindChoice, DefaultRole, Language, LogFormat, LogLevel, PasswordFallback};

/// This machine.
const LOOPBACK: &str = "127.0.0.0/8,::1/128";

/// Loopback and private ranges: the default networks of operators, and of proxies in development mode.
const PRIVATE_NETWORKS: &str = "127.0.0.0/8,::1/128,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7,fe80::/10";

/// Long enough for any timeout of a client, short enough to catch a wrong unit.
const CLIENT_TIMEOUT: ValueKind = ValueKind::Duration { min: Duration::from_millis(100), max: Duration::from_hours(1) };

/// As [`CLIENT_TIMEOUT`], for waits that may be zero.
const OPTIONAL_WAIT: ValueKind = ValueKind::Duration { min: Duration::ZERO, max: Duration::from_hours(1) };

const DAY: Duration = Duration::from_hours(24);

/// Far above the number of connections that one process can hold, far below the limit of a semaphore.
const CONNECTION_COUNT: ValueKind = ValueKind::Count { min: 1, max: 1_000_000 };

const fn key(name: &'static str, kind: ValueKind, default_spec: DefaultSpec, help: &'static str) -> SettingKey {
    SettingKey { name, kind, default_spec, help }
}

/// The key with exactly this name.
pub(super) fn find(name: &str) -> Option<&'static SettingKey> {
    KEYS.iter().find(|key| key.name == name)
}

/// Whether this is the name of a section.
pub(super) fn is_section(name: &str) -> bool {
    KEYS.iter().any(|key| key.parts().0 == Some(name))
}

/// All settings.
pub(super) static KEYS: &[SettingKey] = &[
    key("listen", ValueKind::Address, Same("127.0.0.1:8080"), "Where the service listens. Port 0 takes a free port."),
    key(
        "data",
        ValueKind::Path,
        Same("./data"),
        "The directory of the embedded database. A relative path counts from the working \
         directory. Not used when store.url is set.",
    ),
    key(
        "public_url",
        ValueKind::PublicUrl,
        RequiredInProduction { development: Some("http://{listen}"), example: "https://desk.example.com" },
        "The origin under which browsers and phones reach the service. Production wants https, \
         except on localhost; in development it follows the listening address.",
    ),
    key(
        "default_language",
        ValueKind::Choice(Language::WORDS),
        Same("en"),
        "The language of messages when a client asks for none that we speak.",
    ),
    key(
        "encryption_key",
        ValueKind::EncryptionKey,
        RequiredInProduction { development: None, example: "" },
        "Encrypts what must be readable again: everything that is left in Redis, and agents' one-time-password \
         devices. Their recovery codes and passwords count only together with it. All nodes need the same one. \
         Keep a copy, and not with the backups: whoever loses or changes it must reset the device and the password \
         of every agent. Changing it also ends sign-ins that are under way, and no sessions.",
    ),
    key(
        "trusted_proxies",
        ValueKind::Networks,
        PerProfile { development: PRIVATE_NETWORKS, production: LOOPBACK },
        "Proxies whose X-Forwarded-For is believed. List the addresses of your proxies and nothing else: a client \
         that sends from one of them chooses the address that limits and allow-lists go by. A request with the header from another \
         private address is refused and logged, because a proxy that is not listed makes all its clients look like one; \
         from a public address the header is ignored.",
    ),
    key(
        "redirect_origins",
        ValueKind::Origins,
        Same(""),
        "Other origins whose pages under /h5/, /itagent/ and /itadmin/ people may be sent back to \
         after signing in. The service's own origin always counts.",
    ),
    key(
        "default_role",
        ValueKind::Choice(DefaultRole::WORDS),
        Same("user"),
        "The role of whoever the platform vouches for and nobody gave a role here, lent for the session. none turns them away.",
    ),
    key(
        "development.enabled",
        ValueKind::Flag,
        Same("false"),
        "Development mode: seeded users, sign-in without proof. Also set by \
         --dev; never for real users.",
    ),
    key(
        "development.allow_remote",
        ValueKind::Flag,
        Same("false"),
        "Lets development mode listen on an address that others can reach, and so sign in as \
         anyone. Also set by --dev-allow-remote.",
    ),
    key(
        "development.hosts",
        ValueKind::Hosts,
        Same(""),
        "Other host names that development mode answers to. localhost, loopback addresses, the listening address and the \
         host of public_url always count, and every IP address where allow_remote is on. A request that names another \
         host is refused: a foreign page could otherwise reach the service through a name of its own (DNS rebinding).",
    ),
    key(
        "store.url",
        ValueKind::StoreUrl,
        Optional { development: None, example: "postgres://desk@db.example.com:5432/desk" },
        "Where PostgreSQL is, for several nodes on the same data; one node does well without it, on the \
         embedded database in data. Goes together with shared.url: both or neither. Of a user and password, \
         the characters @ : / ? # % and blanks are percent-encoded: p@ss is written p%40ss. Keep a password \
         out of files that others read: DESKPASS_STORE__URL_FILE names one of its own. Over a network \
         TLS is required, with a certificate that this machine or tls.ca_file trusts, unless sslmode=prefer or \
         sslmode=disable behind a ? says otherwise; on loopback and sockets none is used unless sslmode=require does.",
    ),
    key(
        "store.connections",
        ValueKind::Count { min: 2, max: 1_000 },
        Same("10"),
        "Connections to PostgreSQL that a node opens at most. All nodes together stay below what the server \
         allows (max_connections).",
    ),
    key(
        "shared.url",
        ValueKind::SharedUrl,
        Optional { development: None, example: "redis://redis.example.com:6379" },
        "Where Redis or Valkey is: it holds what nodes share and may be lost, such as sign-ins under way. Goes \
         together with store.url: both or neither. Percent-encoding as there. A password without a user \
         follows a colon: redis://:PASSWORD@redis.example.com.",
    ),
    key(
        "shared.prefix",
        ValueKind::Identifier("deskpass"),
        Same("deskpass"),
        "What the names of all keys in Redis begin with. Desks that share a Redis but no data need different \
         ones.",
    ),
    key(
        "tls.ca_file",
        ValueKind::Path,
        Optional { development: None, example: "/etc/deskpass/authority.pem" },
        "Certificates (PEM) of an authority of your own that PostgreSQL and Redis are trusted by, besides those \
         the system trusts.",
    ),
    key(
        "platform.corp_id",
        ValueKind::Identifier("ww0123456789abcdef"),
        RequiredInProduction { development: Some("wwdeskpass"), example: "ww0123456789abcdef" },
        "The main corporation's id at the platform.",
    ),
    key(
        "platform.secret",
        ValueKind::Secret,
        RequiredInProduction { development: None, example: "" },
        "The application's secret at the platform. Development mode refuses to start with one.",
    ),
    key(
        "platform.agent_id",
        ValueKind::AgentId,
        Optional { development: Some("1000002"), example: "1000002" },
        "The application's id (AgentId) at the platform. Without it the sign-in link has no agentid, and signing in on a \
         computer without a phone (mode=web) is off.",
    ),
    key(
        "platform.api_url",
        ValueKind::WebUrl,
        PerProfile { development: "http://{listen}/sim", production: "https://qyapi.weixin.qq.com" },
        "Where the platform's API is. Private deployments of the platform have their own.",
    ),
    key(
        "platform.authorize_url",
        ValueKind::WebUrl,
        PerProfile {
            development: "{public_url}/sim/connect/oauth2/authorize",
            production: "https://open.weixin.qq.com/connect/oauth2/authorize",
        },
        "The page where people inside the platform's client are identified.",
    ),
    key(
        "platform.web_login_url",
        ValueKind::WebUrl,
        PerProfile {
            development: "{public_url}/sim/wwlogin/sso/login",
            production: "https://login.work.weixin.qq.com/wwlogin/sso/login",
        },
        "The page where people sign in on a computer.",
    ),
    key(
        "platform.proxy",
        ValueKind::WebUrl,
        Optional { development: None, example: "http://proxy.example.com:3128" },
        "The proxy for calls to the platform, for sites whose own address changes: the platform wants \
         to know it. Proxy variables of the environment are not read.",
    ),
    key(
        "platform.verify_file",
        ValueKind::Path,
        Optional { development: None, example: "/etc/deskpass/WW_verify_0123456789abcdef.txt" },
        "The file by which the platform verifies that the domain is yours. It is served at the root \
         under its own name.",
    ),
    key(
        "session.lifetime",
        ValueKind::Duration { min: Duration::from_mins(1), max: Duration::from_hours(30 * 24) },
        Same("8h"),
        "How long a session lasts after sign-in, however much it is used.",
    ),
    key(
        "session.max_per_employee",
        ValueKind::Count { min: 0, max: 1_000_000 },
        PerProfile { development: "0", production: "20" },
        "Sessions an employee may have at once; one more ends the oldest. 0 means any number.",
    ),
    key(
        "session.cache_entries",
        ValueKind::Count { min: 1_000, max: 100_000_000 },
        Same("1000000"),
        "Sessions kept in memory, so that checking a token needs no database. Each takes about 300 \
         bytes, and up to 800 when no two are of the same person.",
    ),
    key(
        "bind.mode",
        ValueKind::Choice(BindChoice::WORDS),
        Same("auto"),
        "Who may sign in by naming an employee: whoever has a proof from the platform (proof), anyone \
         (open), or nobody (off). auto is open in development and proof in production. Sessions that \
         begin without a proof outside development mode never act as admin.",
    ),
    key(
        "bind.networks",
        ValueKind::Networks,
        Same(""),
        "The networks that may call bind when it is open outside development mode.",
    ),
    key(
        "agents.password_fallback",
        ValueKind::Choice(PasswordFallback::WORDS),
        PerProfile { development: "always", production: "outage" },
        "When agents may sign in with a password and a one-time password instead of through the platform: always, \
         only while the platform cannot be reached (outage), or never (off).",
    ),
    key(
        "access.matrix_file",
        ValueKind::Path,
        Optional { development: None, example: "/etc/deskpass/matrix.toml" },
        "A file that replaces the built-in access matrix: which role may do what, and how far. \
         `deskpass config matrix` prints the one in force, to start from. It is read at start; all nodes need the \
         same one.",
    ),
    key(
        "audit.retention",
        ValueKind::Duration { min: DAY, max: Duration::from_hours(3650 * 24) },
        Same("400d"),
        "How long rows of the login log are kept: sign-ins, refusals and changes by administrators.",
    ),
    key(
        "sockets.query_token",
        ValueKind::Flag,
        PerProfile { development: "true", production: "false" },
        "Whether a socket may be opened with its token in the address (?token=), where proxies and browsers write it \
         down. Clients that can choose offer it as a subprotocol.",
    ),
    key(
        "sockets.ping",
        CLIENT_TIMEOUT,
        Same("30s"),
        "How often a client that holds a socket is asked whether it is still there. One that says nothing twice in a \
         row is closed. Keep it below what proxies in front allow a silent connection.",
    ),
    key(
        "sockets.max_per_employee",
        ValueKind::Count { min: 1, max: 1_000 },
        Same("10"),
        "Sockets that a person may have open on one node. The oldest is closed when one more is opened.",
    ),
    key(
        "sockets.max_per_address",
        CONNECTION_COUNT,
        Same("1000"),
        "Sockets open at once from one address or IPv6 /64, as proxies tell it; one more gets 1006 (HTTP 429). All \
         sockets together take at most half of server.max_connections.",
    ),
    key(
        "limits.enabled",
        ValueKind::Flag,
        PerProfile { development: "false", production: "true" },
        "Whether clients may ask only so often. Whoever asks more often gets 1006 (HTTP 429) and is told when to \
         come back. All nodes count together; while Redis is away, each counts for itself.",
    ),
    key(
        "limits.qrcode",
        ValueKind::Rate,
        Same("30/min"),
        "QR codes for one address or IPv6 /64. As many may come at once, and then one for each that the rate lets \
         through: of 30 a minute, one every two seconds. A whole office may share one address.",
    ),
    key("limits.oauth_url", ValueKind::Rate, Same("60/min"), "Sign-ins begun through oauth2/url from one address."),
    key(
        "limits.sign_in",
        ValueKind::Rate,
        Same("300/min"),
        "From one address, all together: coming back from the platform (oauth2/callback), oauth2/pending, \
         oauth2/continue, and the phone's scan/request, scan/confirm and scan/cancel.",
    ),
    key(
        "limits.scan_status",
        ValueKind::Rate,
        Same("2/s"),
        "Calls of scan/status and scan/events about one ticket, from wherever; where there is no such ticket, from \
         one address.",
    ),
    key("limits.bind", ValueKind::Rate, Same("20/min"), "Calls of bind from one address."),
    key(
        "limits.agents_login",
        ValueKind::Rate,
        Same("10/min"),
        "Sign-ins of agents through agents/login from one address. Wrong passwords are counted for each agent besides, \
         whatever the limits.",
    ),
    key(
        "limits.otp",
        ValueKind::Rate,
        Same("10/min"),
        "Calls about one-time passwords (otp-setup, otp-bind, otp-verify and the like) from one address, all together.",
    ),
    key(
        "limits.verify",
        ValueKind::Rate,
        Same("300/min"),
        "Tokens that are not good, shown to verify from one address. A good token is never limited.",
    ),
    key(
        "server.max_connections",
        CONNECTION_COUNT,
        Same("10000"),
        "Connections open at once. For one more, the one that has waited longest for its client is closed; where none \
         waits, 16 more serve health checks and /metrics alone. Keep it 256 below the limit of open files.",
    ),
    key(
        "server.max_connections_per_address",
        CONNECTION_COUNT,
        Same("256"),
        "Connections open at once from one address or IPv6 /64; one more is closed at once. A trusted \
         proxy may have seven eighths of server.max_connections instead.",
    ),
    key(
        "server.header_timeout",
        CLIENT_TIMEOUT,
        Same("10s"),
        "How long a client may take to send the head of a request.",
    ),
    key(
        "server.idle_timeout",
        CLIENT_TIMEOUT,
        Same("75s"),
        "How long a connection may wait between requests. Keep it longer than a proxy in front keeps \
         its own, so that the proxy is the one to close.",
    ),
    key(
        "server.body_timeout",
        CLIENT_TIMEOUT,
        Same("15s"),
        "How long a client may take to send the body of a request.",
    ),
    key(
        "server.max_body",
        ValueKind::Size { min: 1 << 10, max: 64 << 20 },
        Same("64KiB"),
        "The largest body of a request.",
    ),
    key(
        "server.settle",
        OPTIONAL_WAIT,
        PerProfile { development: "0s", production: "5s" },
        "After SIGTERM, how long readiness is already false before connections are refused, so \
         that load balancers can stop sending requests first.",
    ),
    key(
        "server.drain_timeout",
        OPTIONAL_WAIT,
        Same("30s"),
        "After that, how long requests under way may take to finish.",
    ),
    key("server.operator_networks", ValueKind::Networks, Same(PRIVATE_NETWORKS), "Who may read /metrics."),
    key("log.level", ValueKind::Choice(LogLevel::WORDS), Same("info"), "The least severe messages that are logged."),
    key(
        "log.format",
        ValueKind::Choice(LogFormat::WORDS),
        PerProfile { development: "text", production: "json" },
        "Lines for people, or one JSON object per line for machines.",
    ),
];
