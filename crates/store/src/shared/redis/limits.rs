//! Rate limit counters in Redis, shared by all nodes.
//!
//! They are not sealed, because the script must read them. Their names reveal nothing without our key. A third party
//! who writes to them can loosen or tighten a limit, but no client waits longer than for one request to be admitted.

use deskpass_core::{Debt, Digest, Rate, Timestamp};

use super::connection::script;
use super::server::RedisBackend;
use crate::Result;
use crate::shared::LimitSubject;

/// Does the same as [`Rate::admit`], atomically for all nodes, and returns the previous debt. Arguments: the time, the
/// debt known to the node, the step, the span. Large numbers are formatted explicitly, because Lua would round them.
const CHARGE_SCRIPT: &str = "local now, span = tonumber(ARGV[1]), tonumber(ARGV[4]) \
    local debt = tonumber(redis.call('GET', KEYS[1]) or 0) or 0 \
    debt = math.min(math.max(debt, tonumber(ARGV[2]), now), now + span) \
    local due = debt + tonumber(ARGV[3]) \
    if due <= now + span then \
    redis.call('SET', KEYS[1], string.format('%.0f', due), 'PX', math.ceil((due - now) / 1000)) end \
    return string.format('%.0f', debt)";

impl RedisBackend {
    /// Counts one more request, unless the rate is exceeded, and returns the previous debt.
    pub(crate) async fn charge(
        &self,
        counted: LimitSubject,
        key: &Digest,
        known: Debt,
        rate: Rate,
        now: Timestamp,
    ) -> Result<Debt> {
        self.run_charge((counted, key), known, [rate.step(), rate.span()], now).await
    }

    /// The debt, without counting a request.
    pub(crate) async fn debt(
        &self,
        counted: LimitSubject,
        key: &Digest,
        known: Debt,
        rate: Rate,
        now: Timestamp,
    ) -> Result<Debt> {
        // A request that costs more than the whole span is never counted.
        self.run_charge((counted, key), known, [rate.span().saturating_add(1), rate.span()], now).await
    }

    async fn run_charge(
        &self,
        (counted, key): (LimitSubject, &Digest),
        known: Debt,
        [step, span]: [i64; 2],
        now: Timestamp,
    ) -> Result<Debt> {
        let name = format!("{}limit:{}", self.prefix, self.blinded(counted, key).to_text());
        let mut charge = script(CHARGE_SCRIPT, &name);
        charge.arg(now.millis().saturating_mul(1_000)).arg(known.micros()).arg(step).arg(span);
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
