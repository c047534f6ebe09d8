//! One chain, from its beginning to its end.

use super::fault::{Fault, What};
use super::{Survey, links};
use crate::StoreError;
use crate::database::Sql;
use crate::login_log::chain::{ADOPTED, ChainKey};
use crate::login_log::links::{End, Fit, Found, Pruned, Seen, Walk};

/// Rows that are read together.
const ROWS: i64 = 5_000;

/// A chain on the way through it.
struct Along<'s, 'a> {
    survey: &'s mut Survey<'a>,
    chain: i64,
    end: Option<End>,
    /// Up to where every chain was pruned, as far as that is genuine.
    pruned: Vec<(i64, Pruned)>,
    /// The number of the row before.
    last: i64,
    /// Whether that one fits.
    well: bool,
}

/// Reads a chain from its beginning to its end.
pub(super) fn go(survey: &mut Survey<'_>, sql: &Sql<'_>, chain: i64) -> Result<(), StoreError> {
    let (end, key) = (links::end(sql, chain)?, survey.key);
    let start = start(survey, sql, chain, end.as_ref())?;
    survey.ends.extend(end.iter().map(|end| (chain, end.seq, end.hash.clone())));
    let pruned = pruned(sql, key)?;
    let mut along = Along { survey, chain, end, pruned, last: start.seq, well: true };
    along.expect_end();
    if let Some((first, _)) = links::up_to(sql, chain, start.seq)? {
        along.fault(What::Added, first, start.seq);
    }
    along.hold_against_receipt(start.seq, &start.hash);
    let mut walk = Walk::after(key, chain, &start);
    while walk.next(sql, ROWS, |found| along.take(found))? {
        along.survey.tell();
    }
    along.finish(&walk);
    Ok(())
}

/// Up to where each chain was pruned, where that was written with the key.
fn pruned(sql: &Sql<'_>, key: &ChainKey) -> Result<Vec<(i64, Pruned)>, StoreError> {
    let mut genuine = Vec::new();
    for chain in 0..ADOPTED {
        let end = links::end(sql, chain)?.filter(|end| end.pruned.is_genuine(key, chain));
        genuine.extend(end.map(|end| (chain, end.pruned)));
    }
    Ok(genuine)
}

/// Where the rows begin.
fn start(survey: &mut Survey<'_>, sql: &Sql<'_>, chain: i64, end: Option<&End>) -> Result<Pruned, StoreError> {
    let pruned = end.map_or_else(Pruned::default, |end| end.pruned.clone());
    if pruned.is_genuine(survey.key, chain) {
        survey.pruned = survey.pruned.saturating_add(pruned.seq.unsigned_abs());
        return Ok(pruned);
    }
    let what = What::ForgedPrune;
    survey.faults.note(Fault { chain, first: 1, last: pruned.seq, what, id: None, at: None });
    // Rows that are there all the same are read.
    Ok(if links::up_to(sql, chain, pruned.seq)?.is_some() { Pruned::default() } else { pruned })
}

impl Along<'_, '_> {
    /// Every chain that the service has has an end, and that of the rows from before chains stays as it was made.
    fn expect_end(&mut self) {
        let made = self.survey.marker.as_ref().filter(|_| self.chain == ADOPTED);
        let made = made.map(|marker| (marker.adopted, marker.hash.clone()));
        match (&self.end, made) {
            _ if !(0..=ADOPTED).contains(&self.chain) => self.fault(What::NoSuchChain, 0, 0),
            (None, _) => self.fault(What::EndChanged, 0, 0),
            (Some(end), Some((seq, hash))) if (end.seq, &end.hash) != (seq, &hash) => {
                self.fault(What::EndChanged, seq, seq);
            }
            (Some(_), _) => {}
        }
    }

    /// Whether the row that another one tells of is the one that stands there, or went for its age.
    fn compare(&mut self, Seen { chain, seq, hash, now }: Seen) {
        let pruned = self.pruned.iter().find(|(of, _)| *of == chain).map(|(_, pruned)| pruned);
        let known = match now {
            _ if seq == 0 => true,
            Some(now) => now == hash,
            None => pruned.is_some_and(|pruned| seq < pruned.seq || (seq == pruned.seq && hash == pruned.hash)),
        };
        if !known {
            self.survey.miss(chain, seq);
        }
    }

    fn take(&mut self, found: Found) {
        let follows = self.last.saturating_add(1);
        if found.seq > follows {
            let (chain, what, last) = (self.chain, What::Missing, found.seq.saturating_sub(1));
            self.survey.faults.note(Fault { chain, first: follows, last, what, id: None, at: found.at });
        }
        self.hold_against_receipt(found.seq, &found.hash);
        self.survey.rows += 1;
        self.survey.fitting += u64::from(found.fit == Fit::Well);
        let what = match found.fit {
            _ if self.end.as_ref().is_some_and(|end| found.seq > end.seq) => Some(What::Added),
            Fit::Not => Some(What::Changed),
            Fit::Elsewhere => Some(What::Moved),
            Fit::Twice => Some(What::Added),
            Fit::Well | Fit::Unknown => None,
        };
        (self.last, self.well) = (found.seq, found.fit == Fit::Well);
        let Found { seq, id, at, seen, .. } = found;
        if let Some(what) = what {
            self.survey.faults.note(Fault { chain: self.chain, first: seq, last: seq, what, id, at });
        } else if let Some(seen) = seen.filter(|_| self.well) {
            self.compare(seen);
        }
    }

    fn finish(&mut self, walk: &Walk<'_>) {
        let reached = self.end.as_ref().map_or(self.last, |end| end.seq.max(self.last));
        match self.end.take() {
            Some(end) if end.seq > self.last => self.fault(What::EndCut, self.last.saturating_add(1), end.seq),
            // A row that was changed itself is told of already.
            Some(end) if end.seq == self.last && self.well && !walk.is_at(&end.hash) => {
                self.fault(What::EndChanged, end.seq, end.seq);
            }
            Some(_) | None => {}
        }
        if let Some((seq, _)) = self.survey.receipt.of(self.chain).filter(|(seq, _)| *seq > reached) {
            self.fault(What::LostFromReceipt, reached.saturating_add(1), seq);
        }
    }

    /// A receipt remembers which row stood at its place.
    fn hold_against_receipt(&mut self, seq: i64, hash: &str) {
        let receipt = self.survey.receipt.of(self.chain);
        if receipt.is_some_and(|(at, kept)| at == seq && kept != hash) {
            self.fault(What::LostFromReceipt, seq, seq);
        }
    }

    fn fault(&mut self, what: What, first: i64, last: i64) {
        let fault = Fault { chain: self.chain, first, last, what, id: None, at: None };
        self.survey.faults.note(fault);
    }
}
