//! Sealed records in Redis, for several nodes. A third party with access to Redis cannot read or forge them.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use deskpass_core::{Digest, Rate, Timestamp};
use redis::cmd;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::bus;
use super::connection::{RedisCall, script};
use super::network_index::{Bounds, Displaced, NetworkIndex};
use super::server::RedisBackend;
use crate::shared::capacity::Capacity;
use crate::shared::expiring::{Expiring, RecordWatch};
use crate::{Result, StoreError};

/// The maximum number of attempts to change a record that others keep changing.
const MAX_ATTEMPTS: usize = 64;

/// How long a removed record is marked as taken, in milliseconds: longer than a call may last.
const TAKEN_MILLIS: u64 = 60_000;

/// Replaces a record, unless it has changed since it was read, and notifies the watchers.
///
/// In a cluster, the client library sends a command again when the connection is lost, although it may have run. The new
/// record is sealed with a random nonce and so belongs to this attempt: if it is there, the first run has succeeded. If
/// another node has changed the record between the two runs, the caller applies its step again to what it finds; the
/// state machines of the records reject a second step.
const REPLACE_SCRIPT: &str = "local was = redis.call('GET', KEYS[1]) \
    if was == ARGV[2] then return 1 end \
    if was ~= ARGV[1] then return 0 end \
    redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) \
    redis.call('PUBLISH', ARGV[4], ARGV[5]) return 1";

/// Deletes a record, unless it has changed since it was read, and notifies the watchers.
const DELETE_SCRIPT: &str = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end \
    redis.call('DEL', KEYS[1]) \
    redis.call('PUBLISH', ARGV[2], ARGV[3]) return 1";

pub(crate) struct RedisStore<T> {
    server: Arc<RedisBackend>,
    name: &'static str,
    capacity: Capacity,
    networks: NetworkIndex,
    /// The expiry times of the records that this node created, for its metrics.
    begun: Mutex<VecDeque<Timestamp>>,
    record: PhantomData<fn() -> T>,
}

enum RecordLookup<T> {
    Missing,
    /// A record that does not count: it has expired, was taken, or is not ours.
    Stale(Vec<u8>),
    Live(Vec<u8>, T),
}

impl<T> RedisStore<T> {
    pub(crate) fn new(server: Arc<RedisBackend>, name: &'static str, capacity: Capacity) -> Self {
        let networks = NetworkIndex::new(&server.prefix, name, &server.blind);
        Self { server, name, capacity, networks, begun: Mutex::default(), record: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn note(&self, until: Timestamp, now: Timestamp) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        while begun.front().is_some_and(|oldest| *oldest <= now) || begun.len() >= self.capacity.in_all {
            begun.pop_front();
        }
        begun.push_back(until);
    }

    /// Returns the record's key in Redis, with the prefix, and its name for watchers.
    fn names(&self, digest: &Digest) -> (String, String) {
        let digest = digest.to_text();
        (format!("{}{}:{digest}", self.server.prefix, self.name), format!("{} {digest}", self.name))
    }
}

impl<T: Expiring + Serialize + DeserializeOwned> RedisStore<T> {
    pub(crate) async fn put(&self, digest: &Digest, value: T, now: Timestamp) -> Result<bool> {
        let (key, name) = self.names(digest);
        let (sealed, call) = (self.server.sealed(&key, &value)?, self.server.connection.call().await?);
        for _ in 0..MAX_ATTEMPTS {
            let there = insert(&call, &key, &sealed, lifetime(&value, now)).await?
                || match self.find(&call, &key, now).await? {
                    RecordLookup::Missing => false,
                    RecordLookup::Stale(old) => {
                        self.replace(&call, (&key, &name), &old, &sealed, lifetime(&value, now)).await?
                    }
                    // The command has run twice, and the first run has stored it.
                    RecordLookup::Live(found, _) if found == sealed => true,
                    RecordLookup::Live(..) => return Ok(false),
                };
            if there {
                self.note(value.until(), now);
                return Ok(true);
            }
        }
        Err(busy())
    }

    /// Puts a record for an address, whose network loses its oldest one if it has more than its
    /// share. The record comes first: a network that did not put it would delete it from its index.
    pub(crate) async fn put_for(
        &self,
        of: (IpAddr, Option<Rate>),
        digest: &Digest,
        value: T,
        now: Timestamp,
    ) -> Result<bool> {
        let until = value.until();
        if !self.put(digest, value, now).await? {
            return Ok(false);
        }
        self.count_for(of, digest, until, now).await?;
        Ok(true)
    }

