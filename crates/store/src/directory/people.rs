//! Lists of people of a corporation: filtered, ordered, a page at a time.

use std::collections::HashMap;

use super::filter::{PageStart, PeopleFilter, PeopleOrder, PeopleSelection};
use super::person::{ListedPerson, listed};
use super::query::{LARGEST_BATCH, PeopleSql, SELECTIVE_LIMIT, batch_size};
use crate::database::{Row, Sql, in_snapshot};
use crate::{Cursor, Result, Store};

/// A page of a list of people.
#[derive(Clone, Debug)]
pub struct PeoplePage {
    /// The people.
    pub people: Vec<ListedPerson>,
    /// Cursor of the next page. It may be present with few people or none, since the scan for a page is limited.
    pub next: Option<String>,
}

/// The number of people in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeopleCount {
    /// The people that were counted.
    pub count: i64,
    /// Whether these are all; otherwise there may be more.
    pub exact: bool,
}

/// The maximum number of index entries scanned for a page, and for a count. At a million people a scan of as many takes some tens of
/// milliseconds.
pub(crate) const MAX_SCANNED_ENTRIES: usize = 10_000;

const MAX_PAGE_SIZE: usize = 1_000;

const MAX_CORPORATIONS: usize = 1_000;

impl Store {
    /// A page of a list of people, at most a thousand, among at most 10 000 scanned entries of one index.
    pub async fn people(&self, filter: PeopleFilter, at: PageStart, limit: i64) -> Result<PeoplePage> {
        self.people_within(filter, at, limit, MAX_SCANNED_ENTRIES).await
    }

    /// The same with another limit of the scan, for the tests.
    #[doc(hidden)]
    pub async fn people_within(
        &self,
        filter: PeopleFilter,
        at: PageStart,
        limit: i64,
        max_scanned: usize,
    ) -> Result<PeoplePage> {
        let limit = usize::try_from(limit).unwrap_or(0).clamp(1, MAX_PAGE_SIZE);
        let page = move |sql: &Sql<'_>| in_snapshot(sql, |sql| page(sql, &filter, at.clone(), limit, max_scanned));
        self.database.read(page).await
    }

    /// The number of people in a list, up to `at_most`, among at most 10 000 scanned entries of one index.
    pub async fn count_people(&self, filter: PeopleFilter, at_most: i64) -> Result<PeopleCount> {
        self.count_people_within(filter, at_most, MAX_SCANNED_ENTRIES).await
    }

    /// The same with another limit of the scan, for the tests.
    #[doc(hidden)]
    pub async fn count_people_within(
        &self,
        filter: PeopleFilter,
        at_most: i64,
        max_scanned: usize,
    ) -> Result<PeopleCount> {
        let count = move |sql: &Sql<'_>| {
            in_snapshot(sql, |sql| {
                let selective = is_selective(sql, &filter, max_scanned)?;
                count(sql, &filter, at_most, max_scanned, selective)
            })
        };
        self.database.read(count).await
    }

    /// The people of a corporation with these keys, in any order; unknown ones are left out.
    pub async fn people_with_keys(&self, corp: String, keys: Vec<String>) -> Result<Vec<ListedPerson>> {
        self.database.read(move |sql| Ok(read(sql, &corp, &keys)?.into_values().collect())).await
    }

    /// All corporations that have employees; at most a thousand.
    pub async fn corporations(&self) -> Result<Vec<String>> {
        // One index lookup per corporation, however many people it has.
        let text = "SELECT corp_id FROM employee WHERE corp_id > $1 ORDER BY corp_id LIMIT 1";
        self.database
            .read(move |sql| {
                let mut corporations: Vec<String> = Vec::new();
                while corporations.len() < MAX_CORPORATIONS {
                    let last = corporations.last().map_or("", String::as_str);
                    let Some(next) = sql.first(text, &args![last], |row| row.text(0))? else { break };
                    corporations.push(next);
                }
                Ok(corporations)
            })
            .await
    }
}

