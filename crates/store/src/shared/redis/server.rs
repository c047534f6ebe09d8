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
use super::bus::{Bus, Messenger};
use super::complaints::Complaints;
use super::link::Link;
use super::mail::Counts;
use super::peers::Peers;
use super::watchers::Watchers;
use crate::{Seal, StoreError, tls};

/// How long what a probe writes is kept.
const PROBE: Duration = Duration::from_secs(1);

/// Which Redis, and how to use it.
#[derive(Clone)]
pub struct Redis {
    /// `redis://…`, `redis-sentinel://…/NAME`, `redis-cluster://…`, or the same encrypted, with `rediss`.
    pub url: String,
    /// What the names of all keys begin with.
    pub prefix: String,
    /// What the key is made from that everything is sealed with.
    pub key: [u8; 32],
    /// Certificates of authorities to trust besides those of this machine.
    pub ca_file: Option<PathBuf>,
}

impl Redis {
    /// Where it is, and whom to believe to be it.
    pub(super) fn resolve(&self) -> Result<Address, StoreError> {
        let trusted = self.ca_file.as_deref().map(|file| tls::authorities(Some(file))).transpose();
        let trusted = trusted.map_err(|error| StoreError::shared(error.to_string()))?;
        let trusted = trusted.map(|certificates| tls::pem(&certificates));
        Address::parse(&self.url, trusted).map_err(|error| StoreError::shared(error.to_string()))
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// A Redis that is used. Its tasks end with it.
#[derive(Debug)]
pub(in crate::shared) struct Server {
    /// With the version of what is in the records: one that cannot read them has another number, and other keys.
    pub(super) prefix: String,
    pub(super) channel: String,
    pub(super) link: Link,
    pub(super) seal: Seal,
    pub(super) complaints: Complaints,
    /// Goes into the names of counts, so that they tell nobody whose they are.
    pub(super) blind: Digest,
    pub(super) watchers: Arc<Watchers>,
    /// What this node is called by the others.
    pub(super) node: String,
    pub(super) peers: Arc<Peers>,
    pub(super) counts: Arc<Counts>,
    /// Fires when there are messages to be read.
    pub(super) mail: Arc<Notify>,
    /// Whether this node brings messages to anybody.
    pub(super) carries: Arc<AtomicBool>,
    /// What the time there was, in milliseconds, and when that was here.
    pub(super) time: OnceLock<(u64, Instant)>,
    bus: Bus,
    _tasks: JoinSet<()>,
}

impl Server {
    pub(in crate::shared) fn start(settings: Redis) -> Result<Self, StoreError> {
        tls::choose_cryptography();
        let address = settings.resolve()?;
        if address.is_overheard() {
            tracing::warn!(
                %address,
                "what is said to Redis is not encrypted, its password included (records are sealed); use rediss"
            );
        }
        let (Redis { prefix, key, .. }, entropy) = (settings, Entropy::system());
        let (prefix, address) = (prefix + ":1:", Arc::new(address));
        let (link, watchers) = (Link::new(Arc::clone(&address)), Arc::<Watchers>::default());
        let node = entropy.bytes().map_err(|error| StoreError::shared(error.to_string()))?;
        let (node, channel, bus) = (format!("{:016x}", u64::from_be_bytes(node)), format!("{prefix}bus"), Bus::new());
        let (peers, counts, mail) = (Arc::new(Peers::new(&node)), Arc::<Counts>::default(), Arc::<Notify>::default());
        let carries = Arc::<AtomicBool>::default();
        let messenger = Messenger {
            address,
            link: link.clone(),
            watchers: Arc::clone(&watchers),
            bus: bus.clone(),
            peers: Arc::clone(&peers),
            counts: Arc::clone(&counts),
            mail: Arc::clone(&mail),
            carries: Arc::clone(&carries),
            channel: channel.clone(),
            node: node.clone(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(link.clone().keep(greeting(&prefix)));
        tasks.spawn(messenger.clone().speak());
        tasks.spawn(messenger.listen());
        let seal = Seal::new(&key, "deskpass shared store", entropy);
        let blind = Digest::of(&[b"deskpass limits", &key]);
        let complaints = Complaints::new();
        Ok(Self {
            prefix,
            channel,
            link,
            seal,
            complaints,
            blind,
            watchers,
            node,
            peers,
            counts,
            mail,
            carries,
            time: OnceLock::new(),
            bus,
            _tasks: tasks,
        })
    }

    pub(in crate::shared) async fn probe(&self) -> Result<(), StoreError> {
        self.link.call().await?.ask(&greeting(&self.prefix)).await
    }

    pub(in crate::shared) fn is_up(&self) -> bool {
        self.link.is_up()
    }

    pub(in crate::shared) fn bus(&self) -> &Bus {
        &self.bus
    }
}

/// Shows that a server takes writes.
fn greeting(prefix: &str) -> Cmd {
    let mut set = cmd("SET");
    set.arg(format!("{prefix}probe")).arg("").arg("PX").arg(u64::try_from(PROBE.as_millis()).unwrap_or_default());
    set
}
