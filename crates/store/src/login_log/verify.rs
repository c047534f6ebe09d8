//! Whether the log is as it was written: every row of every chain, read beside the running service.
//!
//! With the database and without the key, nothing can be changed that is not found here, with one exception: the newest rows of all
//! chains can be cut off together, as if the whole database were an older copy. That takes a receipt, made before and kept elsewhere.

mod chain_check;
mod fault;

use std::collections::{BTreeMap, BTreeSet};

use deskpass_core::Timestamp;

use super::chain::{ADOPTED_CHAIN, ChainKey};
use super::chain_walk;
use super::marker::{self, Marker, MarkerState};
use super::receipt::Receipt;
use crate::database::{Sql, in_snapshot, read_directly};
use crate::{DirectReadError, Location, Mode, StoreError};

use fault::LogFaults;
pub use fault::{LogFault, LogFaultKind};

/// How many rows that are in no chain are told one by one.
const MAX_LISTED_UNCHAINED: u64 = 100;

/// How many chains are looked at that the service does not have: each is a fault.
const MAX_OTHER_CHAINS: u64 = 1_000;

/// How many places are told of at which more than one row stands.
const MAX_DUPLICATES: u64 = 1_000;

/// How many rows of each chain are remembered that others tell of and that are not there.
const MAX_LOST_PER_CHAIN: usize = 1_000;

/// What became of the log.
#[derive(Clone, Debug)]
pub struct LogVerdict {
    /// How many rows stand in chains.
    pub rows: u64,
    /// How many of them fit: as good as all, or the key is another one.
    pub fitting: u64,
    /// How many stand in none. The service writes no such rows.
    pub unchained: u64,
    /// How many are from before rows were chained, and when they were taken into a chain: until then nobody can vouch for them.
    pub adopted: Option<(u64, Timestamp)>,
    /// How many went for their age.
    pub pruned: u64,
    /// What is wrong, the first of it.
    pub faults: Vec<LogFault>,
    /// How many more faults there are.
    pub more: u64,
    /// Where the chains end.
    pub receipt: Receipt,
}

/// Why the log could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] DirectReadError),
    /// The key is not the one that the rows were written with.
    #[error("the key is another one")]
    WrongKey,
}

/// Reads the whole log beside the running service and checks every chain; `knows` says whether a text that was left to tell the key
/// by was left with this one.
///
/// # Errors
/// When the log cannot be read, or the key is not the one that it was written with.
pub async fn verify_log(
    location: &Location,
    mode: Mode,
    key: &ChainKey,
    knows: impl Fn(&str) -> bool + Send + 'static,
    receipt: Option<&Receipt>,
    progress: impl FnMut(u64, u64) + Send + 'static,
) -> Result<LogVerdict, VerifyError> {
    let (key, receipt, mut progress) = (key.clone(), receipt.cloned(), progress);
    let verdict = read_directly(location, mode, move |sql| {
        if in_snapshot(sql, |sql| is_wrong_key(sql, &key, &knows))? {
            return Ok(None);
        }
        let before = receipt.unwrap_or_default();
        let mut verification = Verification::new(&key, &before, &mut progress);
        verification.of = in_snapshot(sql, expected)?;
        in_snapshot(sql, |sql| verification.look_at_marker(sql))?;
        for chain in in_snapshot(sql, |sql| chains(sql, &before))? {
            in_snapshot(sql, |sql| chain_check::check_chain(&mut verification, sql, chain))?;
        }
        in_snapshot(sql, |sql| verification.verdict(sql)).map(Some)
    });
    verdict.await?.ok_or(VerifyError::WrongKey)
}

