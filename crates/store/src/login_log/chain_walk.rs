//! Walking a chain: its rows in order, and whether each matches the previous one.

use deskpass_core::Timestamp;

use super::chain::{ADOPTED_CHAIN, ChainKey, RowContent, RowContentV2, chain_of, witnessed_chain};
use super::keys::LogKeys;
use crate::database::{Row, Sql};
use crate::{Result, StoreError};

/// The end of a chain, and how far it was pruned.
#[derive(Clone, Debug, Default)]
pub(super) struct ChainEnd {
    pub(super) seq: i64,
    pub(super) hash: String,
    pub(super) pruned: PruneMark,
    /// The name of the key for the next row; empty until the key is replaced for the first time.
    pub(super) key_id: String,
}

/// How far a chain was pruned, with the hash of the last pruned row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PruneMark {
    pub(super) seq: i64,
    pub(super) hash: String,
    pub(super) mac: String,
}

impl PruneMark {
    /// Makes a mark, authenticated with the key.
    pub(super) fn marked(key: &ChainKey, chain: i64, seq: i64, hash: &str) -> Self {
        let mac = key.hash(&["pruned", &chain.to_string(), &seq.to_string(), hash]);
        Self { seq, hash: hash.to_owned(), mac }
    }

    /// Whether the mark was made with the key, or nothing was pruned.
    pub(super) fn is_genuine(&self, key: &ChainKey, chain: i64) -> bool {
        *self == Self::default() || *self == Self::marked(key, chain, self.seq, &self.hash)
    }
}

/// The columns that [`read_end`] reads.
const END_COLUMNS: &str = "seq, hash, pruned_seq, pruned_hash, pruned_mac, key_id";

fn read_end(row: &Row<'_>) -> Result<ChainEnd> {
    let pruned = PruneMark { seq: row.int(2)?, hash: row.text(3)?, mac: row.text(4)? };
    Ok(ChainEnd { seq: row.int(0)?, hash: row.text(1)?, pruned, key_id: row.text(5)? })
}

/// The end of a chain; `None` when it is missing or unreadable.
pub(super) fn end(sql: &Sql<'_>, chain: i64) -> Result<Option<ChainEnd>> {
    let text = format!("SELECT {END_COLUMNS} FROM log_chain WHERE chain = $1");
    // A value of a wrong type makes only this row unreadable, and says nothing about the rest of the database.
    Ok(sql.first(&text, &args![chain], |row| Ok(read_end(row).ok()))?.flatten())
}

/// The ends of all chains of the service that can be read.
pub(super) fn ends(sql: &Sql<'_>) -> Result<Vec<(i64, ChainEnd)>> {
    let text = format!("SELECT {END_COLUMNS}, chain FROM log_chain WHERE chain >= 0 AND chain <= $1");
    let read = |row: &Row<'_>| Ok(row.int(6).ok().zip(read_end(row).ok()));
    Ok(sql.rows(&text, &args![ADOPTED_CHAIN], read)?.into_iter().flatten().collect())
}

pub(super) const UP_TO: &str = "SELECT COALESCE(MIN(seq), 0), COUNT(*) FROM login_log WHERE chain = $1 AND seq <= $2";

/// The first row of a chain up to a position, and the number of rows.
pub(super) fn up_to(sql: &Sql<'_>, chain: i64, seq: i64) -> Result<Option<(i64, i64)>> {
    let found = sql.first(UP_TO, &args![chain, seq], |row| Ok((row.int(0).unwrap_or(seq), row.int(1)?)))?;
    Ok(found.filter(|(_, rows)| *rows > 0))
}

pub(super) const FIRST_BETWEEN: &str =
    "SELECT seq FROM login_log WHERE chain = $1 AND seq > $2 AND seq <= $3 ORDER BY chain, seq LIMIT 1";

/// The first row of a chain after a position and up to another one.
pub(super) fn first_between(sql: &Sql<'_>, chain: i64, after: i64, to: i64) -> Result<Option<i64>> {
    sql.first(FIRST_BETWEEN, &args![chain, after, to], |row| Ok(row.int(0).unwrap_or(to)))
}

/// True for a position in a chain, and for no value of a wrong type: the service never writes one, and only SQLite can contain one.
const IS_POSITION: &str = "CAST(seq AS BIGINT) = seq";

/// The position of the last row of a chain.
pub(super) fn last_position(sql: &Sql<'_>, chain: i64) -> Result<Option<i64>> {
    Ok(sql.first(&last_row(), &args![chain], |row| Ok(row.int(0).ok()))?.flatten())
}

pub(super) fn last_row() -> String {
    format!("SELECT seq FROM login_log WHERE chain = $1 AND {IS_POSITION} ORDER BY chain DESC, seq DESC LIMIT 1")
}

