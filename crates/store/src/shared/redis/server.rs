//! What all shelves in one Redis have in common.

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

use super::address::Address;
use super::bus::{Bus, BusWorker};
use super::connection::RedisConnection;
use super::peers::Peers;
use super::warning_throttle::WarningThrottle;
use super::watchers::Watchers;
use crate::shared::messages::DeliveryCounts;
use crate::{Seal, StoreError, tls};

/// How long what a probe writes is kept.
const PROBE_TTL: Duration = Duration::from_secs(1);

/// Which Redis, and how to use it.
#[derive(Clone)]
pub struct RedisSettings {
    /// `redis://…`, `redis-sentinel://…/NAME`, `redis-cluster://…`, or the same encrypted, with `rediss`.
    pub url: String,
    /// What the names of all keys begin with.
    pub prefix: String,
    /// What the key is made from that everything is sealed with.
    pub key: [u8; 32],
    /// Certificates of authorities to trust besides those of this machine.
    pub ca_file: Option<PathBuf>,
}

impl RedisSettings {
    /// Where it is, and whom to believe to be it.
    pub(super) fn resolve(&self) -> Result<Address, StoreError> {
        let trusted = self.ca_file.as_deref().map(|file| tls::trusted_certificates(Some(file))).transpose();
        let trusted = trusted.map_err(|error| StoreError::shared(error.to_string()))?;
        let trusted = trusted.map(|certificates| tls::pem(&certificates));
        Address::parse(&self.url, trusted).map_err(|error| StoreError::shared(error.to_string()))
    }
}

impl fmt::Debug for RedisSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisSettings").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// A Redis that is used. Its tasks end with it.
#[derive(Debug)]
pub(crate) struct RedisBackend {
    /// With the version of what is in the records: one that cannot read them has another number, and other keys.
    pub(super) prefix: String,
    pub(super) channel: String,
    pub(super) connection: RedisConnection,
    pub(super) seal: Seal,
    pub(super) warnings: WarningThrottle,
    /// Goes into the names of counts, so that they tell nobody whose they are.
    pub(super) blind: Digest,
    pub(super) watchers: Arc<Watchers>,
    /// What this node is called by the others.
    pub(super) node: String,
    pub(super) peers: Arc<Peers>,
    pub(super) counts: Arc<DeliveryCounts>,
    /// Fires when there are messages to be read.
    pub(super) new_messages: Arc<Notify>,
    /// Whether this node brings messages to anybody.
    pub(super) delivers: Arc<AtomicBool>,
    /// What the time there was, in milliseconds, and when that was here.
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
                "what is said to Redis is not encrypted, its password included (records are sealed); use rediss"
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

/// Shows that a server takes writes.
fn write_check(prefix: &str) -> Cmd {
    let mut set = cmd("SET");
    set.arg(format!("{prefix}probe")).arg("").arg("PX").arg(u64::try_from(PROBE_TTL.as_millis()).unwrap_or_default());
    set
}
