//! A chain as it stands: its rows one after the other, and whether each fits to the one before.

use deskpass_core::Timestamp;

use super::chain::{ChainKey, Said, chain_of};
use crate::StoreError;
use crate::database::{Row, Sql};

/// Where a chain ends, and up to where it was pruned.
#[derive(Clone, Debug, Default)]
pub(super) struct End {
    pub(super) seq: i64,
    pub(super) hash: String,
    pub(super) pruned: Pruned,
}

/// Up to where a chain was pruned, with the hash of the last row that went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pruned {
    pub(super) seq: i64,
    pub(super) hash: String,
    pub(super) mac: String,
}

impl Pruned {
    /// With the mark of whoever has the key.
    pub(super) fn marked(key: &ChainKey, chain: i64, seq: i64, hash: &str) -> Self {
        let mac = key.hash(&["pruned", &chain.to_string(), &seq.to_string(), hash]);
        Self { seq, hash: hash.to_owned(), mac }
    }

    /// Whether somebody with the key has done it, or nobody has.
    pub(super) fn is_genuine(&self, key: &ChainKey, chain: i64) -> bool {
        *self == Self::default() || *self == Self::marked(key, chain, self.seq, &self.hash)
    }
}

/// The end of a chain; none when it has none, or none that can be read.
pub(super) fn end(sql: &Sql<'_>, chain: i64) -> Result<Option<End>, StoreError> {
    let text = "SELECT seq, hash, pruned_seq, pruned_hash, pruned_mac FROM log_chain WHERE chain = $1";
    let read = |row: &Row<'_>| -> Result<End, StoreError> {
        let pruned = Pruned { seq: row.int(2)?, hash: row.text(3)?, mac: row.text(4)? };
        Ok(End { seq: row.int(0)?, hash: row.text(1)?, pruned })
    };
    // A value of another kind than anybody writes makes it unreadable, and says nothing about the rest of the database.
    Ok(sql.first(text, &args![chain], |row| Ok(read(row).ok()))?.flatten())
}

/// The first row of a chain up to a place, and how many there are.
pub(super) fn up_to(sql: &Sql<'_>, chain: i64, seq: i64) -> Result<Option<(i64, i64)>, StoreError> {
    let text = "SELECT COALESCE(MIN(seq), 0), COUNT(*) FROM login_log WHERE chain = $1 AND seq <= $2";
    let found = sql.first(text, &args![chain, seq], |row| Ok((row.int(0).unwrap_or(seq), row.int(1)?)))?;
    Ok(found.filter(|(_, rows)| *rows > 0))
}

/// A row and how it fits.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) seq: i64,
    pub(super) id: Option<String>,
    pub(super) at: Option<Timestamp>,
    pub(super) hash: String,
    pub(super) fit: Fit,
}

/// How a row fits to the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// It says what it said when it was written.
    Well,
    /// It does not.
    Not,
    /// It belongs to another chain.
    Elsewhere,
    /// The one before is not there, so nobody can tell.
    Unknown,
}

/// Goes along a chain.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    key: &'a ChainKey,
    chain: i64,
    /// The place of the row before.
    seq: i64,
    /// Its hash, and where it does not fit those that it ought to have as well. So a changed hash is told from a changed row.
    before: Vec<String>,
}

impl<'a> Walk<'a> {
    pub(super) fn after(key: &'a ChainKey, chain: i64, pruned: &Pruned) -> Self {
        Self { key, chain, seq: pruned.seq, before: vec![pruned.hash.clone()] }
    }

    /// Looks at the next rows, at most `limit` of them; `false` when there are none.
    pub(super) fn next(&mut self, sql: &Sql<'_>, limit: i64, mut each: impl FnMut(Found)) -> Result<bool, StoreError> {
        let (after, mut any) = (self.seq, false);
        sql.rows(ROWS, &args![self.chain, after, limit], |row| {
            // A number of a kind that nobody writes is no place in a chain.
            if let Ok(seq) = row.int(SEQ) {
                any = true;
                each(self.step(row, seq));
            }
            Ok(())
        })?;
        Ok(any)
    }

    /// Whether the last row has this hash, or ought to have it.
    pub(super) fn is_at(&self, hash: &str) -> bool {
        self.before.iter().any(|before| before == hash)
    }

    /// Looks at the row that stands at `seq`.
    fn step(&mut self, row: &Row<'_>, seq: i64) -> Found {
        let follows = seq == self.seq.wrapping_add(1);
        let written = Written::read(row).ok();
        let stored = row.text(HASH).unwrap_or_default();
        let made: Vec<_> = written.iter().flat_map(|written| self.hashes(written, seq)).collect();
        let fit = match &written {
            Some(written) if chain_of(&written.id) != self.chain => Fit::Elsewhere,
            _ if !follows => Fit::Unknown,
            _ if made.contains(&stored) => Fit::Well,
            _ => Fit::Not,
        };
        self.seq = seq;
        self.before = vec![stored.clone()];
        if follows && fit != Fit::Well {
            // The first is right when the row before was changed, the last when only hashes were.
            self.before.extend(made.first().into_iter().chain(made.get(1..).and_then(<[_]>::last)).cloned());
        }
        let (id, at) = written.map(|written| (written.id, Timestamp::from_millis(written.at))).unzip();
        Found { seq, id, at, hash: stored, fit }
    }

    /// What the hash of a row ought to be.
    fn hashes(&self, written: &Written, seq: i64) -> Vec<String> {
        let said = written.said();
        self.before.iter().map(|before| said.hash(self.key, self.chain, seq, before)).collect()
    }
}

const ROWS: &str =
    "SELECT id, at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address, peer_address,
    user_agent, actor_corp_id, actor_key, reason, detail, seq, hash FROM login_log
    WHERE chain = $1 AND seq > $2 ORDER BY chain, seq LIMIT $3";
const SEQ: usize = 15;
const HASH: usize = 16;

/// A row as it was written. One that has a value where nobody leaves one out, or none where everybody writes one, cannot be read.
struct Written {
    id: String,
    at: i64,
    role: i64,
    texts: [String; 9],
    actor: Option<(String, String)>,
    reason: Option<String>,
}

impl Written {
    fn read(row: &Row<'_>) -> Result<Self, StoreError> {
        let [event, corp, employee] = [2, 3, 4].map(|column| row.text(column));
        let [method, source, address, peer, user_agent] = [6, 7, 8, 9, 10].map(|column| row.text(column));
        let actor = match (row.maybe_text(11)?, row.maybe_text(12)?) {
            (Some(corp), Some(id)) => Some((corp, id)),
            (None, None) => None,
            _ => return Err(StoreError::damaged("half an actor")),
        };
        let texts = [event?, corp?, employee?, method?, source?, address?, peer?, user_agent?, row.text(14)?];
        Ok(Self { id: row.text(0)?, at: row.int(1)?, role: row.int(5)?, texts, actor, reason: row.maybe_text(13)? })
    }

    fn said(&self) -> Said<'_> {
        let [event, corp, employee, method, source, address, peer, user_agent, detail] = &self.texts;
        Said {
            id: &self.id,
            at: self.at,
            event,
            corp,
            employee,
            role: self.role,
            method,
            source,
            address,
            peer,
            user_agent,
            actor: self.actor.as_ref().map(|(corp, id)| (&**corp, &**id)),
            reason: self.reason.as_deref(),
            detail,
        }
    }
}
