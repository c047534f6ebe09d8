//! The backend that all stores in one Redis share.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use deskpass_core::{Digest, Entropy};
use redis::{Cmd, cmd};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::address::RedisAddress;
use super::bus::{Bus, BusWorker};
use super::connection::RedisConnection;
use super::peers::Peers;
use super::warning_throttle::WarningThrottle;
use super::watchers::Watchers;
use crate::shared::messages::DeliveryCounts;
use crate::{Seal, StoreError, tls};

/// The lifetime of the key that a probe writes.
const PROBE_TTL: Duration = Duration::from_secs(1);

/// The settings for Redis.
#[derive(Clone)]
pub struct RedisSettings {
    /// `redis://…`, `redis-sentinel://…/NAME`, `redis-cluster://…`, or the encrypted variants with `rediss`.
    pub url: String,
    /// The prefix of all keys.
    pub prefix: String,
    /// The key material for sealing.
    pub key: [u8; 32],
    /// A CA file to trust in addition to the system's certificates.
    pub ca_file: Option<PathBuf>,
}

impl RedisSettings {
    /// Returns the address with the certificates to trust.
    pub(super) fn resolve(&self) -> Result<RedisAddress, StoreError> {
        let trusted = self.ca_file.as_deref().map(|file| tls::trusted_certificates(Some(file))).transpose();
        let trusted = trusted.map_err(|error| StoreError::shared(error.to_string()))?;
        let trusted = trusted.map(|certificates| tls::pem(&certificates));
        RedisAddress::parse(&self.url, trusted).map_err(|error| StoreError::shared(error.to_string()))
    }
}

impl fmt::Debug for RedisSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisSettings").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// A running Redis backend. Its tasks end when it is dropped.
#[derive(Debug)]
pub(crate) struct RedisBackend {
    /// Includes the version of the record format. Incompatible formats have different versions, and so different keys.
    pub(super) prefix: String,
    pub(super) channel: String,
    pub(super) connection: RedisConnection,
    pub(super) seal: Seal,
    pub(super) warnings: WarningThrottle,
    /// Part of the names of counters, so that the names do not reveal the clients.
    pub(super) blind: Digest,
    pub(super) watchers: Arc<Watchers>,
    /// The name of this node among the nodes.
    pub(super) node: String,
    pub(super) peers: Arc<Peers>,
    pub(super) counts: Arc<DeliveryCounts>,
    /// Fires when there are messages to read.
    pub(super) new_messages: Arc<Notify>,
    /// Whether this node delivers messages to clients.
    pub(super) delivers: Arc<AtomicBool>,
    /// The time of Redis in milliseconds, and the local time when it was read.
    pub(super) time: OnceLock<(u64, Instant)>,
    bus: Bus,
    _tasks: JoinSet<()>,
}

impl RedisBackend {
    pub(crate) fn start(settings: RedisSettings) -> Result<Self, StoreError> {
        tls::install_crypto_provider();
        let address = settings.resolve()?;
        if address.is_plaintext_remote() {
            tracing::warn!(
                %address,
                "connection to Redis is not encrypted, including its password (records are sealed): use rediss"
            );
        }
        let (RedisSettings { prefix, key, .. }, entropy) = (settings, Entropy::system());
        let (prefix, address) = (prefix + ":1:", Arc::new(address));
        let (connection, watchers) = (RedisConnection::new(Arc::clone(&address)), Arc::<Watchers>::default());
        let node = entropy.bytes().map_err(|error| StoreError::shared(error.to_string()))?;
        let (node, channel, bus) = (format!("{:016x}", u64::from_be_bytes(node)), format!("{prefix}bus"), Bus::new());
        let (peers, counts, new_messages) =
            (Arc::new(Peers::new(&node)), Arc::<DeliveryCounts>::default(), Arc::<Notify>::default());
        let delivers = Arc::<AtomicBool>::default();
        let worker = BusWorker {
            address,
            connection: connection.clone(),
            watchers: Arc::clone(&watchers),
            bus: bus.clone(),
            peers: Arc::clone(&peers),
            counts: Arc::clone(&counts),
            new_messages: Arc::clone(&new_messages),
            delivers: Arc::clone(&delivers),
            channel: channel.clone(),
            node: node.clone(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(connection.clone().run(write_check(&prefix)));
        tasks.spawn(worker.clone().publish());
        tasks.spawn(worker.listen());
        let seal = Seal::new(&key, "deskpass shared store", entropy);
        let blind = Digest::of(&[b"deskpass limits", &key]);
        let warnings = WarningThrottle::new();
        Ok(Self {
            prefix,
            channel,
            connection,
            seal,
            warnings,
            blind,
            watchers,
            node,
            peers,
            counts,
            new_messages,
            delivers,
            time: OnceLock::new(),
            bus,
            _tasks: tasks,
        })
    }

    pub(crate) async fn probe(&self) -> Result<(), StoreError> {
        self.connection.call().await?.ask(&write_check(&self.prefix)).await
    }

    pub(crate) fn is_up(&self) -> bool {
        self.connection.is_up()
    }

    pub(crate) fn bus(&self) -> &Bus {
        &self.bus
    }
}

/// Creates a command that succeeds only on a server that takes writes.
fn write_check(prefix: &str) -> Cmd {
    let mut set = cmd("SET");
    set.arg(format!("{prefix}probe")).arg("").arg("PX").arg(u64::try_from(PROBE_TTL.as_millis()).unwrap_or_default());
    set
}
