//! Resolves host names without threads: a name server that does not answer delays nothing but the requests that wait for it.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, fs};

use deskpass_core::oidc::may_receive_logouts;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::system_conf::parse_resolv_conf;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::time::{Instant, timeout};

/// How long a name server has for one answer, and how often it is asked again.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
const REPETITIONS: usize = 1;
/// How long all of that may take, with other name servers and search domains: the request around it has 5 s.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(4);
/// How long it is remembered that a name does not exist: it may be new.
const MAX_NEGATIVE_TTL: Duration = Duration::from_secs(3);
/// The minimum interval between two looks whether the files changed.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

const NAME_SERVERS: &str = "/etc/resolv.conf";
const HOSTS: &str = "/etc/hosts";

/// Resolves names with `/etc/hosts` and the name servers of `/etc/resolv.conf`, which are read again when they change.
#[derive(Clone)]
pub(crate) struct Resolver {
    system: Arc<Mutex<SystemNames>>,
    /// Which of the addresses may be used.
    may_use: fn(IpAddr) -> bool,
    /// How long a lookup may take.
    limit: Duration,
}

/// What the files of the system said when they were read last.
struct SystemNames {
    names: TokioResolver,
    /// The file with the name servers.
    file: PathBuf,
    read: [Option<FileVersion>; 2],
    looked_at: Instant,
}

/// What tells two versions of a file apart: when it changed, its size, and which file it is.
type FileVersion = (i64, i64, u64, u64);

impl Resolver {
    /// For an address that the operator chose.
    pub(crate) fn for_operator() -> Result<Self, NetError> {
        Self::system(Path::new(NAME_SERVERS), |_| true)
    }

    /// For addresses at which programs are told of logouts.
    pub(crate) fn for_logouts() -> Result<Self, NetError> {
        Self::system(Path::new(NAME_SERVERS), may_receive_logouts)
    }

    /// The same with this name server instead of those of the system, for tests.
    pub(crate) fn for_logouts_asking(name_server: SocketAddr) -> Result<Self, NetError> {
        Self::asking(name_server, may_receive_logouts)
    }

    fn asking(name_server: SocketAddr, may_use: fn(IpAddr) -> bool) -> Result<Self, NetError> {
        let mut server = NameServerConfig::udp(name_server.ip());
        for connection in &mut server.connections {
            connection.port = name_server.port();
        }
        let names = build(ResolverConfig::from_parts(None, Vec::new(), vec![server]), ResolverOpts::default())?;
        // There is no file to read again.
        let file = PathBuf::new();
        let system = SystemNames { names, read: versions(&file), file, looked_at: Instant::now() };
        Ok(Self { system: Arc::new(Mutex::new(system)), may_use, limit: LOOKUP_TIMEOUT })
    }

    fn system(file: &Path, may_use: fn(IpAddr) -> bool) -> Result<Self, NetError> {
        let read = versions(file);
        let names = match read_names(file) {
            Ok(names) => names,
            Err(error) => {
                tracing::warn!(%error, "{} cannot be read: only names in {HOSTS} are found", file.display());
                build(ResolverConfig::from_parts(None, Vec::new(), Vec::new()), ResolverOpts::default())?
            }
        };
        let system = SystemNames { names, file: file.to_owned(), read, looked_at: Instant::now() };
        Ok(Self { system: Arc::new(Mutex::new(system)), may_use, limit: LOOKUP_TIMEOUT })
    }

    async fn lookup(self, name: Name) -> Result<Addrs, Box<dyn Error + Send + Sync>> {
        let names = self.system.lock().unwrap_or_else(PoisonError::into_inner).at(Instant::now());
        let found = timeout(self.limit, names.lookup_ip(name.as_str())).await;
        let found = found.map_err(|_| "no name server answered in time")??;
        let usable: Vec<_> = found.iter().filter(|address| (self.may_use)(*address)).collect();
        if usable.is_empty() {
            return Err("the name has no address that may be used".into());
        }
        Ok(Box::new(usable.into_iter().map(|address| SocketAddr::new(address, 0))))
    }
}

