//! Verifies the log: every row of every chain, read next to the running service.
//!
//! An attacker with the database and without the key can make one change that is not found here: cutting off the newest rows of
//! all chains together, as if the database were an older copy. Detecting that takes a receipt, made before and kept elsewhere.

mod chain_check;
mod fault;
mod unchained;

use std::collections::{BTreeMap, BTreeSet};

use deskpass_core::Timestamp;

use super::chain::ADOPTED_CHAIN;
use super::chain_walk;
use super::key_evidence::is_key_of;
use super::keys::{ChainKeys, LogKeys};
use super::marker::{self, Marker, MarkerState};
use super::receipt::{InvalidReceipt, Receipt};
use crate::database::{Sql, SqlValue, in_snapshot, read_directly};
use crate::{DirectReadError, Location, Mode, Result};

use fault::LogFaults;
pub use fault::{LogFault, LogFaultKind};

/// The number of rows that one snapshot reads. A snapshot that lasts long keeps SQLite's write-ahead log growing, and PostgreSQL from
/// removing the former versions of rows.
const BATCH_ROWS: i64 = 5_000;

/// The maximum number of chains unknown to the service that are checked: each is a fault.
const MAX_OTHER_CHAINS: u64 = 1_000;

/// The maximum number of remembered rows of each chain that other rows recorded and that are missing.
const MAX_LOST_PER_CHAIN: usize = 1_000;

/// Result of verifying the log.
#[derive(Clone, Debug)]
pub struct LogVerdict {
    /// The number of chained rows.
    pub rows: u64,
    /// The number of intact rows among them: nearly all, unless the key is wrong.
    pub fitting: u64,
    /// The number of unchained rows. The service writes no such rows.
    pub unchained: u64,
    /// The number of rows from before chains, and when they were adopted into one: earlier changes cannot be detected.
    pub adopted: Option<(u64, Timestamp)>,
    /// The number of pruned rows.
    pub pruned: u64,
    /// The first faults.
    pub faults: Vec<LogFault>,
    /// The number of further faults.
    pub more: u64,
    /// The ends of the chains.
    pub receipt: Receipt,
    /// The name of the key that the log is written with.
    pub key: String,
    /// Whether that is the first key of the settings. Otherwise an attacker who has an older key may have made it look like the
    /// current one.
    pub is_first_key: bool,
}

/// Why the log could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] DirectReadError),
    /// The keys are not the key that the rows were written with.
    #[error("the log was written with another key")]
    WrongKey,
    /// The receipt was not made with a key of this log.
    #[error("{0}")]
    Receipt(InvalidReceipt),
}

/// The log to verify, and what it is verified with.
pub struct LogVerification<'a> {
    /// Where the log is.
    pub location: &'a Location,
    /// The mode of the data.
    pub mode: Mode,
    /// The keys that the log may be written with.
    pub keys: &'a ChainKeys,
    /// Returns whether the stored text by which the key is checked was sealed with one of these keys.
    pub knows: Box<dyn Fn(&str) -> bool + Send>,
    /// The receipt of an earlier verification.
    pub receipt: Option<&'a Receipt>,
    /// Called with the number of rows so far and of all rows, between two snapshots.
    pub progress: Box<dyn FnMut(u64, u64) + Send>,
    /// The number of rows that one snapshot reads. Tests choose it.
    #[doc(hidden)]
    pub batch_rows: i64,
}

impl<'a> LogVerification<'a> {
    /// A verification without a receipt that reports no progress.
    #[must_use]
    pub fn new(
        location: &'a Location,
        mode: Mode,
        keys: &'a ChainKeys,
        knows: impl Fn(&str) -> bool + Send + 'static,
    ) -> Self {
        Self {
            location,
            mode,
            keys,
            knows: Box::new(knows),
            receipt: None,
            progress: Box::new(|_, _| {}),
            batch_rows: BATCH_ROWS,
        }
    }
}

/// Reads the whole log next to the running service and checks every chain. Each snapshot reads which key is current, since it may be
/// replaced meanwhile.
pub async fn verify_log(verification: LogVerification<'_>) -> Result<LogVerdict, VerifyError> {
    let LogVerification { location, mode, keys, knows, receipt, mut progress, batch_rows } = verification;
    let (keys, receipt) = (keys.clone(), receipt.cloned());
    let verdict = read_directly(location, mode, move |sql| {
        if in_snapshot(sql, |sql| is_wrong_key(sql, &keys, &knows))? {
            return Ok(Err(VerifyError::WrongKey));
        }
        let genuine = in_snapshot(sql, |sql| {
            let log_keys = LogKeys::read(sql, &keys)?;
            Ok(receipt.as_ref().map_or(Ok(()), |receipt| receipt.require_genuine(&log_keys, &keys)))
        })?;
        if let Err(invalid) = genuine {
            return Ok(Err(VerifyError::Receipt(invalid)));
        }
        let before = receipt.unwrap_or_default();
        let mut verification = Verification::new(&keys, &before, &mut progress, batch_rows);
        verification.of = in_snapshot(sql, expected)?;
        in_snapshot(sql, |sql| verification.look_at_marker(sql))?;
        let chains = in_snapshot(sql, |sql| chains(sql, &before))?;
        for chain in &chains {
            chain_check::check_chain(&mut verification, sql, *chain)?;
        }
        verification.contradictions();
        verification.strays(sql)?;
        verification.unchained(sql, &chains)?;
        in_snapshot(sql, |sql| verification.verdict(sql)).map(Ok)
    });
    verdict.await?
}

