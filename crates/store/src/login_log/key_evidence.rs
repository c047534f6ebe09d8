//! Which key the log was written with, as far as the log shows.

use super::chain::{ADOPTED_CHAIN, ChainKey};
use super::chain_walk::{self, ChainWalk, PruneMark, RowFit};
use super::keys::{ChainKeys, LogKeys};
use super::marker::{self, MarkerState, key_check};
use super::retired_key;
use crate::Result;
use crate::database::Sql;

/// The number of rows at the start of each chain that are used to check the key.
const KEY_SAMPLE_ROWS: i64 = 50;

/// Whether the log is written with one of these keys, as far as the log shows: `None` when nothing in it was made with a key, or
/// the evidence is inconclusive.
pub(super) fn is_key_of(sql: &Sql<'_>, keys: &ChainKeys) -> Result<Option<bool>> {
    let mut known = None;
    for key in keys.iter() {
        known = is_one_key_of(sql, key)?.or(known);
        if known == Some(true) {
            break;
        }
    }
    Ok(known)
}

fn is_one_key_of(sql: &Sql<'_>, key: &ChainKey) -> Result<Option<bool>> {
    let marked = marker::read(sql, key)?;
    if matches!(marked, MarkerState::Genuine(_)) {
        return Ok(Some(true));
    }
    // The oldest rows were written with it, and the newest were not. The key itself made the proof of that.
    if retired_key::is_retired(sql, [key.log()])? {
        return Ok(Some(false));
    }
    let by_rows = is_key_of_rows(sql, key)?;
    Ok(by_rows.or(matches!(marked, MarkerState::Forged).then_some(false)))
}

/// Whether one of these is the key of the data: the log or the stored key check was made with it.
pub(crate) fn is_own_key(sql: &Sql<'_>, keys: &ChainKeys) -> Result<bool> {
    Ok(is_key_of(sql, keys)? == Some(true) || key_check(sql)?.is_some_and(|check| keys.matches_check(&check)))
}

/// Checks the key with the first rows of each chain alone.
fn is_key_of_rows(sql: &Sql<'_>, key: &ChainKey) -> Result<Option<bool>> {
    let (keys, mut rows, mut fitting) = (LogKeys::with(sql, key)?, 0, 0);
    for chain in 0..=ADOPTED_CHAIN {
        let pruned = chain_walk::end(sql, chain)?.map_or_else(PruneMark::default, |end| end.pruned);
        ChainWalk::after(chain, &pruned).next(sql, &keys, (i64::MAX, KEY_SAMPLE_ROWS), |found| {
            rows += 1;
            fitting += i32::from(found.fit == RowFit::Intact);
        })?;
    }
    Ok((rows > 0).then_some(fitting > 0))
}

/// The key that the newest rows were made with, as far as the rows show.
pub(super) fn proven_by_rows<'a>(sql: &Sql<'_>, keys: &'a ChainKeys) -> Result<Option<&'a ChainKey>> {
    for key in keys.iter() {
        if is_key_of_rows(sql, key)? == Some(true) && !retired_key::is_retired(sql, [key.log()])? {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

/// The key that the existing rows were made with; the first one, if none of them was.
pub(super) fn key_of_rows<'a>(sql: &Sql<'_>, keys: &'a ChainKeys) -> Result<&'a ChainKey> {
    if let Some(key) = proven_by_rows(sql, keys)? {
        return Ok(key);
    }
    let check = key_check(sql)?;
    let key = check.and_then(|check| keys.iter().find(|key| key.matches_check(&check)));
    Ok(key.unwrap_or(keys.first()))
}

/// Whether the existing rows were made with none of these keys. Checked before the marker is made, since a marker made with a
/// wrong key could not be corrected.
pub(crate) fn is_other_key(sql: &Sql<'_>, keys: &ChainKeys) -> Result<bool> {
    // The key of the newest rows, which may not be that of the oldest ones.
    let text = "SELECT DISTINCT key_id FROM log_chain WHERE key_id <> ''";
    let named = sql.rows(text, &[], |row| Ok(row.text(0).ok()))?;
    if named.into_iter().flatten().any(|id| !keys.has(&id)) {
        return Ok(true);
    }
    let check = key_check(sql)?;
    for key in keys.iter() {
        if retired_key::is_retired(sql, [key.log()])? {
            continue;
        }
        let is_other = match (is_key_of_rows(sql, key)?, &check) {
            (Some(true), _) | (None, None) => false,
            (Some(false) | None, Some(check)) => !key.matches_check(check),
            (Some(false), None) => true,
        };
        if !is_other {
            return Ok(false);
        }
    }
    Ok(true)
}