    /// Counts a record for the network of an address, and deletes what is too much.
    pub(crate) async fn count_for(
        &self,
        (address, rate): (IpAddr, Option<Rate>),
        digest: &Digest,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<()> {
        let share = self.capacity.network_share(rate, until.since(now));
        let bounds = Bounds { share, in_all: self.capacity.in_all };
        let call = self.server.connection.call().await?;
        let displaced = self.networks.add(&call, (address, digest), until, bounds, now).await?;
        if displaced.is_empty() {
            return Ok(());
        }
        for record in &displaced {
            self.displace(&call, record, now).await?;
        }
        self.networks.remove_displaced(&call, &displaced, now).await
    }

    /// Deletes a record, unless it may not be evicted, or lasts longer than what was counted: then
    /// it was put anew or prolonged.
    async fn displace(&self, call: &RedisCall<'_>, displaced: &Displaced, now: Timestamp) -> Result<()> {
        let Some(digest) = Digest::from_text(&displaced.record) else { return Ok(()) };
        let (key, name) = self.names(&digest);
        let RecordLookup::Live(old, value) = self.find(call, &key, now).await? else { return Ok(()) };
        if !value.is_evictable() || value.until().millis() > displaced.until {
            return Ok(());
        }
        let mut delete = script(DELETE_SCRIPT, &key);
        delete.arg(old).arg(&self.server.channel).arg(bus::changed_message(&name));
        if call.ask::<bool>(&delete).await? {
            self.server.watchers.notify(&name);
        }
        Ok(())
    }

    pub(crate) async fn read_with<R>(
        &self,
        digest: &Digest,
        now: Timestamp,
        read: impl FnOnce(&T) -> R,
    ) -> Result<Option<R>> {
        let (key, _) = self.names(digest);
        let call = self.server.connection.call().await?;
        Ok(match self.find(&call, &key, now).await? {
            RecordLookup::Live(_, value) => Some(read(&value)),
            RecordLookup::Missing | RecordLookup::Stale(_) => None,
        })
    }

    /// Removes a record by replacing it with a mark, which a command that runs twice recognizes as its own. Nodes of
    /// version 0.1.0 cannot read the mark: for them, too, there is no record.
    pub(crate) async fn take(&self, digest: &Digest, now: Timestamp) -> Result<Option<T>> {
        let (key, name) = self.names(digest);
        let (taken, call) = (self.server.sealed(&key, &None::<T>)?, self.server.connection.call().await?);
        for _ in 0..MAX_ATTEMPTS {
            let RecordLookup::Live(old, value) = self.find(&call, &key, now).await? else { return Ok(None) };
            if self.replace(&call, (&key, &name), &old, &taken, TAKEN_MILLIS).await? {
                return Ok(Some(value));
            }
        }
        Err(busy())
    }

    /// Takes a record that was put for this address, which does not count there any more. If that
    /// fails, it counts until its turn.
    pub(crate) async fn take_for(&self, address: IpAddr, digest: &Digest, now: Timestamp) -> Result<Option<T>> {
        let taken = self.take(digest, now).await?;
        if taken.is_some()
            && let Ok(call) = self.server.connection.call().await
        {
            drop(self.networks.remove(&call, address, digest, now).await);
        }
        Ok(taken)
    }

    pub(crate) async fn update<E>(
        &self,
        digest: &Digest,
        now: Timestamp,
        step: impl Fn(T) -> Result<T, E>,
    ) -> Result<Option<Result<T, E>>> {
        let (key, name) = self.names(digest);
        let call = self.server.connection.call().await?;
        for _ in 0..MAX_ATTEMPTS {
            let RecordLookup::Live(old, value) = self.find(&call, &key, now).await? else { return Ok(None) };
            let next = match step(value) {
                Ok(next) => next,
                Err(refused) => return Ok(Some(Err(refused))),
            };
            let (sealed, lifetime) = (self.server.sealed(&key, &next)?, lifetime(&next, now));
            if self.replace(&call, (&key, &name), &old, &sealed, lifetime).await? {
                return Ok(Some(Ok(next)));
            }
        }
        Err(busy())
    }

    pub(crate) async fn watch(&self, digest: &Digest, now: Timestamp) -> Result<Option<RecordWatch>> {
        let (_, name) = self.names(digest);
        let watched = self.server.watchers.watch(&name);
        let there = self.read_with(digest, now, |_| ()).await?;
        Ok(there.map(|()| RecordWatch::shared(watched)))
    }

    async fn find(&self, call: &RedisCall<'_>, key: &str, now: Timestamp) -> Result<RecordLookup<T>> {
        Ok(self.classify(key, stored(call, key).await?, now))
    }

    /// Opens a record. A record that is not ours, or that this version cannot read, counts as absent; the user starts again.
    fn classify(&self, key: &str, bytes: Option<Vec<u8>>, now: Timestamp) -> RecordLookup<T> {
        let Some(bytes) = bytes else { return RecordLookup::Missing };
        let read = self.server.opened(key, &bytes).and_then(|text| {
            serde_json::from_slice::<Option<T>>(&text).map_err(|_| "a record in Redis has an unknown version")
        });
        match read {
            Ok(Some(record)) if now < record.until() => RecordLookup::Live(bytes, record),
            Ok(_) => RecordLookup::Stale(bytes),
            Err(why) => {
                self.server.warn_of_record(self.name, why, now);
                RecordLookup::Stale(bytes)
            }
        }
    }

    async fn replace(
        &self,
        call: &RedisCall<'_>,
        (key, name): (&str, &str),
        old: &[u8],
        new: &[u8],
        lifetime: u64,
    ) -> Result<bool> {
        let mut replace = script(REPLACE_SCRIPT, key);
        replace.arg(old).arg(new).arg(lifetime).arg(&self.server.channel).arg(bus::changed_message(name));
        let replaced = call.ask::<bool>(&replace).await?;
        if replaced {
            self.server.watchers.notify(name);
        }
        Ok(replaced)
    }
}

// What does not depend on the type of the records is outside of the store, so that it is compiled once.

/// Reads the bytes of a record.
async fn stored(call: &RedisCall<'_>, key: &str) -> Result<Option<Vec<u8>>> {
    let mut get = cmd("GET");
    get.arg(key);
    call.ask(&get).await
}

/// Stores a record unless there is one.
async fn insert(call: &RedisCall<'_>, key: &str, sealed: &[u8], lifetime: u64) -> Result<bool> {
    let mut set = cmd("SET");
    set.arg(key).arg(sealed).arg("NX").arg("PX").arg(lifetime);
    call.ask(&set).await
}

/// Returns how many milliseconds Redis keeps a record. On reading, our clock decides whether it has expired.
fn lifetime(value: &impl Expiring, now: Timestamp) -> u64 {
    u64::try_from(value.until().since(now).as_millis()).unwrap_or(u64::MAX).max(1)
}

fn busy() -> StoreError {
    StoreError::shared("too many concurrent changes to the same record")
}