/// A row and the result of checking it.
#[derive(Clone, Debug)]
pub(super) struct WalkedRow {
    pub(super) seq: i64,
    pub(super) id: Option<String>,
    pub(super) at: Option<Timestamp>,
    pub(super) hash: String,
    pub(super) fit: RowFit,
    /// The end of another chain that the row recorded.
    pub(super) seen: Option<WitnessedEnd>,
}

/// The end of another chain, as a row recorded it.
#[derive(Clone, Debug)]
pub(super) struct WitnessedEnd {
    pub(super) chain: i64,
    pub(super) seq: i64,
    pub(super) hash: String,
    /// The hash of the row that is at that position now.
    pub(super) now: Option<String>,
}

/// How a row matches the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowFit {
    /// The row is as it was written.
    Intact,
    /// The row was changed.
    Changed,
    /// The row belongs to another chain.
    OtherChain,
    /// Another row has the same position.
    Duplicate,
    /// The previous row is missing, so the row cannot be checked.
    Unverifiable,
}

/// The number of hashes of the previous row that are tried if several rows have its position.
const MAX_CANDIDATE_HASHES: usize = 8;

/// The maximum number of rows beyond a batch that are read because they have the position of its last row. Only a database without its
/// index can contain any.
const MAX_DUPLICATES: i64 = 1_000;

/// A walk along a chain. It holds no snapshot: each batch of rows may be read in another one.
#[derive(Debug)]
pub(super) struct ChainWalk {
    chain: i64,
    /// The position of the previous row.
    seq: i64,
    /// Hash of the previous row, and its expected hashes if it does not match: tells a changed hash from a changed row.
    before: Vec<String>,
}

impl ChainWalk {
    pub(super) fn after(chain: i64, pruned: &PruneMark) -> Self {
        Self { chain, seq: pruned.seq, before: vec![pruned.hash.clone()] }
    }

    /// Continues after this mark.
    pub(super) fn skip_to(&mut self, pruned: &PruneMark) {
        *self = Self::after(self.chain, pruned);
    }

    /// Checks the next rows up to the position `last`, at most `limit` of them besides duplicates of the last one; `false` when there
    /// are none.
    pub(super) fn next(
        &mut self,
        sql: &Sql<'_>,
        keys: &LogKeys<'_>,
        (last, limit): (i64, i64),
        mut each: impl FnMut(WalkedRow),
    ) -> Result<bool> {
        // All rows at one position are read in the same batch: otherwise a second row at the last position would never be read.
        let Some(to) = batch_end(sql, self.chain, (self.seq, last), limit)? else { return Ok(false) };
        let values = args![self.chain, self.seq, to, limit.saturating_add(MAX_DUPLICATES)];
        sql.rows(&rows_of_batch(), &values, |row| {
            each(self.step(keys, row, row.int(SEQ_COLUMN)?));
            Ok(())
        })?;
        Ok(true)
    }

    /// Whether the last row has this hash, or is expected to have it.
    pub(super) fn is_at(&self, hash: &str) -> bool {
        self.before.iter().any(|before| before == hash)
    }

    fn step(&mut self, keys: &LogKeys<'_>, row: &Row<'_>, seq: i64) -> WalkedRow {
        let (follows, twice) = (seq == self.seq.wrapping_add(1), seq == self.seq);
        let written = StoredRow::read(row).ok();
        let stored = row.text(HASH_COLUMN).unwrap_or_default();
        let made: Vec<_> = written.iter().flat_map(|written| self.hashes(keys, written, seq)).collect();
        let fit = match &written {
            Some(written) if !written.belongs_to(self.chain) => RowFit::OtherChain,
            _ if twice => RowFit::Duplicate,
            _ if !follows => RowFit::Unverifiable,
            _ if made.contains(&stored) => RowFit::Intact,
            _ => RowFit::Changed,
        };
        self.seq = seq;
        if twice {
            // The next row shows which of the duplicates was originally written.
            self.before.truncate(MAX_CANDIDATE_HASHES);
            self.before.push(stored.clone());
        } else {
            self.before = vec![stored.clone()];
        }
        if follows && fit != RowFit::Intact {
            // The first is right when the previous row was changed, the last when only hashes were.
            self.before.extend(made.first().into_iter().chain(made.get(1..).and_then(<[_]>::last)).cloned());
        }
        let seen = written.as_ref().and_then(|written| written.v2.as_ref()).filter(|_| self.chain != ADOPTED_CHAIN);
        let seen = seen.map(|(_, seen_seq, hash)| WitnessedEnd {
            chain: witnessed_chain(self.chain, seq),
            seq: *seen_seq,
            hash: hash.clone(),
            now: row.maybe_text(OTHER_HASH_COLUMN).ok().flatten(),
        });
        let (id, at) = written.map(|written| (written.id, Timestamp::from_millis(written.at))).unzip();
        WalkedRow { seq, id, at, hash: stored, fit, seen }
    }