fn page(sql: &Sql<'_>, filter: &PeopleFilter, at: PageStart, limit: usize, max_scanned: usize) -> Result<PeoplePage> {
    let (keys, next) = walk(sql, filter, at, limit, max_scanned)?;
    let mut people = read(sql, &filter.corp, &keys)?;
    // Employees are never removed, but a list must not fail if one is.
    let people = keys.iter().filter_map(|key| people.remove(key)).collect();
    Ok(PeoplePage { people, next: next.map(|next| next.to_text()) })
}

/// The keys of the people on a page, and the entry after which the next page continues.
fn walk(
    sql: &Sql<'_>,
    filter: &PeopleFilter,
    at: PageStart,
    limit: usize,
    max_scanned: usize,
) -> Result<(Vec<String>, Option<Cursor>)> {
    let selective = is_selective(sql, filter, max_scanned)?;
    let (mut last, mut to_skip) = match at {
        PageStart::Offset(offset) => (None, usize::try_from(offset).unwrap_or(0)),
        PageStart::After(cursor) => (Some(cursor), 0),
    };
    let (mut keys, mut scanned) = (Vec::new(), 0);
    let mut step = batch_size(to_skip.saturating_add(limit + 1).min(LARGEST_BATCH));
    loop {
        let query = PeopleSql::batch(filter, last.as_ref(), step, selective)?;
        let entry = |row: &Row<'_>| Ok((row.text(0)?, row.text(1)?, row.int(2)? == 1));
        let entries = sql.rows(&query.text, &query.values, entry)?;
        let ended = entries.len() < step;
        for (key, place, fits) in entries {
            if scanned == max_scanned || (fits && keys.len() == limit) {
                return Ok((keys, last));
            }
            scanned += 1;
            last = Some(Cursor::new(filter.order(), place, &*key));
            if fits && to_skip > 0 {
                to_skip -= 1;
            } else if fits {
                keys.push(key);
            }
        }
        if ended {
            return Ok((keys, None));
        }
        step = LARGEST_BATCH;
    }
}

/// Counts up to `at_most` people on a list.
fn count(
    sql: &Sql<'_>,
    filter: &PeopleFilter,
    at_most: i64,
    max_scanned: usize,
    selective: bool,
) -> Result<PeopleCount> {
    let max_scanned = i64::try_from(max_scanned).unwrap_or(i64::MAX);
    // Where each entry is a person, no more are needed.
    let entries = if filter.skips_entries() { max_scanned } else { max_scanned.min(at_most) };
    let query = PeopleSql::count(filter, entries.saturating_add(1), selective)?;
    let counted = sql.first(&query.text, &query.values, |row| Ok((row.int(0)?, row.int(1)?)))?;
    let (scanned, people) = counted.unwrap_or_default();
    Ok(PeopleCount { count: people.min(at_most).min(entries), exact: scanned <= entries && people <= at_most })
}

/// The people with these keys, by key.
fn read(sql: &Sql<'_>, corp: &str, keys: &[String]) -> Result<HashMap<String, ListedPerson>> {
    let mut people: HashMap<String, ListedPerson> = HashMap::with_capacity(keys.len());
    if keys.is_empty() {
        return Ok(people);
    }
    let query = PeopleSql::people(corp, keys);
    for listed in sql.rows(&query.text, &query.values, listed)? {
        people.insert(listed.person.key.id().to_owned(), listed);
    }
    let query = PeopleSql::roles(corp, keys);
    for (key, role) in sql.rows(&query.text, &query.values, |row| Ok((row.text(0)?, row.role(1)?)))? {
        if let Some(listed) = people.get_mut(&key) {
            listed.person.roles = listed.person.roles.with(role);
        }
    }
    Ok(people)
}

/// Whether the role or department of a search has so few people that checking each is cheaper than walking all matches.
pub(crate) fn is_selective(sql: &Sql<'_>, filter: &PeopleFilter, max_scanned: usize) -> Result<bool> {
    let role = match filter.selection {
        PeopleSelection::Term { role, .. } if role.is_some() || filter.department.is_some() => role,
        _ => return Ok(false),
    };
    let selection = role.map_or(PeopleSelection::Everyone(PeopleOrder::Id), PeopleSelection::Role);
    let unsearched = PeopleFilter { selection, ..filter.clone() };
    Ok(count(sql, &unsearched, SELECTIVE_LIMIT, max_scanned, false)?.exact)
}