/// Whether nothing in the log was made with these keys, and the stored text by which the key is checked does not contradict that.
fn is_wrong_key(sql: &Sql<'_>, keys: &ChainKeys, knows: &impl Fn(&str) -> bool) -> Result<bool> {
    let check = marker::key_check(sql)?;
    Ok(match is_key_of(sql, keys)? {
        Some(true) => false,
        Some(false) => !check.is_some_and(|check| knows(&check)),
        None => check.is_some_and(|check| !knows(&check)),
    })
}

/// The approximate number of rows to read.
fn expected(sql: &Sql<'_>) -> Result<u64> {
    let rows = sql.rows("SELECT seq, pruned_seq FROM log_chain", &[], |row| {
        Ok(row.int(0).unwrap_or(0).saturating_sub(row.int(1).unwrap_or(0)).max(0).unsigned_abs())
    })?;
    Ok(rows.into_iter().fold(0, u64::saturating_add))
}

/// All chains that exist, existed or should exist.
fn chains(sql: &Sql<'_>, receipt: &Receipt) -> Result<Vec<i64>> {
    let mut chains: Vec<_> = (0..=ADOPTED_CHAIN).chain(receipt.ends.iter().map(|(chain, ..)| *chain)).collect();
    chains.extend(sql.rows("SELECT chain FROM log_chain", &[], |row| Ok(row.int(0).ok()))?.into_iter().flatten());
    // Each query uses the index, and none leaves out the smallest or the largest number.
    for beyond in ["chain < 0".to_owned(), format!("chain > {ADOPTED_CHAIN}")] {
        let text =
            format!("SELECT DISTINCT chain FROM login_log WHERE {beyond} ORDER BY chain LIMIT {MAX_OTHER_CHAINS}");
        chains.extend(sql.rows(&text, &[], |row| Ok(row.int(0).ok()))?.into_iter().flatten());
    }
    chains.sort_unstable();
    chains.dedup();
    Ok(chains)
}

/// The statements that find rows in no chain, each with its name and values.
pub(super) fn unchained_statements() -> Vec<(&'static str, String, Vec<SqlValue<'static>>)> {
    unchained::statements()
}

/// The findings so far.
struct Verification<'a> {
    keys: &'a ChainKeys,
    receipt: &'a Receipt,
    progress: &'a mut (dyn FnMut(u64, u64) + Send),
    /// The number of rows that one snapshot reads.
    batch_rows: i64,
    of: u64,
    rows: u64,
    fitting: u64,
    unchained: u64,
    pruned: u64,
    marker: Option<Marker>,
    /// Missing rows that other rows recorded, by chain.
    lost: BTreeMap<i64, BTreeSet<i64>>,
    faults: LogFaults,
    ends: Vec<(i64, i64, String)>,
}

impl<'a> Verification<'a> {
    fn new(
        keys: &'a ChainKeys,
        receipt: &'a Receipt,
        progress: &'a mut (dyn FnMut(u64, u64) + Send),
        batch_rows: i64,
    ) -> Self {
        let (faults, ends, lost, marker) = (LogFaults::default(), Vec::new(), BTreeMap::new(), None);
        let (of, rows, fitting, unchained, pruned) = (0, 0, 0, 0, 0);
        Self { keys, receipt, progress, batch_rows, of, rows, fitting, unchained, pruned, marker, lost, faults, ends }
    }

    /// Checks that the marker exists, is genuine, and is the marker of the receipt.
    fn look_at_marker(&mut self, sql: &Sql<'_>) -> Result<()> {
        let keys = LogKeys::read(sql, self.keys)?;
        match marker::read(sql, keys.current)? {
            MarkerState::Genuine(marker) => {
                let is_known = |known: &String| *known == marker.mac || keys.is_earlier_marker(known);
                if self.receipt.marker.as_ref().is_some_and(|known| !is_known(known)) {
                    let since = Timestamp::from_millis(marker.since);
                    self.add_general_fault(LogFaultKind::MarkerReplaced, None, Some(since));
                }
                self.marker = Some(marker);
            }
            MarkerState::Forged => self.add_general_fault(LogFaultKind::MarkerChanged, None, None),
            MarkerState::Missing => self.add_general_fault(LogFaultKind::MarkerMissing, None, None),
        }
        Ok(())
    }

    /// Adds a fault that has no position in a chain.
    fn add_general_fault(&mut self, what: LogFaultKind, id: Option<String>, at: Option<Timestamp>) {
        self.faults.note(LogFault { chain: -1, first: 0, last: 0, what, id, at });
    }

    /// Remembers that a row of another chain recorded a row that is missing.
    fn miss(&mut self, chain: i64, seq: i64) {
        let lost = self.lost.entry(chain).or_default();
        if lost.len() < MAX_LOST_PER_CHAIN {
            lost.insert(seq);
        }
    }

    fn report_progress(&mut self) {
        (self.progress)(self.rows, self.of.max(self.rows));
    }

    /// Reports missing rows that other rows recorded, unless another fault covers their position.
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

    fn verdict(self, sql: &Sql<'_>) -> Result<LogVerdict> {
        let keys = LogKeys::read(sql, self.keys)?;
        let adopted = self.marker.as_ref().filter(|marker| marker.adopted > 0);
        let adopted = adopted.map(|marker| (marker.adopted.unsigned_abs(), Timestamp::from_millis(marker.since)));
        // The key may have been replaced since the marker was read, and the receipt must go with the current one.
        let marker = self.marker.map(|marker| marker.renewed(keys.current));
        Ok(LogVerdict {
            rows: self.rows,
            fitting: self.fitting,
            unchained: self.unchained,
            adopted,
            pruned: self.pruned,
            faults: self.faults.first,
            more: self.faults.more,
            receipt: Receipt::new(keys.current, marker.map(|marker| marker.mac), self.ends),
            key: keys.current.id.clone(),
            is_first_key: keys.current.id == self.keys.first().id,
        })
    }
}