/// Whether nothing in the log was made with this key, and what was left to tell the key by does not say otherwise.
fn is_wrong_key(sql: &Sql<'_>, key: &ChainKey, knows: &impl Fn(&str) -> bool) -> Result<bool, StoreError> {
    let check = sql.first("SELECT key_check FROM desk", &[], |row| Ok(row.maybe_text(0).ok().flatten()))?.flatten();
    Ok(match marker::is_key_of(sql, key)? {
        Some(true) => false,
        Some(false) => !check.is_some_and(|check| knows(&check)),
        None => check.is_some_and(|check| !knows(&check)),
    })
}

/// How many rows there are to be read, more or less.
fn expected(sql: &Sql<'_>) -> Result<u64, StoreError> {
    let rows = sql.rows("SELECT seq, pruned_seq FROM log_chain", &[], |row| {
        Ok(row.int(0).unwrap_or(0).saturating_sub(row.int(1).unwrap_or(0)).max(0).unsigned_abs())
    })?;
    Ok(rows.into_iter().fold(0, u64::saturating_add))
}

/// Every chain that there is, was or ought to be.
fn chains(sql: &Sql<'_>, receipt: &Receipt) -> Result<Vec<i64>, StoreError> {
    let mut chains: Vec<_> = (0..=ADOPTED_CHAIN).chain(receipt.ends.iter().map(|(chain, ..)| *chain)).collect();
    chains.extend(sql.rows("SELECT chain FROM log_chain", &[], |row| Ok(row.int(0).ok()))?.into_iter().flatten());
    // Each by the index, and none is left out for being the smallest or the largest number.
    for beyond in ["chain < 0".to_owned(), format!("chain > {ADOPTED_CHAIN}")] {
        let text =
            format!("SELECT DISTINCT chain FROM login_log WHERE {beyond} ORDER BY chain LIMIT {MAX_OTHER_CHAINS}");
        chains.extend(sql.rows(&text, &[], |row| Ok(row.int(0).ok()))?.into_iter().flatten());
    }
    chains.sort_unstable();
    chains.dedup();
    Ok(chains)
}

/// What was found so far.
struct Verification<'a> {
    key: &'a ChainKey,
    receipt: &'a Receipt,
    progress: &'a mut (dyn FnMut(u64, u64) + Send),
    of: u64,
    rows: u64,
    fitting: u64,
    pruned: u64,
    marker: Option<Marker>,
    /// Rows that others tell of and that are not there, by their chain.
    lost: BTreeMap<i64, BTreeSet<i64>>,
    faults: LogFaults,
    ends: Vec<(i64, i64, String)>,
}

impl<'a> Verification<'a> {
    fn new(key: &'a ChainKey, receipt: &'a Receipt, progress: &'a mut (dyn FnMut(u64, u64) + Send)) -> Self {
        let (faults, ends, lost) = (LogFaults::default(), Vec::new(), BTreeMap::new());
        Self { key, receipt, progress, of: 0, rows: 0, fitting: 0, pruned: 0, marker: None, lost, faults, ends }
    }

    /// Whether the marker is there, genuine, and the one that the receipt tells of.
    fn look_at_marker(&mut self, sql: &Sql<'_>) -> Result<(), StoreError> {
        match marker::read(sql, self.key)? {
            MarkerState::Genuine(marker) => {
                if self.receipt.marker.as_ref().is_some_and(|known| *known != marker.mac) {
                    self.add_general_fault(
                        LogFaultKind::MarkerReplaced,
                        None,
                        Some(Timestamp::from_millis(marker.since)),
                    );
                }
                self.marker = Some(marker);
            }
            MarkerState::Forged => self.add_general_fault(LogFaultKind::MarkerChanged, None, None),
            MarkerState::Missing => self.add_general_fault(LogFaultKind::MarkerMissing, None, None),
        }
        Ok(())
    }

    /// Notes a fault that has no place in a chain.
    fn add_general_fault(&mut self, what: LogFaultKind, id: Option<String>, at: Option<Timestamp>) {
        self.faults.note(LogFault { chain: -1, first: 0, last: 0, what, id, at });
    }

