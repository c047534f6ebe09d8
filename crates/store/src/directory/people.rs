//! People as lists show them: some of a corporation, in an order, a page at a time.

use deskpass_core::{EmployeeKey, Role, Timestamp};

use super::query::Query;
use super::{Listed, gather, listed};
use crate::cursor::Sorted;
use crate::database::Row;
use crate::{BadCursor, Cursor, Store, StoreError};

/// What a list of everybody is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By identifier.
    Id,
    /// By name.
    Name,
    /// By when they last signed in, the latest first.
    LastLogin,
}

/// Which people a list is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeopleFilter {
    /// Of this corporation.
    pub corp: String,
    /// Of this department. It is listed by identifier, or as what is sought is found.
    pub department: Option<String>,
    /// Who of them.
    pub sought: Sought,
}

/// Who is sought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sought {
    /// Everyone, in this order.
    Everyone(Order),
    /// Those with this role, by identifier.
    Role(Role),
    /// Those in whose identifier or name a word begins like this, in the order of those words.
    Term {
        /// How it begins, as somebody typed it.
        q: String,
        /// Those with this role.
        role: Option<Role>,
    },
}

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// After so many people.
    Page(i64),
    /// After a place that another page named.
    After(Cursor),
}

/// Some of a list of people.
#[derive(Clone, Debug)]
pub struct PeoplePage {
    /// The people.
    pub people: Vec<Listed>,
    /// Where to go on, when there are more.
    pub next: Option<String>,
}

/// The most people on a page.
const MOST: i64 = 1_000;

/// The most corporations that are told of.
const CORPORATIONS: usize = 1_000;

impl PeopleFilter {
    /// The place in this list that a page of it named.
    ///
    /// # Errors
    /// When no page of a list in this order did.
    pub fn cursor(&self, text: &str) -> Result<Cursor, BadCursor> {
        Cursor::parse(text, self.order())
    }

    pub(super) fn order(&self) -> Sorted {
        match (&self.sought, &self.department) {
            (Sought::Term { .. }, _) => Sorted::Term,
            (Sought::Everyone(Order::Name), None) => Sorted::Name,
            (Sought::Everyone(Order::LastLogin), None) => Sorted::Login,
            (Sought::Everyone(_) | Sought::Role(_), _) => Sorted::Id,
        }
    }
}

impl Store {
    /// A page of a list of people; of no more than a thousand.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn people(&self, filter: PeopleFilter, at: At, limit: i64) -> Result<PeoplePage, StoreError> {
        let limit = limit.clamp(0, MOST);
        let query = Query::page(&filter, &at, limit)?;
        let read = |row: &Row<'_>| {
            let listed = listed(row)?;
            Ok(((listed.person.key.clone(), row.text(10)?), listed))
        };
        let rows = self.database.read(move |sql| sql.rows(&query.text, &query.values, read)).await?;
        let (places, rows): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let mut people = gather(rows);
        let limit = usize::try_from(limit).unwrap_or(0);
        let more = people.len() > limit;
        people.truncate(limit);
        let last = people.last().filter(|_| more);
        let next = last.map(|last| place_of(last, filter.order(), &places).to_text());
        Ok(PeoplePage { people, next })
    }

    /// How many people a list has; of more than `at_most`, one more than that.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn count_people(&self, filter: PeopleFilter, at_most: i64) -> Result<i64, StoreError> {
        let query = Query::count(&filter, at_most.saturating_add(1))?;
        let count = self.database.read(move |sql| sql.first(&query.text, &query.values, |row| row.int(0))).await?;
        Ok(count.unwrap_or(0))
    }

    /// Every corporation that somebody is of; at most a thousand.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn corporations(&self) -> Result<Vec<String>, StoreError> {
        // One look for each, whoever many people they have.
        let text = "SELECT corp_id FROM employee WHERE corp_id > $1 ORDER BY corp_id LIMIT 1";
        self.database
            .read(move |sql| {
                let mut corporations: Vec<String> = Vec::new();
                while corporations.len() < CORPORATIONS {
                    let last = corporations.last().map_or("", String::as_str);
                    let Some(next) = sql.first(text, &args![last], |row| row.text(0))? else { break };
                    corporations.push(next);
                }
                Ok(corporations)
            })
            .await
    }
}

/// The place right after somebody.
fn place_of(last: &Listed, order: Sorted, places: &[(EmployeeKey, String)]) -> Cursor {
    let key = &last.person.key;
    let first = match order {
        Sorted::Name => last.person.name.clone(),
        Sorted::Login => last.last_login_at.map_or(0, Timestamp::millis).to_string(),
        Sorted::Term => places.iter().find(|(of, _)| of == key).map_or_else(String::new, |(_, place)| place.clone()),
        Sorted::Id | Sorted::Birth => String::new(),
    };
    Cursor::new(order, first, key.id())
}
