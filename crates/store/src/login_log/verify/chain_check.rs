//! Verifies one chain, from its start to its end.

use super::fault::{LogFault, LogFaultKind};
use super::{Verification, chain_walk};
use crate::Result;
use crate::database::Sql;
use crate::login_log::chain::{ADOPTED_CHAIN, ChainKey};
use crate::login_log::chain_walk::{ChainEnd, ChainWalk, PruneMark, RowFit, WalkedRow, WitnessedEnd};
use crate::login_log::keys::LogKeys;

const BATCH_ROWS: i64 = 5_000;

struct ChainCheck<'s, 'a> {
    verification: &'s mut Verification<'a>,
    chain: i64,
    end: Option<ChainEnd>,
    /// How far each chain was pruned, if the mark is genuine.
    pruned: Vec<(i64, PruneMark)>,
    /// What is known about rows of the chain from elsewhere: position, hash, and the fault if the row is another.
    pinned: Vec<(i64, String, LogFaultKind)>,
    /// The number of the previous row.
    last: i64,
    /// Whether the previous row is intact.
    well: bool,
}

pub(super) fn check_chain(verification: &mut Verification<'_>, sql: &Sql<'_>, chain: i64) -> Result<()> {
    let (end, keys) = (chain_walk::end(sql, chain)?, LogKeys::read(sql, verification.keys)?);
    let start = start(verification, sql, keys.current, chain, end.as_ref())?;
    verification.ends.extend(end.iter().map(|end| (chain, end.seq, end.hash.clone())));
    let is_named = end.as_ref().is_none_or(|end| keys.is_named(chain, &end.key_id));
    let (pruned, pinned) = (pruned(sql, keys.current)?, pinned(verification, &keys, chain));
    let mut check = ChainCheck { verification, chain, end, pruned, pinned, last: start.seq, well: true };
    check.expect_end();
    if !is_named {
        check.fault(LogFaultKind::EndChanged, 0, 0);
    }
    if let Some((first, _)) = chain_walk::up_to(sql, chain, start.seq)? {
        check.fault(LogFaultKind::Added, first, start.seq);
    }
    check.compare_with_pinned(start.seq, &start.hash);
    let mut walk = ChainWalk::after(&keys, chain, &start);
    while walk.next(sql, BATCH_ROWS, |found| check.take(found))? {
        check.verification.report_progress();
    }
    check.finish(&walk);
    Ok(())
}

/// How far each chain was pruned, if the mark was made with the key.
fn pruned(sql: &Sql<'_>, key: &ChainKey) -> Result<Vec<(i64, PruneMark)>> {
    let mut genuine = Vec::new();
    for chain in 0..ADOPTED_CHAIN {
        let end = chain_walk::end(sql, chain)?.filter(|end| end.pruned.is_genuine(key, chain));
        genuine.extend(end.map(|end| (chain, end.pruned)));
    }
    Ok(genuine)
}

/// The rows that the receipt recorded, and those at which the key was replaced.
fn pinned(verification: &Verification<'_>, keys: &LogKeys<'_>, chain: i64) -> Vec<(i64, String, LogFaultKind)> {
    let receipt =
        verification.receipt.of(chain).map(|(seq, hash)| (seq, hash.to_owned(), LogFaultKind::LostFromReceipt));
    let ends = keys.ends(chain).into_iter().map(|(seq, hash)| (seq, hash, LogFaultKind::LostFromEarlierKey));
    receipt.into_iter().chain(ends).collect()
}

/// The position before the first row.
fn start(
    verification: &mut Verification<'_>,
    sql: &Sql<'_>,
    key: &ChainKey,
    chain: i64,
    end: Option<&ChainEnd>,
) -> Result<PruneMark> {
    let pruned = end.map_or_else(PruneMark::default, |end| end.pruned.clone());
    if pruned.is_genuine(key, chain) {
        verification.pruned = verification.pruned.saturating_add(pruned.seq.unsigned_abs());
        return Ok(pruned);
    }
    let what = LogFaultKind::ForgedPrune;
    verification.faults.note(LogFault { chain, first: 1, last: pruned.seq, what, id: None, at: None });
    // Rows that exist despite the mark are read.
    Ok(if chain_walk::up_to(sql, chain, pruned.seq)?.is_some() { PruneMark::default() } else { pruned })
}

