//! The stores that nodes share.

use std::path::PathBuf;
use std::time::Duration;

use deskpass_derive::Section;

use crate::config::value::{Identifier, PostgresUrl, RedisUrl};

/// The database that nodes share.
#[derive(Clone, Debug, Section)]
pub struct Store {
    /// The address of PostgreSQL, for several nodes with the same data. One node works well without it, with the embedded
    /// database in `data`. Set it together with `shared.url`, or set neither. In the user and the password, percent-encode
    /// the characters @ : / ? # % and blanks: p@ss is written p%40ss. Do not put a password in a file that others can read:
    /// `DESKPASS_STORE__URL_FILE` names a separate file. Over a network TLS is required, with a certificate that this
    /// machine or `tls.ca_file` trusts, unless sslmode=prefer or sslmode=disable follows a ? at the end. On loopback and
    /// sockets TLS is used only with sslmode=require.
    #[setting(restart, example = "postgres://desk@db.example.com:5432/desk")]
    pub url: Option<PostgresUrl>,
    /// The maximum number of connections of a node to PostgreSQL. The total of all nodes must stay below the limit of the
    /// server (`max_connections`).
    #[setting(default = 10, restart, min = 2, max = 1_000)]
    pub connections: usize,
    /// How long a use of PostgreSQL may take, waiting for a connection included. After that, the request is rejected with
    /// 503 and the cause store unavailable.
    #[setting(default = "2s", restart, min = "500ms", max = "1min")]
    pub timeout: Duration,
}

/// The ephemeral store that nodes share.
#[derive(Clone, Debug, Section)]
pub struct Shared {
    /// The address of Redis or Valkey, which holds the data that nodes share and that may be lost, such as sign-ins in
    /// progress. Set it together with `store.url`, or set neither. Percent-encoding is the same as there. A password
    /// without a user follows a colon: `redis://:PASSWORD@redis.example.com`.
    #[setting(restart, example = "redis://redis.example.com:6379")]
    pub url: Option<RedisUrl>,
    /// The prefix of the names of all keys in Redis. Deployments that share a Redis but no data need different prefixes.
    #[setting(default = "deskpass", restart)]
    pub prefix: Identifier,
    /// How long a call to Redis may take. After that, the request is rejected with 503 and the cause
    /// shared store unavailable, if it needs the answer.
    #[setting(default = "1s", restart, min = "200ms", max = "1min")]
    pub timeout: Duration,
    /// How many sign-ins in progress Redis keeps at most, for all nodes, and half as many other
    /// requests of each kind. Beyond it, the network that has most loses its oldest one.
    /// docs/capacity.md says how many there are.
    #[setting(default = 50_000, restart, min = 1_000, max = 1_000_000)]
    pub max_sign_ins: usize,
}

/// TLS of the connections to PostgreSQL and Redis.
#[derive(Clone, Debug, Section)]
pub struct Tls {
    /// Certificates (PEM) of an authority of your own that is trusted for PostgreSQL and Redis, in addition to those that
    /// the system trusts.
    #[setting(restart, example = "/etc/deskpass/authority.pem")]
    pub ca_file: Option<PathBuf>,
}
