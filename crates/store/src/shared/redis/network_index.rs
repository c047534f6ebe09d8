//! Which records in Redis were put for which network, so that a flood displaces its own records, by
//! the same rules as in the memory of one node.
//!
//! Each kind of record has an index: the expiry of each record, the weight of each network inside a
//! wider one, and the order of the records of each client. The names of an index share the part in
//! braces, so that a cluster keeps it on one server, where one script changes all of it; the
//! records themselves may be on others. It does not reveal the networks without our key.
//!
//! The script only names the records to be displaced. They stay in the index until they are
//! deleted, so that a command that runs twice names the same ones, and a node that stops in between
//! leaves them to the next one.

use std::net::IpAddr;

use deskpass_core::{Digest, Timestamp, enclosing_networks};
use redis::Cmd;

use super::connection::{RedisCall, script};
use crate::Result;

/// How much of a blinded name tells networks apart.
const NAME_LENGTH: usize = 16;

/// How many expired records a command removes, and how many it names to be displaced.
const BATCH: usize = 16;

/// Removes records from the index, and some of those that have expired. Then it may add one, and
/// names those to be displaced, with their expiry: the oldest of the heaviest clients of the
/// network, if that has more than its share, or else of the heaviest clients in the heaviest
/// networks of all. It names all that are too many, since other commands may have added theirs
/// before the ones that they named were deleted.
///
/// A weight is the number of records and, of equally many, greater the older the record is that the
/// network loses first: `count * base - first`, which is exact for a million records.
const INDEX_SCRIPT: &str = "local all, within, of = KEYS[1] .. ':all', KEYS[1] .. ':in:', KEYS[1] .. ':of:' \
    local ttl, batch, base = tonumber(ARGV[2]), tonumber(ARGV[6]), 4294967296 \
    local function keep(key) if redis.call('PTTL', key) < ttl then redis.call('PEXPIRE', key, ttl) end end \
    local function parts(member) return string.match(member, '^(%S+) (%S+) (%S+) (%S+)$') end \
    local function count(outer, inner) \
      return math.ceil(tonumber(redis.call('ZSCORE', within .. outer, inner) or 0) / base) \
    end \
    local function heaviest(outer) \
      local top = redis.call('ZREVRANGE', within .. outer, 0, 0, 'WITHSCORES') \
      if not top[1] then return nil, 0 end \
      local weight = tonumber(top[2]) \
      return top[1], math.ceil(weight / base) * base - weight \
    end \
    local function weigh(outer, inner, records, first) \
      if records < 1 then redis.call('ZREM', within .. outer, inner) \
      else redis.call('ZADD', within .. outer, records * base - first, inner) end \
      keep(within .. outer) \
    end \
    local function weigh_path(wide, network, client, more) \
      local first = redis.call('ZRANGE', of .. client, 0, 0, 'WITHSCORES')[2] \
      weigh(network, client, redis.call('ZCARD', of .. client), tonumber(first or 0)) \
      local _, inside = heaviest(network) \
      weigh(wide, network, count(wide, network) + more, inside) \
      _, inside = heaviest(wide) \
      weigh('', wide, count('', wide) + more, inside) \
    end \
    local function drop(member) \
      if redis.call('ZREM', all, member) == 0 then return end \
      local wide, network, client, record = parts(member) \
      redis.call('ZREM', of .. client, record) \
      weigh_path(wide, network, client, -1) \
    end \
    local function pick(found, outer, need, depth, path) \
      if depth == 0 then \
        for _, record in ipairs(redis.call('ZRANGE', of .. outer, 0, need - 1)) do \
          table.insert(found, path .. record) \
          table.insert(found, redis.call('ZSCORE', all, path .. record) or '0') \
        end \
        return \
      end \
      local inner = redis.call('ZREVRANGE', within .. outer, 0, need) \
      for at, name in ipairs(inner) do \
        if need < 1 then return end \
        local next_one = inner[at + 1] and count(outer, inner[at + 1]) or 0 \
        local part = math.min(need, math.max(1, count(outer, name) - next_one)) \
        pick(found, name, part, depth - 1, path .. name .. ' ') \
        need = need - part \
      end \
    end \
    for at = 8, #ARGV do drop(ARGV[at]) end \
    for _, over in ipairs(redis.call('ZRANGEBYSCORE', all, '-inf', ARGV[1], 'LIMIT', 0, batch)) do drop(over) end \
    local member = ARGV[7] \
    if member == '' then return {} end \
    local wide, network, client, record = parts(member) \
    local more = redis.call('ZADD', all, ARGV[3], member) \
    if more == 1 then redis.call('ZADD', of .. client, redis.call('INCR', KEYS[1] .. ':put') % base, record) end \
    weigh_path(wide, network, client, more) \
    keep(all) keep(of .. client) keep(KEYS[1] .. ':put') \
    local need = count(wide, network) - tonumber(ARGV[4]) \
    local outer, depth, path = network, 1, wide .. ' ' .. network .. ' ' \
    if need < 1 then need, outer, depth, path = redis.call('ZCARD', all) - tonumber(ARGV[5]), '', 3, '' end \
    if need < 1 then return {} end \
    local found = {} \
    pick(found, outer, math.min(need, batch), depth, path) \
    return found";

