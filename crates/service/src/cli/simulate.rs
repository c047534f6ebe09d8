//! `deskpass simulate`: runs only the simulated platform.

mod next_steps;

use std::io::Write as _;
use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use deskpass_core::{Clock, CorpId, Entropy, Host, HostNames, Timestamp};
use deskpass_platform::PlatformKind;
use deskpass_simulator::{Domains, Simulator, SimulatorConfig};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use url::Url;

use super::platform_kind::platform_kind;
use super::{CliError, runtime};
use crate::app::platform::{SIMULATED_SECRET, SIMULATOR_BASE, simulated_kind};
use crate::config::{Log, LogFormat, LogLevel, SimulatedApplication};
use crate::{StartError, telemetry};
use next_steps::next_steps;

#[derive(Args, Debug)]
pub(super) struct Simulate {
    /// Address to listen on; port 0 selects a free port.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// Enterprise messenger to simulate.
    #[arg(long, value_name = "KIND", default_value = "wecom", value_parser = platform_kind())]
    platform: PlatformKind,
    /// Id of the corporation [default: that of development mode].
    #[arg(long, value_name = "CORP", value_parser = CorpId::parse)]
    corp: Option<CorpId>,
    /// Id of the application, where the platform has one [default: that of development mode].
    #[arg(long, value_name = "ID", value_parser = client_id)]
    client: Option<String>,
    /// Secret of the application. Make one up; do not use a real one.
    #[arg(long, default_value = SIMULATED_SECRET, value_parser = NonEmptyStringValueParser::new())]
    secret: String,
    /// Number of the application, where the platform has one [default: that of development mode].
    #[arg(long, value_name = "NUMBER")]
    agent: Option<u64>,
    /// Address of the service that uses it, for the settings that it prints. Its host is the trusted domain.
    #[arg(long, value_name = "URL", value_parser = service_url, conflicts_with = "domains")]
    public_url: Option<String>,
    /// Domain that the application may redirect users to, besides this machine. The first one is shown as the trusted
    /// domain, and is the host of the printed public address. Can be repeated.
    #[arg(long = "domain", value_name = "HOST[:PORT]", value_parser = domain)]
    domains: Vec<String>,
    /// Additional host name of the simulated platform, besides localhost, loopback addresses and the listening address.
    /// Can be repeated.
    #[arg(long = "host", value_name = "HOST", value_parser = host_name)]
    hosts: Vec<String>,
    /// Number of generated members besides the people that it prints, in departments of 100: for tests of a large directory.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    people: u32,
    /// Let other machines reach it at any address of this machine. Anyone who reaches it can sign in as anyone.
    #[arg(long)]
    allow_remote: bool,
}

impl Simulate {
    pub(super) fn run(self) -> Result<(), CliError> {
        let address = self.listen;
        if !self.allow_remote && !address.ip().to_canonical().is_loopback() {
            return Err(format!(
                "anyone who can reach {address} can sign in as anyone; listen on 127.0.0.1, or accept that with \
                 --allow-remote"
            )
            .into());
        }
        let application = SimulatedApplication::of(self.platform);
        let [platform, _] = self.platform.title();
        if self.client.is_some() && application.client_id.is_none() {
            return Err(format!("an application of {platform} has no id; leave out --client").into());
        }
        if self.agent.is_some() && application.agent_id.is_none() {
            return Err(format!("an application of {platform} has no number; leave out --agent").into());
        }
        let _logging = telemetry::start_logging(&Log { level: LogLevel::Info, format: LogFormat::Text });
        runtime()?.block_on(self.serve())
    }