impl ChainCheck<'_, '_> {
    /// Checks that every chain of the service has an end, and that the end of the adopted chain is as it was made.
    fn expect_end(&mut self) {
        let made = self.verification.marker.as_ref().filter(|_| self.chain == ADOPTED_CHAIN);
        let made = made.map(|marker| (marker.adopted, marker.hash.clone()));
        match (&self.end, made) {
            _ if !(0..=ADOPTED_CHAIN).contains(&self.chain) => self.fault(LogFaultKind::NoSuchChain, 0, 0),
            (None, _) => self.fault(LogFaultKind::EndChanged, 0, 0),
            (Some(end), Some((seq, hash))) if (end.seq, &end.hash) != (seq, &hash) => {
                self.fault(LogFaultKind::EndChanged, seq, seq);
            }
            (Some(_), _) => {}
        }
    }

    /// Checks that the row that another row recorded is still at its position, or was pruned.
    fn compare(&mut self, WitnessedEnd { chain, seq, hash, now }: WitnessedEnd) {
        let pruned = self.pruned.iter().find(|(of, _)| *of == chain).map(|(_, pruned)| pruned);
        let known = match now {
            _ if seq == 0 => true,
            Some(now) => now == hash,
            None => pruned.is_some_and(|pruned| seq < pruned.seq || (seq == pruned.seq && hash == pruned.hash)),
        };
        if !known {
            self.verification.miss(chain, seq);
        }
    }

    fn take(&mut self, found: WalkedRow) {
        let follows = self.last.saturating_add(1);
        if found.seq > follows {
            let (chain, what, last) = (self.chain, LogFaultKind::Missing, found.seq.saturating_sub(1));
            self.verification.faults.note(LogFault { chain, first: follows, last, what, id: None, at: found.at });
        }
        self.compare_with_pinned(found.seq, &found.hash);
        self.verification.rows += 1;
        self.verification.fitting += u64::from(found.fit == RowFit::Intact);
        let what = match found.fit {
            _ if self.end.as_ref().is_some_and(|end| found.seq > end.seq) => Some(LogFaultKind::Added),
            RowFit::Changed => Some(LogFaultKind::Changed),
            RowFit::OtherChain => Some(LogFaultKind::Moved),
            RowFit::Duplicate => Some(LogFaultKind::Added),
            RowFit::Intact | RowFit::Unverifiable => None,
        };
        (self.last, self.well) = (found.seq, found.fit == RowFit::Intact);
        let WalkedRow { seq, id, at, seen, .. } = found;
        if let Some(what) = what {
            self.verification.faults.note(LogFault { chain: self.chain, first: seq, last: seq, what, id, at });
        } else if let Some(seen) = seen.filter(|_| self.well) {
            self.compare(seen);
        }
    }

    fn finish(&mut self, walk: &ChainWalk<'_>) {
        let reached = self.end.as_ref().map_or(self.last, |end| end.seq.max(self.last));
        match self.end.take() {
            Some(end) if end.seq > self.last => self.fault(LogFaultKind::EndCut, self.last.saturating_add(1), end.seq),
            // A changed row was reported already.
            Some(end) if end.seq == self.last && self.well && !walk.is_at(&end.hash) => {
                self.fault(LogFaultKind::EndChanged, end.seq, end.seq);
            }
            Some(_) | None => {}
        }
        for (seq, _, what) in std::mem::take(&mut self.pinned) {
            if seq > reached {
                self.fault(what, reached.saturating_add(1), seq);
            }
        }
    }

    /// Compares a row with what is known about the row at its position from elsewhere.
    fn compare_with_pinned(&mut self, seq: i64, hash: &str) {
        let other = self.pinned.iter().find(|(at, kept, _)| *at == seq && kept != hash);
        if let Some(what) = other.map(|(.., what)| *what) {
            self.fault(what, seq, seq);
        }
    }

    fn fault(&mut self, what: LogFaultKind, first: i64, last: i64) {
        let fault = LogFault { chain: self.chain, first, last, what, id: None, at: None };
        self.verification.faults.note(fault);
    }
}
