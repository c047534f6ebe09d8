//! The address of the database server and the connection options.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::{CancelToken, Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PostgresSettings;
use super::primary_proof::SharedProof;
use crate::{OpenError, Result, StoreError, tls};

/// The connect timeout per server when there are several, short enough to try all before the caller gives up.
const PER_SERVER_TIMEOUT: Duration = Duration::from_millis(600);
/// The timeout of a request to cancel a statement. A server that is gone would not answer.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub(super) struct PostgresAddress {
    /// One configuration per server. One of the servers accepts writes.
    servers: Vec<Config>,
    /// The index of the server that is tried first: the one that was connected to last.
    preferred: Arc<AtomicUsize>,
    /// The number of servers that the journal reader has used so far.
    generation: Arc<AtomicU64>,
    pub(super) proof: Arc<SharedProof>,
    tls: MakeRustlsConnect,
    /// The timeout of a use of the database, and so of connecting when there is one server.
    pub(super) timeout: Duration,
}

impl PostgresAddress {
    pub(super) fn new(settings: &PostgresSettings) -> Result<Self, OpenError> {
        let servers = split_hosts(&settings.url).into_iter().map(|url| {
            // The parser's error names the option and the reason, never the password.
            let config: Result<Config, Error> = url.parse();
            config.map_err(|error| OpenError::Url(root_cause(&error)))
        });
        let mut servers = servers.collect::<Result<Vec<_>, _>>()?;
        let local = servers.iter().all(is_local);
        for config in &mut servers {
            prepare(config, local, has_sslmode(&settings.url));
            config.connect_timeout(settings.timeout);
        }
        let mut trusted = RootCertStore::empty();
        trusted.add_parsable_certificates(tls::trusted_certificates(settings.ca_file.as_deref())?);
        let client = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| OpenError::Url(error.to_string()))?;
        let client = client.with_root_certificates(trusted).with_no_client_auth();
        Ok(Self {
            servers,
            preferred: Arc::default(),
            generation: Arc::default(),
            proof: Arc::default(),
            tls: MakeRustlsConnect::new(client),
            timeout: settings.timeout,
        })
    }

    /// Returns the same address, but also accepts a server that takes no writes. Used for diagnosis.
    pub(super) fn allow_read_only(mut self) -> Self {
        for config in &mut self.servers {
            config.target_session_attrs(TargetSessionAttrs::Any);
        }
        self
    }

    /// Connects to the server that accepts writes. Returns the client, the task that drives the connection, and the index of the server. A
    /// server that does not answer is skipped after a timeout.
    pub(super) async fn connect(&self) -> Result<(Client, BoxFuture<'static, ()>, usize)> {
        let (count, preferred) = (self.servers.len(), self.preferred.load(Ordering::Relaxed));
        let limit = if count > 1 { PER_SERVER_TIMEOUT } else { self.timeout };
        let mut why = StoreError::unavailable(&"store.url names no server");
        for at in (preferred..count).chain(0..preferred.min(count)) {
            let Some(config) = self.servers.get(at) else { continue };
            match timeout(limit, config.connect(self.tls.clone())).await {
                Ok(Ok((client, connection))) => {
                    self.preferred.store(at, Ordering::Relaxed);
                    return Ok((client, async { drop(connection.await) }.boxed(), at));
                }
                Ok(Err(error)) => why = error.into(),
                Err(_) => why = StoreError::timed_out(),
            }
        }
        Err(why)
    }

    /// Tries the next server first from now on, because the one at `index` does not confirm commits: it may have been deposed, and would
    /// still be taken for the server that accepts writes.
    pub(super) fn distrust(&self, index: usize) {
        let next = (index + 1) % self.servers.len().max(1);
        // Fails if another connection has already moved on, which is as good.
        let _ = self.preferred.compare_exchange(index, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The number of servers that the journal reader has used so far. An idle connection from an earlier generation may lead to another
    /// server than the reader's, even at the same address, and would fill the cache with what that server knows.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(super) fn begin_generation(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Asks the server to end the statement of a connection that is given up after a timeout. Otherwise it would wait on: for a lock,
    /// or, as a heartbeat does, for a standby, for which no timeout of the server applies.
    ///
    /// Never for a commit that changed something: it takes effect when its wait for a standby is cancelled, and is lost in the next
    /// failover. The server also reports a cancelled heartbeat as committed, so the connection must not be read any more.
    pub(super) async fn cancel(&self, statement: &CancelToken) {
        // Best effort: the server may be gone.
        drop(timeout(CANCEL_TIMEOUT, statement.cancel_query(self.tls.clone())).await);
    }

    /// Does the same without waiting for it.
    pub(super) fn cancel_in_background(&self, statement: CancelToken) {
        let address = self.clone();
        drop(tokio::spawn(async move { address.cancel(&statement).await }.boxed()));
    }
}

/// Sets the options that all servers have in common.
fn prepare(config: &mut Config, local: bool, has_sslmode: bool) {
    // After a failover, this selects the server that accepts writes.
    config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    config.tcp_user_timeout(Duration::from_secs(5)).keepalives_idle(Duration::from_secs(30));
    if config.get_application_name().is_none() {
        config.application_name("deskpass");
    }
    if !has_sslmode {
        // A network connection must be encrypted, unless the operator configures otherwise.
        config.ssl_mode(if local { SslMode::Disable } else { SslMode::Require });
    } else if !local && config.get_ssl_mode() != SslMode::Require {
        tracing::warn!("connection to PostgreSQL may be unencrypted: set sslmode=require in store.url");
    }
}

/// Splits a URL with several hosts into one URL per host.
fn split_hosts(url: &str) -> Vec<String> {
    let Some((scheme, rest)) = url.split_once("://") else { return vec![url.to_owned()] };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (user, hosts) = authority.rsplit_once('@').map_or(("", authority), |(user, hosts)| (user, hosts));
    let user = if user.is_empty() { String::new() } else { format!("{user}@") };
    hosts.split(',').map(|host| format!("{scheme}://{user}{host}{path}")).collect()
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Shows the address without secrets.
impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers: Vec<_> = self.servers.iter().map(display_host).collect();
        let database = self.servers.first().and_then(|config| config.get_dbname().or(config.get_user()));
        write!(f, "PostgreSQL at {}, database {}", servers.join(","), database.unwrap_or_default())
    }
}

