//! The backend that all stores in one Redis share.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use deskpass_core::{Digest, EncryptionKeys, Entropy, Timestamp};
use futures_util::FutureExt as _;
use redis::{Cmd, cmd};
use serde::Serialize;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::address::RedisAddress;
use super::bus::{Bus, BusWorker};
use super::connection::RedisConnection;
use super::log_end::AcknowledgedEnds;
use super::peers::{NODE_MARK, Peers};
use super::warning_throttle::WarningThrottle;
use crate::{Result, Seal, StoreError, StoreErrorKind, tls};

/// How long a request that tries again waits for another connection. A server that answers is connected to within milliseconds.
const RECONNECT_WAIT: Duration = Duration::from_millis(500);

/// The lifetime of the key that a probe writes.
const PROBE_TTL: Duration = Duration::from_secs(1);

/// The settings for Redis.
#[derive(Clone)]
pub struct RedisSettings {
    /// `redis://…`, `redis-sentinel://…/NAME`, `redis-cluster://…`, or the encrypted variants with `rediss`.
    pub url: String,
    /// The prefix of all keys.
    pub prefix: String,
    /// The keys for sealing: the first closes records, all open them.
    pub keys: EncryptionKeys,
    /// The timeout of a call, in total.
    pub timeout: Duration,
    /// The maximum number of pending sign-ins, for all nodes. Of other records there are half as
    /// many.
    pub max_sign_ins: usize,
    /// A CA file to trust in addition to the system's certificates.
    pub ca_file: Option<PathBuf>,
}

impl RedisSettings {
    /// Returns the address with the certificates to trust.
    pub(super) fn resolve(&self) -> Result<RedisAddress> {
        let trusted = self.ca_file.as_deref().map(|file| tls::trusted_certificates(Some(file))).transpose();
        let trusted = trusted.map_err(|error| StoreError::shared(error.to_string()))?;
        let trusted = trusted.map(|certificates| tls::pem(&certificates));
        RedisAddress::parse(&self.url, trusted).map_err(|error| StoreError::shared(error.to_string()))
    }
}

debug_only!(RedisSettings, prefix);

/// A running Redis backend. Its tasks end when it is dropped.
#[derive(Debug)]
pub(crate) struct RedisBackend {
    /// Includes the version of the record format. Incompatible formats have different versions, and so different keys.
    pub(super) prefix: String,
    pub(super) seal: Seal,
    pub(super) warnings: WarningThrottle,
    /// Part of the names of counters, so that the names do not reveal the clients.
    pub(super) blind: Digest,
    /// The time of Redis in milliseconds, and the local time, when messages were last read.
    pub(super) time: Mutex<Option<(u64, Instant)>>,
    /// The ends of this node's posts that Redis has acknowledged and the feed has not compared.
    pub(super) acknowledged: Mutex<AcknowledgedEnds>,
    worker: Arc<BusWorker>,
    _tasks: JoinSet<()>,
}

/// The part that the tasks share.
impl Deref for RedisBackend {
    type Target = BusWorker;
    fn deref(&self) -> &BusWorker {
        &self.worker
    }
}

impl RedisBackend {
    pub(crate) fn start(settings: RedisSettings) -> Result<Self> {
        tls::install_crypto_provider();
        let address = settings.resolve()?;
        if address.is_plaintext_remote() {
            tracing::warn!(
                %address,
                "connection to Redis is not encrypted, including its password (records are sealed): use rediss"
            );
        }
        let (RedisSettings { prefix, keys, timeout, .. }, entropy) = (settings, Entropy::system());
        let (prefix, address) = (prefix + ":1:", Arc::new(address));
        let node = entropy.bytes().map_err(|error| StoreError::shared(error.to_string()))?;
        let node = format!("{NODE_MARK}{:016x}", u64::from_be_bytes(node));
        let worker = Arc::new(BusWorker {
            connection: RedisConnection::new(Arc::clone(&address), timeout),
            address,
            watchers: Arc::default(),
            bus: Bus::default(),
            peers: Peers::new(&node),
            counts: Arc::default(),
            new_messages: Notify::new(),
            delivers: AtomicBool::new(false),
            introduce: Notify::new(),
            channel: format!("{prefix}bus"),
            node,
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(worker.connection.clone().run(write_check(&prefix)).boxed());
        tasks.spawn(Arc::clone(&worker).announce().boxed());
        tasks.spawn(Arc::clone(&worker).listen().boxed());
        let seal = Seal::new(&keys, "deskpass shared store", entropy);
        // Not the first key: nodes that list the same keys in another order share their counters.
        let blind = Digest::of(&[b"deskpass limits", keys.iter().min().unwrap_or(keys.first())]);
        let (warnings, time, acknowledged) = (WarningThrottle::new(), Mutex::default(), Mutex::default());
        Ok(Self { prefix, seal, warnings, blind, time, acknowledged, worker, _tasks: tasks })
    }

    /// Serializes a record and seals it under its name.
    pub(super) fn sealed(&self, name: &str, record: &impl Serialize) -> Result<Vec<u8>> {
        let damaged = |error: serde_json::Error| StoreError::new(StoreErrorKind::Damaged, error.to_string());
        let text = serde_json::to_vec(record).map_err(damaged)?;
        self.seal.close(name, &text).map_err(|error| StoreError::shared(error.to_string()))
    }

    /// Opens a sealed record; the error says why it cannot be.
    pub(super) fn opened(&self, name: &str, sealed: &[u8]) -> Result<Vec<u8>, &'static str> {
        self.seal.open(name, sealed).ok_or(
            "a record in Redis is not sealed with this node's key; check that all nodes have the same encryption_key",
        )
    }

    /// Logs that a record of a store cannot be read, unless that was logged a moment ago.
    pub(super) fn warn_of_record(&self, store: &str, why: &str, now: Timestamp) {
        if self.warnings.is_due(now) {
            tracing::warn!(store, "{why}");
        }
    }

    pub(crate) async fn probe(&self) -> Result<()> {
        self.connection.call().await?.ask(&write_check(&self.prefix)).await
    }

    pub(crate) async fn wait_until_up(&self) {
        self.connection.wait_until_up(RECONNECT_WAIT).await;
    }

    pub(crate) fn hears_older_nodes(&self) -> bool {
        self.peers.hears_older()
    }

    pub(crate) fn is_up(&self) -> bool {
        self.connection.is_up()
    }
}

/// Creates a command that succeeds only on a server that takes writes.
fn write_check(prefix: &str) -> Cmd {
    let mut set = cmd("SET");
    set.arg(format!("{prefix}probe")).arg("").arg("PX").arg(u64::try_from(PROBE_TTL.as_millis()).unwrap_or_default());
    set
}