    /// Remembers that a row of another chain tells of a row that is not there.
    fn miss(&mut self, chain: i64, seq: i64) {
        let lost = self.lost.entry(chain).or_default();
        if lost.len() < MAX_LOST_PER_CHAIN {
            lost.insert(seq);
        }
    }

    /// Tells how far it is.
    fn report_progress(&mut self) {
        (self.progress)(self.rows, self.of.max(self.rows));
    }

    /// Rows whose place is no number, which only the embedded database would hold: no walk along a chain comes by them.
    fn strays(&mut self, sql: &Sql<'_>) -> Result<(), StoreError> {
        let Sql::Sqlite(_) = sql else { return Ok(()) };
        let text = "SELECT id FROM login_log WHERE (chain IS NOT NULL AND typeof(chain) <> 'integer')
            OR (seq IS NOT NULL AND typeof(seq) <> 'integer') LIMIT 1000";
        for id in sql.rows(text, &[], |row| Ok(row.text(0).ok()))? {
            self.add_general_fault(LogFaultKind::Added, id, None);
        }
        Ok(())
    }

    /// Places at which more than one row stands, which only a database without its index would hold.
    fn twice(&mut self, sql: &Sql<'_>) -> Result<(), StoreError> {
        let text = format!(
            "SELECT chain, seq FROM login_log WHERE chain IS NOT NULL AND seq IS NOT NULL
             GROUP BY chain, seq HAVING COUNT(*) > 1 ORDER BY chain, seq LIMIT {MAX_DUPLICATES}"
        );
        for (chain, seq) in sql.rows(&text, &[], |row| Ok((row.int(0).unwrap_or(-1), row.int(1).unwrap_or(0))))? {
            if !self.faults.covers(chain, seq) {
                let what = LogFaultKind::Added;
                self.faults.note(LogFault { chain, first: seq, last: seq, what, id: None, at: None });
            }
        }
        Ok(())
    }

    /// Rows that are in no chain.
    fn unchained(&mut self, sql: &Sql<'_>) -> Result<u64, StoreError> {
        let loose = "FROM login_log WHERE (chain IS NULL OR seq IS NULL)";
        let rows = sql.first(&format!("SELECT COUNT(*) {loose}"), &[], |row| row.int(0))?.unwrap_or(0).unsigned_abs();
        let text = format!("SELECT id, at {loose} ORDER BY id LIMIT {MAX_LISTED_UNCHAINED}");
        for (id, at) in sql.rows(&text, &[], |row| Ok((row.text(0).ok(), row.timestamp(1).ok())))? {
            self.add_general_fault(LogFaultKind::Unchained, id, at);
        }
        self.faults.add(rows.saturating_sub(MAX_LISTED_UNCHAINED));
        Ok(rows)
    }

    /// Rows that others tell of, where nothing else is known to be wrong with their place.
    fn contradictions(&mut self) {
        for (chain, lost) in std::mem::take(&mut self.lost) {
            for seq in lost {
                if !self.faults.covers(chain, seq) {
                    let what = LogFaultKind::LostFromOthers;
                    self.faults.note(LogFault { chain, first: seq, last: seq, what, id: None, at: None });
                }
            }
        }
    }

    fn verdict(mut self, sql: &Sql<'_>) -> Result<LogVerdict, StoreError> {
        self.contradictions();
        self.strays(sql)?;
        self.twice(sql)?;
        let unchained = self.unchained(sql)?;
        let adopted = self.marker.as_ref().filter(|marker| marker.adopted > 0);
        let adopted = adopted.map(|marker| (marker.adopted.unsigned_abs(), Timestamp::from_millis(marker.since)));
        let (faults, more) = self.faults.into_parts();
        Ok(LogVerdict {
            rows: self.rows,
            fitting: self.fitting,
            unchained,
            adopted,
            pruned: self.pruned,
            faults,
            more,
            receipt: Receipt::new(self.key, self.marker.map(|marker| marker.mac), self.ends),
        })
    }
}