fn display_host(config: &Config) -> String {
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    let port = config.get_ports().first().copied().unwrap_or(5432);
    format!("{}:{port}", hosts.collect::<Vec<_>>().join(","))
}

fn has_sslmode(url: &str) -> bool {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    query.split('&').any(|pair| pair.starts_with("sslmode="))
}

/// Returns whether the connection stays on this machine.
fn is_local(config: &Config) -> bool {
    let local = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback()),
    };
    // Where `hostaddr` is set, the connection uses it, and the host names are not resolved.
    let (hosts, numbers) = (config.get_hosts(), config.get_hostaddrs());
    match numbers {
        [] => !hosts.is_empty() && hosts.iter().all(local),
        numbers => numbers.iter().all(IpAddr::is_loopback),
    }
}

fn root_cause(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).last().map_or_else(String::new, ToString::to_string)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn address(url: &str) -> PostgresAddress {
        PostgresAddress::new(&PostgresSettings::new(url.to_owned())).unwrap()
    }

    #[test]
    fn network_connections_are_encrypted_unless_configured_otherwise() {
        for (url, mode) in [
            ("postgres://desk:secret@db.example.com/desk", SslMode::Require),
            ("postgres://desk:secret@10.0.0.5/desk", SslMode::Require),
            ("postgres://desk@127.0.0.1,db.example.com/desk", SslMode::Require),
            ("postgres://desk:secret@db.example.com/desk?sslmode=disable", SslMode::Disable),
            ("postgres://desk:secret@db.example.com/desk?sslmode=prefer", SslMode::Prefer),
            ("postgres://desk@127.0.0.1/desk", SslMode::Disable),
            ("postgres://desk@[::1]/desk", SslMode::Disable),
            ("postgres://desk@localhost/desk", SslMode::Disable),
            ("postgres:///desk?host=/run/postgresql", SslMode::Disable),
            ("postgres:///desk?hostaddr=10.0.0.5", SslMode::Require),
            ("postgres://desk@localhost/desk?hostaddr=10.0.0.5", SslMode::Require),
            ("postgres://desk@db.example.com/desk?hostaddr=127.0.0.1", SslMode::Disable),
            ("postgres://desk:sslmode=disable@db.example.com/desk", SslMode::Require),
            ("postgres://desk@localhost/desk?sslmode=require", SslMode::Require),
        ] {
            for server in &address(url).servers {
                assert_eq!(server.get_ssl_mode(), mode, "{url}");
            }
        }
    }

    #[test]
    fn several_servers_are_tried_in_turn() {
        let both = split_hosts("postgres://desk:a,b@one.example.com:1,two.example.com:2/desk?sslmode=require");
        assert_eq!(
            both,
            [
                "postgres://desk:a,b@one.example.com:1/desk?sslmode=require",
                "postgres://desk:a,b@two.example.com:2/desk?sslmode=require",
            ]
        );
        assert_eq!(split_hosts("postgres:///desk?host=/run/postgresql"), ["postgres:///desk?host=/run/postgresql"]);
        let shown = address("postgres://desk@one.example.com:1,two.example.com:2/desk").to_string();
        assert_eq!(shown, "PostgreSQL at one.example.com:1,two.example.com:2, database desk");
    }

    #[test]
    fn a_server_that_confirms_no_commits_is_tried_last() {
        let address = address("postgres://desk@one.example.com,two.example.com/desk");
        let preferred = || address.preferred.load(Ordering::Relaxed);
        address.distrust(0);
        assert_eq!(preferred(), 1);
        address.clone().distrust(0);
        assert_eq!(preferred(), 1, "several connections report the same server");
        address.distrust(1);
        assert_eq!(preferred(), 0);
    }

    #[test]
    fn a_server_is_shown_without_its_password() {
        let shown = address("postgres://desk:secret@db.example.com:6432/help?sslmode=require");
        assert_eq!(shown.to_string(), "PostgreSQL at db.example.com:6432, database help");
        assert!(!format!("{shown:?}").contains("secret"));
        let refused = PostgresAddress::new(&PostgresSettings::new("postgres://desk:secret@db/x?nonsense=1".to_owned()));
        let shown = refused.unwrap_err().to_string();
        assert!(shown.contains("store.url") && !shown.contains("secret"), "{shown}");
    }
}
