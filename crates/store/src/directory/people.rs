//! Lists of people of a corporation: filtered, ordered, a page at a time.

use std::collections::HashMap;

use deskpass_core::Timestamp;

use super::filter::{PageStart, PeopleFilter, PeopleOrder, PeopleSelection};
use super::person::{ListedPerson, listed};
use super::query::{PeopleSql, SELECTIVE_LIMIT};
use crate::cursor::CursorOrder;
use crate::database::Sql;
use crate::{Cursor, Result, Store};

/// A page of a list of people.
#[derive(Clone, Debug)]
pub struct PeoplePage {
    /// The people.
    pub people: Vec<ListedPerson>,
    /// Cursor of the next page, if there are more people.
    pub next: Option<String>,
}

const MAX_PAGE_SIZE: usize = 1_000;

const MAX_CORPORATIONS: usize = 1_000;

impl Store {
    /// A page of a list of people; at most a thousand.
    pub async fn people(&self, filter: PeopleFilter, at: PageStart, limit: i64) -> Result<PeoplePage> {
        let limit = usize::try_from(limit).unwrap_or(0).min(MAX_PAGE_SIZE);
        self.database.read(move |sql| page(sql, &filter, &at, limit)).await
    }

    /// The number of people in a list; `at_most + 1` if there are more than `at_most`.
    pub async fn count_people(&self, filter: PeopleFilter, at_most: i64) -> Result<i64> {
        let at_most = at_most.saturating_add(1);
        self.database
            .read(move |sql| {
                let query = PeopleSql::count(&filter, at_most, is_selective(sql, &filter)?)?;
                Ok(sql.first(&query.text, &query.values, |row| row.int(0))?.unwrap_or(0))
            })
            .await
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

fn page(sql: &Sql<'_>, filter: &PeopleFilter, at: &PageStart, limit: usize) -> Result<PeoplePage> {
    let query = PeopleSql::page(filter, at, limit, is_selective(sql, filter)?)?;
    let found = sql.rows(&query.text, &query.values, |row| Ok((row.text(0)?, row.text(1)?)))?;
    let more = found.len() > limit;
    let (keys, places): (Vec<_>, Vec<_>) = found.into_iter().take(limit).unzip();
    let mut people = read(sql, &filter.corp, &keys)?;
    // Employees are never removed, but a list must not fail if one is.
    let people: Vec<_> = keys.iter().filter_map(|key| people.remove(key)).collect();
    let last = people.last().zip(places.last()).filter(|_| more);
    let next = last.map(|(last, place)| place_after(last, filter.order(), place).to_text());
    Ok(PeoplePage { people, next })
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
pub(crate) fn is_selective(sql: &Sql<'_>, filter: &PeopleFilter) -> Result<bool> {
    let role = match filter.selection {
        PeopleSelection::Term { role, .. } if role.is_some() || filter.department.is_some() => role,
        _ => return Ok(false),
    };
    let selection = role.map_or(PeopleSelection::Everyone(PeopleOrder::Id), PeopleSelection::Role);
    let unsearched = PeopleFilter { selection, ..filter.clone() };
    let query = PeopleSql::count(&unsearched, SELECTIVE_LIMIT + 1, false)?;
    let count = sql.first(&query.text, &query.values, |row| row.int(0))?;
    Ok(count.is_some_and(|count| count <= SELECTIVE_LIMIT))
}

fn place_after(last: &ListedPerson, order: CursorOrder, place: &str) -> Cursor {
    let first = match order {
        CursorOrder::Name => last.person.name.clone(),
        CursorOrder::Login => last.last_login_at.map_or(0, Timestamp::millis).to_string(),
        CursorOrder::Term => place.to_owned(),
        CursorOrder::Id | CursorOrder::CreatedAt => String::new(),
    };
    Cursor::new(order, first, last.person.key.id())
}