    fn hashes(&self, keys: &LogKeys<'_>, written: &StoredRow, seq: i64) -> Vec<String> {
        let (content, key) = (written.content(), keys.of(self.chain, seq));
        self.before.iter().map(|before| content.hash(key, self.chain, seq, before)).collect()
    }
}

/// The position of the last of the next `limit` rows after a position and up to another one.
fn batch_end(sql: &Sql<'_>, chain: i64, (after, last): (i64, i64), limit: i64) -> Result<Option<i64>> {
    Ok(sql.first(&end_of_batch(), &args![chain, after, last, limit], |row| row.maybe_int(0))?.flatten())
}

pub(super) fn end_of_batch() -> String {
    format!(
        "SELECT MAX(seq) FROM (SELECT seq FROM login_log WHERE chain = $1 AND seq > $2 AND seq <= $3 AND {IS_POSITION}
         ORDER BY chain, seq LIMIT $4) batch"
    )
}

/// The columns that [`StoredRow::read`] reads, followed by the position of the row and its hash.
pub(super) fn columns(detail: &str) -> String {
    format!(
        "l.id, l.at, l.event, l.corp_id, l.employee_key, l.role_id, l.login_method, l.login_source, l.ip_address, l.peer_address,
         l.user_agent, l.actor_corp_id, l.actor_key, l.reason, {detail}, l.decided_address, l.seen_seq, l.seen_hash, l.reference, l.chain,
         l.seq, l.hash"
    )
}
pub(super) const CHAIN_COLUMN: usize = 19;
pub(super) const SEQ_COLUMN: usize = 20;
pub(super) const HASH_COLUMN: usize = 21;
/// The column after those: the hash of the row that this row recorded, or of the previous row.
pub(super) const OTHER_HASH_COLUMN: usize = 22;

pub(super) fn rows_of_batch() -> String {
    format!(
        "SELECT {}, (SELECT s.hash FROM login_log s WHERE s.chain = (l.chain % 8 + 1 + l.seq % 7) % 8
             AND s.seq = l.seen_seq LIMIT 1)
         FROM login_log l WHERE l.chain = $1 AND l.seq > $2 AND l.seq <= $3 AND {IS_POSITION}
         ORDER BY l.chain, l.seq LIMIT $4",
        columns("l.detail")
    )
}

/// A row as it was written. A row with a NULL where the service writes a value, or the reverse, is unreadable.
pub(super) struct StoredRow {
    pub(super) id: String,
    at: i64,
    role: i64,
    texts: [String; 9],
    actor: Option<(String, String)>,
    reason: Option<String>,
    /// The address that was decided by, and the end of another chain.
    v2: Option<(String, i64, String)>,
    reference: Option<String>,
}

impl StoredRow {
    pub(super) fn read(row: &Row<'_>) -> Result<Self> {
        let [event, corp, employee] = [2, 3, 4].map(|column| row.text(column));
        let [method, source, address, peer, user_agent] = [6, 7, 8, 9, 10].map(|column| row.text(column));
        let actor = match (row.maybe_text(11)?, row.maybe_text(12)?) {
            (Some(corp), Some(id)) => Some((corp, id)),
            (None, None) => None,
            _ => return Err(StoreError::damaged("incomplete actor")),
        };
        let texts = [event?, corp?, employee?, method?, source?, address?, peer?, user_agent?, row.text(14)?];
        let v2 = match (row.maybe_text(15)?, row.maybe_int(16)?, row.maybe_text(17)?) {
            (Some(decided), Some(seq), Some(hash)) => Some((decided, seq, hash)),
            (None, None, None) => None,
            _ => return Err(StoreError::damaged("incomplete reference to another chain")),
        };
        let (id, at, role, reason) = (row.text(0)?, row.int(1)?, row.int(5)?, row.maybe_text(13)?);
        let reference = row.maybe_text(18)?;
        if reference.is_some() && v2.is_none() {
            return Err(StoreError::damaged("a reference in a row of an earlier version"));
        }
        Ok(Self { id, at, role, texts, actor, reason, v2, reference })
    }

    /// Whether a row with this identifier can be in a chain.
    pub(super) fn belongs_to(&self, chain: i64) -> bool {
        chain == ADOPTED_CHAIN || chain_of(&self.id) == chain
    }

    pub(super) fn content(&self) -> RowContent<'_> {
        let [event, corp, employee, method, source, address, peer, user_agent, detail] = &self.texts;
        RowContent {
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
            v2: self.v2.as_ref().map(|(decided, seen_seq, seen_hash)| RowContentV2 {
                decided,
                seen_seq: *seen_seq,
                seen_hash,
                reference: self.reference.as_deref(),
            }),
        }
    }
}
