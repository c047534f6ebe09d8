//! Verifies one chain, from its start to its end.

use super::fault::{LogFault, LogFaultKind};
use super::{Verification, chain_walk};
use crate::Result;
use crate::database::{Sql, in_snapshot};
use crate::login_log::chain::{ADOPTED_CHAIN, ChainKey};
use crate::login_log::chain_walk::{ChainEnd, ChainWalk, PruneMark, RowFit, WalkedRow, WitnessedEnd};
use crate::login_log::keys::LogKeys;

struct ChainCheck<'s, 'a> {
    verification: &'s mut Verification<'a>,
    chain: i64,
    /// The end of the chain in its first snapshot.
    end: Option<ChainEnd>,
    /// The last position to check: of the last row in the first snapshot, or of the end if that is further.
    until: i64,
    /// How far each chain was pruned, if the mark is genuine.
    pruned: Vec<(i64, PruneMark)>,
    /// What is known about rows of the chain from elsewhere: position, hash, and the fault if the row is another.
    pinned: Vec<(i64, String, LogFaultKind)>,
    /// The number of the previous row.
    last: i64,
    /// Whether the previous row is intact.
    well: bool,
    /// The end of the chain in the current snapshot: the service wrote no row after it. `None` if the chain has no end.
    newest: Option<i64>,
}

/// Checks a chain, each batch of rows in a snapshot of its own: a long snapshot would keep the write-ahead log of SQLite growing, and
/// PostgreSQL from removing the former versions of all rows.
///
/// The first snapshot says which positions to check. Rows at these never change afterwards, except that the oldest are pruned: they are
/// skipped, if the mark is genuine. Rows that are written after the first snapshot are left out.
pub(super) fn check_chain(verification: &mut Verification<'_>, sql: &Sql<'_>, chain: i64) -> Result<()> {
    let (mut check, mut walk) = in_snapshot(sql, move |sql| ChainCheck::begin(verification, sql, chain))?;
    while in_snapshot(sql, |sql| check.continue_with(&mut walk, sql))? {
        check.verification.report_progress();
    }
    check.finish(&walk);
    Ok(())
}

/// How far each chain was pruned, if the mark was made with the key.
fn genuine_marks(ends: Vec<(i64, ChainEnd)>, key: &ChainKey) -> Vec<(i64, PruneMark)> {
    let marks = ends.into_iter().map(|(chain, end)| (chain, end.pruned));
    marks.filter(|(chain, mark)| mark.is_genuine(key, *chain)).collect()
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

impl<'s, 'a> ChainCheck<'s, 'a> {
    /// Reads what the rows of the chain are compared with, and checks that.
    fn begin(verification: &'s mut Verification<'a>, sql: &Sql<'_>, chain: i64) -> Result<(Self, ChainWalk)> {
        let (end, keys) = (chain_walk::end(sql, chain)?, LogKeys::read(sql, verification.keys)?);
        let start = start(verification, sql, keys.current, chain, end.as_ref())?;
        verification.ends.extend(end.iter().map(|end| (chain, end.seq, end.hash.clone())));
        let is_named = end.as_ref().is_none_or(|end| keys.is_named(chain, &end.key_id));
        let pinned = pinned(verification, &keys, chain);
        let newest = end.as_ref().map(|end| end.seq);
        let until = chain_walk::last_position(sql, chain)?.max(newest).unwrap_or(start.seq);
        let (last, well, pruned) = (start.seq, true, Vec::new());
        let mut check = Self { verification, chain, end, until, pruned, pinned, last, well, newest };
        check.expect_end();
        if !is_named {
            check.fault(LogFaultKind::EndChanged, 0, 0);
        }
        if let Some((first, _)) = chain_walk::up_to(sql, chain, start.seq)? {
            check.fault(LogFaultKind::Added, first, start.seq);
        }
        check.compare_with_pinned(start.seq, &start.hash);
        Ok((check, ChainWalk::after(chain, &start)))
    }

    /// Checks the next rows; `false` when there are none. Reads the keys and the marks again: rows may have been pruned since the last
    /// snapshot, and the key may have been replaced.
    fn continue_with(&mut self, walk: &mut ChainWalk, sql: &Sql<'_>) -> Result<bool> {
        if self.last >= self.until {
            return Ok(false);
        }
        let (keys, ends) = (LogKeys::read(sql, self.verification.keys)?, chain_walk::ends(sql)?);
        let now = ends.iter().find(|(chain, _)| *chain == self.chain).map(|(_, end)| end.seq);
        // Rows that were put behind the end before the first snapshot may be behind rows that were written since.
        self.newest = self.end.as_ref().map(|end| now.map_or(end.seq, |now| now.max(end.seq)));
        self.pruned = genuine_marks(ends, keys.current);
        self.skip_pruned(walk, sql)?;
        let (until, limit) = (self.until, self.verification.batch_rows);
        walk.next(sql, &keys, (until, limit), |found| self.take(found))
    }

    /// Continues after the rows that were pruned since the last snapshot. Only intact rows are pruned.
    fn skip_pruned(&mut self, walk: &mut ChainWalk, sql: &Sql<'_>) -> Result<()> {
        let is_further = |(chain, mark): &&(i64, PruneMark)| *chain == self.chain && mark.seq > self.last;
        let Some((_, mark)) = self.pruned.iter().find(is_further).cloned() else { return Ok(()) };
        if let Some(first) = chain_walk::first_between(sql, self.chain, self.last, mark.seq)? {
            self.fault(LogFaultKind::Added, first, mark.seq);
        }
        let pruned = mark.seq.saturating_sub(self.last).unsigned_abs();
        self.verification.pruned = self.verification.pruned.saturating_add(pruned);
        self.compare_with_pinned(mark.seq, &mark.hash);
        walk.skip_to(&mark);
        (self.last, self.well) = (mark.seq, true);
        Ok(())
    }

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
            _ if self.newest.is_some_and(|newest| found.seq > newest) => Some(LogFaultKind::Added),
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

    fn finish(&mut self, walk: &ChainWalk) {
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
