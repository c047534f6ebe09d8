//! Where the database server is, and how far it is trusted.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls_platform_verifier::Verifier;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::{Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::Postgres;
use crate::OpenError;

/// How long one address may take to answer; there may be several.
const CONNECT: Duration = Duration::from_secs(1);

/// The server of this desk.
#[derive(Clone)]
pub(super) struct Server {
    config: Config,
    tls: MakeRustlsConnect,
}

impl Server {
    pub(super) fn new(settings: &Postgres) -> Result<Self, OpenError> {
        let mut config: Config = settings.url.parse().map_err(|error: Error| {
            // The parser names the option and the reason, never the password.
            OpenError::Url { key: "store.url", why: deepest(&error) }
        })?;
        // After a failover the one that takes writes is the one to talk to.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite).connect_timeout(CONNECT);
        config.tcp_user_timeout(Duration::from_secs(5)).keepalives_idle(Duration::from_secs(30));
        if config.get_application_name().is_none() {
            config.application_name("deskpass");
        }
        if !settings.url.contains("sslmode=") {
            // Over a network only encrypted, unless the operator says otherwise.
            config.ssl_mode(if is_near(&config) { SslMode::Disable } else { SslMode::Require });
        } else if !is_near(&config) && config.get_ssl_mode() != SslMode::Require {
            tracing::warn!(
                "the connection to PostgreSQL need not be encrypted: store.url does not say sslmode=require"
            );
        }
        let tls = MakeRustlsConnect::new(trust(settings.ca_file.as_deref())?);
        Ok(Self { config, tls })
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

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The part of the address that is nobody's secret.
impl fmt::Display for Server {
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

/// Whether nothing that is said leaves the machine.
fn is_near(config: &Config) -> bool {
    let near = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
        }
    };
    config.get_hosts().iter().all(near)
}

/// Trusts whom this machine trusts, and whoever is named besides.
fn trust(extra: Option<&Path>) -> Result<ClientConfig, OpenError> {
    let wrong = |why: String| OpenError::Authority { why };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let named = extra.map(CertificateDer::pem_file_iter).transpose().map_err(|error| wrong(error.to_string()))?;
    let named = named.into_iter().flatten().collect::<Result<Vec<_>, _>>().map_err(|error| wrong(error.to_string()))?;
    let verifier = Verifier::new_with_extra_roots(named, Arc::clone(&provider));
    let verifier = verifier.map_err(|error| wrong(error.to_string()))?;
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| wrong(error.to_string()))?;
    Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}

fn deepest(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).last().map_or_else(String::new, ToString::to_string)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn server(url: &str) -> Server {
        Server::new(&Postgres { url: url.to_owned(), connections: 1, ca_file: None }).unwrap()
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
            ("postgres://desk@localhost/desk?sslmode=require", SslMode::Require),
        ] {
            assert_eq!(server(url).config.get_ssl_mode(), mode, "{url}");
        }
    }

    #[test]
    fn a_server_is_told_without_its_password() {
        let told = server("postgres://desk:secret@db.example.com:6432/help?sslmode=require");
        assert_eq!(told.to_string(), "PostgreSQL at db.example.com:6432, database help");
        assert!(!format!("{told:?}").contains("secret"));
        let refused = Server::new(&Postgres {
            url: "postgres://desk:secret@db/x?nonsense=1".to_owned(),
            connections: 1,
            ca_file: None,
        });
        let told = refused.unwrap_err().to_string();
        assert!(told.contains("store.url") && !told.contains("secret"), "{told}");
    }
}