impl SystemNames {
    /// The names as of now, give or take a second.
    fn at(&mut self, now: Instant) -> TokioResolver {
        if now.duration_since(self.looked_at) >= LOOK_INTERVAL {
            self.looked_at = now;
            let versions = versions(&self.file);
            if versions != self.read {
                match read_names(&self.file) {
                    Ok(names) => (self.names, self.read) = (names, versions),
                    // It is tried again a second later, also if nothing changes: the process may have had no descriptor left.
                    Err(error) => tracing::warn!(%error, "{} cannot be read again", self.file.display()),
                }
            }
        }
        self.names.clone()
    }
}

/// The versions of both files; `None` for one that is missing.
fn versions(name_servers: &Path) -> [Option<FileVersion>; 2] {
    [name_servers, Path::new(HOSTS)].map(|file| {
        let found = fs::metadata(file).ok()?;
        Some((found.mtime(), found.mtime_nsec(), found.size(), found.ino()))
    })
}

fn read_names(name_servers: &Path) -> Result<TokioResolver, NetError> {
    let text = fs::read(name_servers)?;
    let (config, options) = parse_resolv_conf(text)?;
    build(config, options)
}

fn build(config: ResolverConfig, mut options: ResolverOpts) -> Result<TokioResolver, NetError> {
    options.timeout = ANSWER_TIMEOUT;
    options.attempts = REPETITIONS;
    options.negative_max_ttl = Some(MAX_NEGATIVE_TTL);
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    let builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
    builder.with_options(options).build()
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(self.clone().lookup(name))
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::net::UdpSocket;

    use super::*;

    async fn addresses(resolver: &Resolver, name: &str) -> Vec<IpAddr> {
        resolver.resolve(name.parse().unwrap()).await.unwrap().map(|address| address.ip()).collect()
    }

    /// A resolver whose only name server receives every question and answers none.
    fn unanswered(socket: &UdpSocket) -> Resolver {
        Resolver::asking(socket.local_addr().unwrap(), |_| true).unwrap()
    }

    #[tokio::test]
    async fn a_lookup_ends_in_time_however_many_names_and_servers_are_tried() {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let impatient = Resolver { limit: Duration::from_millis(1), ..unanswered(&socket) };
        assert!(impatient.resolve("silent".parse().unwrap()).await.is_err());
    }

    #[test]
    fn other_name_servers_are_asked_without_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("resolv.conf");
        let write = |dots: usize| fs::write(&file, format!("nameserver 127.0.0.1\noptions ndots:{dots}\n")).unwrap();
        let resolver = Resolver::system(&file, |_| true).unwrap();
        let start = Instant::now();
        let options = |looks| resolver.system.lock().unwrap().at(start + LOOK_INTERVAL * looks).options().clone();
        write(3);
        assert_eq!(options(0).ndots, 1, "a moment ago there was no file");
        assert_eq!(options(1).ndots, 3);
        write(12);
        assert_eq!(options(2).ndots, 12);
        // While it is away or unreadable, the former servers are asked.
        fs::remove_file(&file).unwrap();
        assert_eq!(options(3).ndots, 12);
        // A name that was missing is found soon after it is made.
        assert!(options(3).negative_max_ttl.is_some_and(|kept| kept <= Duration::from_secs(5)));
    }

    #[tokio::test]
    async fn a_name_server_that_does_not_answer_delays_no_other_name() {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let resolver = unanswered(&socket);
        let mut waiting: Vec<_> =
            (0..100).map(|n| resolver.resolve(format!("silent{n}.example").parse().unwrap())).collect();
        for silent in &mut waiting {
            assert!(silent.as_mut().now_or_never().is_none());
        }
        assert!(addresses(&resolver, "localhost").await.iter().all(IpAddr::is_loopback));
    }

    #[tokio::test]
    async fn an_address_and_the_name_of_this_machine_are_resolved() {
        let resolver = Resolver::for_logouts().unwrap();
        for name in ["localhost", "127.0.0.1"] {
            let found = addresses(&resolver, name).await;
            assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{name}");
        }
    }

    #[tokio::test]
    async fn a_name_of_an_address_that_may_not_be_used_is_not_resolved() {
        let resolver = Resolver { may_use: |address| !address.is_loopback(), ..Resolver::for_operator().unwrap() };
        assert!(resolver.resolve("localhost".parse().unwrap()).await.is_err());
    }
}
