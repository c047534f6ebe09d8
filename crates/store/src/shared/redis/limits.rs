//! Counts in Redis, which all nodes keep together.
//!
//! They are not sealed: the script must read them. Their names say nothing to whoever does not hold our key, and whoever
//! writes to them can make somebody's limit too small or too large, but nobody wait for longer than it takes to work off one.

use deskpass_core::{Debt, Digest, Rate, Timestamp};

use super::script::script;
use super::server::RedisBackend;
use crate::StoreError;
use crate::shared::LimitSubject;

/// Does what [`Rate::admit`] does, at once for everybody, and returns what was owed before. Arguments: the time, what the node
/// knows to be owed, the step, the span. Numbers that large are written out, because Lua would round them.
const CHARGE_SCRIPT: &str = "local now, span = tonumber(ARGV[1]), tonumber(ARGV[4]) \
    local debt = tonumber(redis.call('GET', KEYS[1]) or 0) or 0 \
    debt = math.min(math.max(debt, tonumber(ARGV[2]), now), now + span) \
    local due = debt + tonumber(ARGV[3]) \
    if due <= now + span then \
    redis.call('SET', KEYS[1], string.format('%.0f', due), 'PX', math.ceil((due - now) / 1000)) end \
    return string.format('%.0f', debt)";

impl RedisBackend {
    /// Counts one more, unless there were too many, and says what was owed before.
    pub(crate) async fn charge(
        &self,
        counted: LimitSubject,
        key: &Digest,
        known: Debt,
        rate: Rate,
        now: Timestamp,
    ) -> Result<Debt, StoreError> {
        let name = format!("{}limit:{}", self.prefix, self.blinded(counted, key).to_text());
        let mut charge = script(CHARGE_SCRIPT, &name);
        charge.arg(now.millis().saturating_mul(1_000)).arg(known.micros()).arg(rate.step()).arg(rate.span());
        self.connection.call().await?.ask(&charge).await.map(Debt::from_micros)
    }

    fn blinded(&self, counted: LimitSubject, key: &Digest) -> Digest {
        let counted: &[u8] = match counted {
            LimitSubject::Client => b"client",
            LimitSubject::Ticket => b"ticket",
        };
        Digest::of(&[self.blind.bytes(), counted, key.bytes()])
    }
}