    async fn serve(self) -> Result<(), CliError> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let refused = |source| StartError::Listen { address: self.listen, source };
        let listener = TcpListener::bind(self.listen).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let hosts = self.host_names(address);
        let (platform, public_url, entropy) = (self.platform, self.service_address(), Entropy::system());
        let people = self.people;
        let (simulator_config, encryption_key) = (self.simulator_config(), STANDARD.encode(entropy.bytes::<32>()?));
        let message = next_steps(platform, address, &public_url, &simulator_config, &encryption_key, people)?;
        // The parent process may have closed the pipe; the simulator runs anyway.
        let _ = std::io::stdout().write_all(message.as_bytes());
        let simulator = Simulator::new(simulator_config, Clock::steady(Timestamp::from_millis(0)), entropy)
            .with_people(people)
            .restricted_to_hosts(hosts);
        let stop_signal = async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        deskpass_simulator::serve(listener, simulator, stop_signal).await;
        Ok(())
    }

    fn host_names(&self, address: SocketAddr) -> HostNames {
        let own = HostNames::local().with(&address.to_string()).with_any_address(self.allow_remote);
        self.hosts.iter().fold(own, |hosts, host| hosts.with(host))
    }

    /// The trusted domains: those that were given, or the host of the service's address, which must equal the first.
    fn trusted_domains(&self) -> Vec<String> {
        let given = self.public_url.as_deref().unwrap_or(DEFAULT_PUBLIC_URL);
        let host = || given.split_once("://").map_or(given, |(_, host)| host).to_owned();
        if self.domains.is_empty() { vec![host()] } else { self.domains.clone() }
    }

    /// The address of the service that uses it.
    fn service_address(&self) -> String {
        let of_domain = || self.domains.first().map(|domain| public_url(domain));
        self.public_url.clone().or_else(of_domain).unwrap_or_else(|| DEFAULT_PUBLIC_URL.to_owned())
    }

    fn simulator_config(self) -> SimulatorConfig {
        let domains = Domains::LoopbackAnd(self.trusted_domains());
        let SimulatedApplication { corp_id, client_id, agent_id } = SimulatedApplication::of(self.platform);
        SimulatorConfig {
            kind: simulated_kind(self.platform),
            corp_id: self.corp.as_ref().map_or(corp_id, CorpId::as_str).to_owned(),
            client_id: self.client.unwrap_or_else(|| client_id.unwrap_or_default().to_owned()),
            secret: self.secret,
            agent_id: self.agent.map_or_else(|| agent_id.unwrap_or_default().to_owned(), |agent| agent.to_string()),
            domains,
            base: SIMULATOR_BASE.to_owned(),
        }
    }
}

/// Where a service with the default settings is reached on this machine.
const DEFAULT_PUBLIC_URL: &str = "http://localhost:8080";

/// Parses the address of a service: a scheme and a host, with its port if it has one.
fn service_url(text: &str) -> Result<String, &'static str> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let origin = url.map(|url| url.origin().ascii_serialization());
    origin.filter(|origin| *origin == text).ok_or("give a scheme and a host alone, such as https://desk.example.com")
}

/// Parses a host with an optional port; nothing else can equal the host of an address.
fn domain(text: &str) -> Result<String, &'static str> {
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte));
    let url = Url::parse(&format!("http://{text}/")).ok().filter(|url| plain && url.has_host());
    url.map(|_| text.to_owned()).ok_or("give a host, with its port if it has one, such as desk.example.com")
}

/// Parses a host without a port: the simulator accepts it with any port.
fn host_name(text: &str) -> Result<String, &'static str> {
    // A text that already has a port does not parse with a second one.
    let host = Host::parse(&format!("{text}:1")).is_some();
    if host { Ok(text.to_owned()) } else { Err("give a host name without a port, such as platform.test") }
}

/// The address of a service at a domain: this machine needs no certificate.
fn public_url(domain: &str) -> String {
    let url = Url::parse(&format!("http://{domain}/")).ok();
    let local = url.is_some_and(|url| matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")));
    format!("{}://{domain}", if local { "http" } else { "https" })
}

/// Parses the id of an application.
fn client_id(text: &str) -> Result<String, &'static str> {
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    let fits = plain && (1..=64).contains(&text.len());
    if fits { Ok(text.to_owned()) } else { Err("give 1 to 64 letters, digits, \"_\" or \"-\"") }
}
