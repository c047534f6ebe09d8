//! The server: its connections, its sockets and its log.
//!
//! The maximum of a number of connections is far above what one process can hold, and far below the limit of a semaphore.
//! The maximum of a timeout is long enough for any client, and short enough to catch a wrong unit.

use std::path::PathBuf;
use std::time::Duration;

use deskpass_derive::Section;
use ipnet::IpNet;

use super::networks::LOOPBACK;
use crate::config::value::{HostName, Size, choice};

/// WebSocket connections.
#[derive(Clone, Debug, Section)]
pub struct Sockets {
    /// Whether a socket may be opened with its token in the address (?token=), which proxies and browsers record. Clients
    /// that can choose send the token as a subprotocol.
    #[setting(development = true, production = false)]
    pub query_token: bool,
    /// The interval at which the client of a socket is pinged. A client that does not respond twice in a row is
    /// disconnected. Keep it shorter than the time for which proxies in front allow a silent connection.
    #[setting(default = "30s", min = "100ms", max = "1h")]
    pub ping: Duration,
    /// The maximum number of open sockets per person on one node. A further one closes the oldest.
    #[setting(default = 10, min = 1, max = 1_000)]
    pub max_per_employee: usize,
    /// The maximum number of open sockets from one address or IPv6 /64, as proxies report it. A further one gets 1006 (HTTP
    /// 429). All sockets together take at most half of `server.max_connections`.
    #[setting(default = 1_000, min = 1, max = 1_000_000)]
    pub max_per_address: usize,
}

/// Limits and timeouts of the HTTP server.
#[derive(Clone, Debug, Section)]
pub struct Server {
    /// The maximum number of open connections. For a further one, the connection that has waited longest for its client is
    /// closed. If none is waiting, 16 additional connections serve only health checks and /metrics. Keep it 256 below the
    /// limit of open files.
    #[setting(default = 10_000, min = 1, max = 1_000_000)]
    pub max_connections: usize,
    /// The maximum number of open connections from one address or IPv6 /64. A further one is closed immediately. A trusted
    /// proxy may have seven eighths of `server.max_connections` instead.
    #[setting(default = 256, min = 1, max = 1_000_000)]
    pub max_connections_per_address: usize,
    /// How long a client may take to send the head of a request.
    #[setting(default = "10s", min = "100ms", max = "1h")]
    pub header_timeout: Duration,
    /// How long a connection may wait between requests. Keep it longer than a proxy in front keeps its connections, so that
    /// the proxy closes them first.
    #[setting(default = "75s", min = "100ms", max = "1h")]
    pub idle_timeout: Duration,
    /// How long a client may take to send the body of a request.
    #[setting(default = "15s", min = "100ms", max = "1h")]
    pub body_timeout: Duration,
    /// The maximum size of a request's body. All bodies that are still arriving have 64 MiB together, and those of one network
    /// (an IPv4 /24 or IPv6 /48) 8 MiB.
    #[setting(default = "64KiB", min = "1KiB", max = "4MiB")]
    pub max_body: Size,
    /// After SIGTERM, how long readiness is false before connections are refused, so that load balancers can stop sending
    /// requests first.
    #[setting(development = "0s", production = "5s", min = "0s", max = "1h")]
    pub settle: Duration,
    /// After that, how long requests in progress may take to finish.
    #[setting(default = "30s", min = "0s", max = "1h")]
    pub drain_timeout: Duration,
    /// The networks that may read /metrics, directly from the node: it is refused with a header that proxies add, and under the
    /// host of `public_url`.
    #[setting(default = LOOPBACK)]
    pub operator_networks: Vec<IpNet>,
    /// Other host names under which clients reach the service, such as a name inside the network. IP addresses, localhost and
    /// the hosts of `public_url` and `redirect_origins` are always accepted. A browser's request under another name is
    /// rejected: otherwise a foreign page could reach the service through a name of its own (DNS rebinding). Programs are
    /// still answered under any name, and the log and `deskpass doctor` show it; a later version refuses them too.
    #[setting(default = "")]
    pub hosts: Vec<HostName>,
    /// The certificate (PEM) for sites without a proxy in front: with it, the service itself speaks TLS 1.2 and 1.3 at
    /// `listen`. The certificates of intermediate authorities follow it in the same file. Set it together with
    /// `server.tls.key`. Both files are read again within 10 seconds after they change.
    #[setting(name = "tls.certificate", example = "/etc/deskpass/certificate.pem")]
    pub tls_certificate: Option<PathBuf>,
    /// The private key (PEM) of the certificate, without a password. Only the service's user may read it.
    #[setting(name = "tls.key", example = "/etc/deskpass/certificate.key")]
    pub tls_key: Option<PathBuf>,
}

/// Level and format of the log.
#[derive(Clone, Debug, Section)]
pub struct Log {
    /// The least severe level that is logged.
    #[setting(default = "info")]
    pub level: LogLevel,
    /// Text for people, or one JSON object per line for machines.
    #[setting(development = "text", production = "json", restart)]
    pub format: LogFormat,
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