/// How many records there may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// For one network.
    pub(super) share: usize,
    /// In all.
    pub(super) in_all: usize,
}

/// A record to be displaced.
#[derive(Debug)]
pub(super) struct Displaced {
    /// The name of the record, as text.
    pub(super) record: String,
    /// The expiry that it counts until.
    pub(super) until: i64,
    /// Its name in the index.
    member: String,
}

/// The index of one kind of records.
pub(super) struct NetworkIndex {
    key: String,
    blind: Digest,
}

impl NetworkIndex {
    pub(super) fn new(prefix: &str, name: &str, blind: &Digest) -> Self {
        Self { key: format!("{prefix}{{{name}}}"), blind: Digest::of(&[blind.bytes(), b"network"]) }
    }

    /// Adds a record, or changes its expiry, and returns the records to be displaced.
    pub(super) async fn add(
        &self,
        call: &RedisCall<'_>,
        (address, digest): (IpAddr, &Digest),
        until: Timestamp,
        bounds: Bounds,
        now: Timestamp,
    ) -> Result<Vec<Displaced>> {
        let member = self.member(address, digest);
        let found = call.ask::<Vec<String>>(&self.command(Some(&member), until, bounds, now)).await?;
        let mut found = found.into_iter();
        let mut displaced = Vec::new();
        while let (Some(member), Some(until)) = (found.next(), found.next()) {
            let record = member.rsplit(' ').next().unwrap_or_default().to_owned();
            // A number that is not ours displaces nothing.
            displaced.push(Displaced { record, until: until.parse().unwrap_or(i64::MIN), member });
        }
        Ok(displaced)
    }

    /// Removes records that were displaced.
    pub(super) async fn remove_displaced(
        &self,
        call: &RedisCall<'_>,
        displaced: &[Displaced],
        now: Timestamp,
    ) -> Result<()> {
        let members: Vec<_> = displaced.iter().map(|displaced| &*displaced.member).collect();
        self.remove_members(call, &members, now).await
    }

    /// Removes a record that was put for this address.
    pub(super) async fn remove(
        &self,
        call: &RedisCall<'_>,
        address: IpAddr,
        digest: &Digest,
        now: Timestamp,
    ) -> Result<()> {
        self.remove_members(call, &[&self.member(address, digest)], now).await
    }

    async fn remove_members(&self, call: &RedisCall<'_>, members: &[&str], now: Timestamp) -> Result<()> {
        let bounds = Bounds { share: 0, in_all: 0 };
        let mut command = self.command(None, now, bounds, now);
        command.arg(members);
        call.ask::<Vec<String>>(&command).await.map(drop)
    }

    /// The command without records to be removed.
    fn command(&self, add: Option<&str>, until: Timestamp, bounds: Bounds, now: Timestamp) -> Cmd {
        let ttl = u64::try_from(until.since(now).as_millis()).unwrap_or(u64::MAX).max(1);
        let mut command = script(INDEX_SCRIPT, &self.key);
        command.arg(now.millis()).arg(ttl).arg(until.millis()).arg(bounds.share).arg(bounds.in_all);
        command.arg(BATCH).arg(add.unwrap_or_default());
        command
    }

    /// The name of a record in the index, with the networks around the address, the widest first.
    fn member(&self, address: IpAddr, digest: &Digest) -> String {
        let [wide, nearby, client] = enclosing_networks(address).map(|network| {
            let blinded = Digest::of(&[self.blind.bytes(), network.to_string().as_bytes()]).to_text();
            blinded.chars().take(NAME_LENGTH).collect::<String>()
        });
        format!("{wide} {nearby} {client} {}", digest.to_text())
    }
}
