//! Resolves host names without threads: a name server that does not answer delays nothing but the requests that wait for it.

use std::error::Error;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use deskpass_core::oidc::may_receive_logouts;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, ResolverConfig, ResolverOpts};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// How long a name server has for one answer; the request around it has a deadline of its own.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
const ATTEMPTS: usize = 2;

/// Resolves names with `/etc/hosts` and the name servers of `/etc/resolv.conf`.
#[derive(Clone)]
pub(crate) struct Resolver {
    names: TokioResolver,
    /// Which of the addresses may be used.
    may_use: fn(IpAddr) -> bool,
}

impl Resolver {
    /// For an address that the operator chose.
    pub(crate) fn for_operator() -> Result<Self, NetError> {
        Self::system(|_| true)
    }

    /// For addresses at which programs are told of logouts.
    pub(crate) fn for_logouts() -> Result<Self, NetError> {
        Self::system(may_receive_logouts)
    }

    fn system(may_use: fn(IpAddr) -> bool) -> Result<Self, NetError> {
        let (config, options) = hickory_resolver::system_conf::read_system_conf().unwrap_or_else(|error| {
            tracing::warn!(%error, "/etc/resolv.conf cannot be read: only names in /etc/hosts are found");
            (ResolverConfig::from_parts(None, Vec::new(), Vec::new()), ResolverOpts::default())
        });
        Self::with(config, options, may_use)
    }

    fn with(config: ResolverConfig, mut options: ResolverOpts, may_use: fn(IpAddr) -> bool) -> Result<Self, NetError> {
        options.timeout = ANSWER_TIMEOUT;
        options.attempts = ATTEMPTS;
        options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        let builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        Ok(Self { names: builder.with_options(options).build()?, may_use })
    }

    async fn lookup(self, name: Name) -> Result<Addrs, Box<dyn Error + Send + Sync>> {
        let found = self.names.lookup_ip(name.as_str()).await?;
        let usable: Vec<_> = found.iter().filter(|address| (self.may_use)(*address)).collect();
        if usable.is_empty() {
            return Err("the name has no address that may be used".into());
        }
        Ok(Box::new(usable.into_iter().map(|address| SocketAddr::new(address, 0))))
    }
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
    use hickory_resolver::config::NameServerConfig;
    use tokio::net::UdpSocket;

    use super::*;

    async fn addresses(resolver: &Resolver, name: &str) -> Vec<IpAddr> {
        resolver.resolve(name.parse().unwrap()).await.unwrap().map(|address| address.ip()).collect()
    }

    /// A resolver whose only name server receives every question and answers none.
    fn unanswered(socket: &UdpSocket) -> Resolver {
        let address = socket.local_addr().unwrap();
        let mut server = NameServerConfig::udp(address.ip());
        for connection in &mut server.connections {
            connection.port = address.port();
        }
        let config = ResolverConfig::from_parts(None, Vec::new(), vec![server]);
        Resolver::with(config, ResolverOpts::default(), |_| true).unwrap()
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
