//! Where the database server is, and how it is spoken to.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::{Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::Postgres;
use crate::{OpenError, tls};

/// How long one address may take to answer; there may be several.
const CONNECT: Duration = Duration::from_secs(1);

/// Where the database server is.
#[derive(Clone)]
pub(super) struct Address {
    config: Config,
    tls: MakeRustlsConnect,
}

impl Address {
    pub(super) fn new(settings: &Postgres) -> Result<Self, OpenError> {
        let mut config: Config = settings.url.parse().map_err(|error: Error| {
            // The parser names the option and the reason, never the password.
            OpenError::Url(deepest(&error))
        })?;
        // After a failover the one that takes writes is the one to talk to.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite).connect_timeout(CONNECT);
        config.tcp_user_timeout(Duration::from_secs(5)).keepalives_idle(Duration::from_secs(30));
        if config.get_application_name().is_none() {
            config.application_name("deskpass");
        }
        if !says_how(&settings.url) {
            // Over a network only encrypted, unless the operator says otherwise.
            config.ssl_mode(if is_near(&config) { SslMode::Disable } else { SslMode::Require });
        } else if !is_near(&config) && config.get_ssl_mode() != SslMode::Require {
            tracing::warn!(
                "the connection to PostgreSQL need not be encrypted: store.url does not say sslmode=require"
            );
        }
        let mut trusted = RootCertStore::empty();
        trusted.add_parsable_certificates(tls::authorities(settings.ca_file.as_deref())?);
        let client = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| OpenError::Url(error.to_string()))?;
        let client = client.with_root_certificates(trusted).with_no_client_auth();
        Ok(Self { config, tls: MakeRustlsConnect::new(client) })
    }

    /// The same server, also where it takes no writes: for whoever wants to know why.
    pub(super) fn even_if_it_only_reads(mut self) -> Self {
        self.config.target_session_attrs(TargetSessionAttrs::Any);
        self
    }

    pub(super) async fn connect(
        &self,
    ) -> Result<(Client, impl Future<Output = Result<(), Error>> + Send + use<>), Error> {
        let (client, connection) = self.config.connect(self.tls.clone()).await?;
        Ok((client, connection))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The part of the address that is nobody's secret.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        });
        let ports: Vec<_> = self.config.get_ports().iter().map(u16::to_string).collect();
        let hosts: Vec<_> = hosts.collect();
        let database = self.config.get_dbname().or(self.config.get_user()).unwrap_or_default();
        let ports = if ports.is_empty() { "5432".to_owned() } else { ports.join(",") };
        write!(f, "PostgreSQL at {}:{ports}, database {database}", hosts.join(","))
    }
}

/// Whether the address itself says whether to encrypt.
fn says_how(url: &str) -> bool {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    query.split('&').any(|pair| pair.starts_with("sslmode="))
}

/// Whether nothing that is said leaves the machine.
fn is_near(config: &Config) -> bool {
    let near = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback()),
    };
    // Where numbers are given, names are only for show.
    let (hosts, numbers) = (config.get_hosts(), config.get_hostaddrs());
    match numbers {
        [] => !hosts.is_empty() && hosts.iter().all(near),
        numbers => numbers.iter().all(IpAddr::is_loopback),
    }
}

fn deepest(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).last().map_or_else(String::new, ToString::to_string)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn address(url: &str) -> Address {
        Address::new(&Postgres { url: url.to_owned(), connections: 1, ca_file: None }).unwrap()
    }

    #[test]
    fn over_a_network_only_encrypted_unless_said_otherwise() {
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
            assert_eq!(address(url).config.get_ssl_mode(), mode, "{url}");
        }
    }

    #[test]
    fn a_server_is_told_without_its_password() {
        let told = address("postgres://desk:secret@db.example.com:6432/help?sslmode=require");
        assert_eq!(told.to_string(), "PostgreSQL at db.example.com:6432, database help");
        assert!(!format!("{told:?}").contains("secret"));
        let refused = Address::new(&Postgres {
            url: "postgres://desk:secret@db/x?nonsense=1".to_owned(),
            connections: 1,
            ca_file: None,
        });
        let told = refused.unwrap_err().to_string();
        assert!(told.contains("store.url") && !told.contains("secret"), "{told}");
    }
}
