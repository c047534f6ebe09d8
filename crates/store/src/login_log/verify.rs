//! Whether the log is as it was written: every row of every chain, read beside the running service.
//!
//! Whoever has the database and not the key can change nothing that is not found here, with one exception: they may cut off the
//! newest rows of a chain and set its end back to match. That takes a receipt, made before and kept elsewhere.

mod along;
mod fault;

use super::chain::{CHAINS, ChainKey};
use super::links::{self, Fit, Walk};
use super::receipt::Receipt;
use crate::database::{Sql, at_one_moment, beside};
use crate::{BesideError, Location, Mode, StoreError};

use fault::Faults;
pub use fault::{Fault, What};

/// How many of the first rows of each chain tell whether the key is the right one.
const SAMPLE: i64 = 50;

/// What became of the log.
#[derive(Clone, Debug)]
pub struct LogVerdict {
    /// How many rows stand in chains.
    pub rows: u64,
    /// How many of them fit: as good as all, or the key is another one.
    pub fitting: u64,
    /// How many stand in none: from before there were chains, written by a node of a version before, or put in by hand.
    pub unchained: u64,
    /// Of those, how many are newer than the oldest row in a chain, and the first of them.
    pub unchained_since: Option<(u64, String)>,
    /// How many went for their age.
    pub pruned: u64,
    /// What is wrong, the first of it.
    pub faults: Vec<Fault>,
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
    Read(#[from] BesideError),
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
    let (key, receipt, mut progress) = (key.clone(), receipt.cloned().unwrap_or_default(), progress);
    let verdict = beside(location, mode, move |sql| {
        if at_one_moment(sql, |sql| is_other_key(sql, &key, &knows))? {
            return Ok(None);
        }
        let mut survey = Survey::new(&key, &receipt, &mut progress);
        survey.of = at_one_moment(sql, expected)?;
        for chain in at_one_moment(sql, |sql| chains(sql, &receipt))? {
            at_one_moment(sql, |sql| along::go(&mut survey, sql, chain))?;
        }
        at_one_moment(sql, |sql| survey.verdict(sql)).map(Some)
    });
    verdict.await?.ok_or(VerifyError::WrongKey)
}

/// Whether not one of the first rows fits, and what was left to tell the key by says so, too.
fn is_other_key(sql: &Sql<'_>, key: &ChainKey, knows: &impl Fn(&str) -> bool) -> Result<bool, StoreError> {
    let (mut rows, mut fitting) = (0, 0);
    for chain in 0..CHAINS {
        let pruned = links::end(sql, chain)?.unwrap_or_default().pruned;
        Walk::after(key, chain, &pruned).next(sql, SAMPLE, |found| {
            rows += 1;
            fitting += i32::from(found.fit == Fit::Well);
        })?;
    }
    if rows == 0 || fitting > 0 {
        return Ok(false);
    }
    let check = sql.first("SELECT key_check FROM desk", &[], |row| row.maybe_text(0))?;
    Ok(check.flatten().is_some_and(|check| !knows(&check)))
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
    let mut chains: Vec<_> = (0..CHAINS).chain(receipt.ends.iter().map(|(chain, ..)| *chain)).collect();
    chains.extend(sql.rows("SELECT chain FROM log_chain", &[], |row| Ok(row.int(0).ok()))?.into_iter().flatten());
    // Hops from one to the next: there are few.
    let mut after = Some(i64::MIN);
    while let Some(last) = after {
        let text = "SELECT chain FROM login_log WHERE chain > $1 ORDER BY chain LIMIT 1";
        after = sql.first(text, &args![last], |row| Ok(row.int(0).ok()))?.flatten();
        chains.extend(after);
    }
    chains.sort_unstable();
    chains.dedup();
    Ok(chains)
}

/// What was found so far.
struct Survey<'a> {
    key: &'a ChainKey,
    receipt: &'a Receipt,
    progress: &'a mut (dyn FnMut(u64, u64) + Send),
    of: u64,
    rows: u64,
    fitting: u64,
    pruned: u64,
    oldest: Option<String>,
    faults: Faults,
    ends: Vec<(i64, i64, String)>,
}

impl<'a> Survey<'a> {
    fn new(key: &'a ChainKey, receipt: &'a Receipt, progress: &'a mut (dyn FnMut(u64, u64) + Send)) -> Self {
        let (faults, ends) = (Faults::default(), Vec::new());
        Self { key, receipt, progress, of: 0, rows: 0, fitting: 0, pruned: 0, oldest: None, faults, ends }
    }

    /// Tells how far it is.
    fn tell(&mut self) {
        (self.progress)(self.rows, self.of.max(self.rows));
    }

    /// Rows whose place is no number, which only the embedded database would hold: no walk along a chain comes by them.
    fn strays(&mut self, sql: &Sql<'_>) -> Result<(), StoreError> {
        let Sql::Sqlite(_) = sql else { return Ok(()) };
        let text = "SELECT id FROM login_log WHERE (chain IS NOT NULL AND typeof(chain) <> 'integer')
            OR (seq IS NOT NULL AND typeof(seq) <> 'integer') LIMIT 1000";
        for id in sql.rows(text, &[], |row| Ok(row.text(0).ok()))? {
            self.faults.note(Fault { chain: -1, first: 0, last: 0, what: What::Added, id, at: None });
        }
        Ok(())
    }

    fn verdict(mut self, sql: &Sql<'_>) -> Result<LogVerdict, StoreError> {
        self.strays(sql)?;
        let loose = "FROM login_log WHERE (chain IS NULL OR seq IS NULL)";
        let unchained = sql.first(&format!("SELECT COUNT(*) {loose}"), &[], |row| row.int(0))?.unwrap_or(0);
        let since = self.oldest.as_deref().filter(|_| unchained > 0).map(|oldest| {
            let text = format!("SELECT COUNT(*), COALESCE(MIN(id), '') {loose} AND id > $1");
            sql.first(&text, &args![oldest], |row| Ok((row.int(0)?.unsigned_abs(), row.text(1)?)))
        });
        let since = since.transpose()?.flatten().filter(|(rows, _)| *rows > 0);
        let (faults, more) = self.faults.into_parts();
        Ok(LogVerdict {
            rows: self.rows,
            fitting: self.fitting,
            unchained: unchained.unsigned_abs(),
            unchained_since: since,
            pruned: self.pruned,
            faults,
            more,
            receipt: Receipt::new(self.key, self.ends),
        })
    }
}
