//! The statements behind lists of people. Each reads the next entries of one index, from a cursor on, and says of each entry
//! whether the person is on the list: as a column and not as a condition, so that a statement reads as many entries as its limit says,
//! however few people are on the list. Conditions are subqueries, for which a database looks up one row per entry: otherwise it may
//! turn them into a join of whole tables, or sort everything instead of walking the index.

use std::borrow::Cow;

use deskpass_core::{Role, search_range};

use super::filter::{DepartmentFilter, PeopleFilter, PeopleSelection};
use super::person::PEOPLE;
use crate::cursor::CursorOrder;
use crate::database::SqlValue;
use crate::{Cursor, InvalidCursor};

/// Numbers of entries or people read at once; the smallest that suffices is used. It is a literal in the statement, since a
/// database that plans for an unknown number would sort everything.
const BATCH_SIZES: [usize; 3] = [64, 256, LARGEST_BATCH];
pub(super) const LARGEST_BATCH: usize = 1_024;

/// A search within a role or department of at most this many people checks each of them; otherwise it walks all matches.
pub(super) const SELECTIVE_LIMIT: i64 = 2_000;

#[derive(Debug, Default)]
pub(crate) struct PeopleSql {
    pub(crate) text: String,
    pub(crate) values: Vec<SqlValue<'static>>,
}

impl PeopleSql {
    /// Selects the next `step` entries of a list: the key of each person, the entry's position, and whether the person is on the list.
    pub(crate) fn batch(
        filter: &PeopleFilter,
        from: Option<&Cursor>,
        step: usize,
        selective: bool,
    ) -> Result<Self, InvalidCursor> {
        let mut query = Self::default();
        query.text = match from {
            Some(cursor) if filter.order() == CursorOrder::Login => query.earlier_logins(filter, cursor, step)?,
            _ => {
                let (entries, order) = query.entries(filter, from, selective)?;
                format!("{entries} ORDER BY {order} LIMIT {step}")
            }
        };
        Ok(query)
    }

    /// Counts the first `at_most` entries of a list, and the people on the list among them.
    pub(crate) fn count(filter: &PeopleFilter, at_most: i64, selective: bool) -> Result<Self, InvalidCursor> {
        let mut query = Self::default();
        let (entries, order) = query.entries(filter, None, selective)?;
        // Few people are all checked, in whatever order.
        let order = if selective { String::new() } else { format!("ORDER BY {order}") };
        query.text = format!(
            "SELECT COUNT(*), COALESCE(SUM(fits), 0) FROM ({entries} {order} LIMIT {}) AS counted",
            at_most.max(0)
        );
        Ok(query)
    }

    /// Selects the people with these keys, unordered, without their roles.
    pub(crate) fn people(corp: &str, keys: &[String]) -> Self {
        Self::of(corp, keys, PEOPLE)
    }

    pub(crate) fn roles(corp: &str, keys: &[String]) -> Self {
        Self::of(corp, keys, "SELECT e.employee_key, e.role_id FROM user_role e")
    }

    fn of(corp: &str, keys: &[String], what: &str) -> Self {
        let mut query = Self::default();
        let corp = query.text(corp);
        // The last key is repeated up to a batch size, so that there are few different statements to plan.
        let all = keys.iter().chain(keys.last().into_iter().cycle()).take(batch_size(keys.len()));
        let all: Vec<_> = all.map(|key| query.text(key)).collect();
        query.text = format!("{what} WHERE e.corp_id = {corp} AND e.employee_key IN ({})", all.join(", "));
        query
    }

    /// Selects all entries of a list from a cursor on; returns the statement and the order of the entries.
    fn entries(
        &mut self,
        filter: &PeopleFilter,
        from: Option<&Cursor>,
        selective: bool,
    ) -> Result<(String, &'static str), InvalidCursor> {
        let corp = self.text(&filter.corp);
        let walk = match (&filter.selection, &filter.department, filter.order()) {
            (PeopleSelection::Term { q, role }, department, _) if selective => {
                let few = self.by_id(&corp, *role, department.as_ref(), "");
                return Ok((self.found_among(&few, &corp, q, from)?, "place, employee_key"));
            }
            (PeopleSelection::Term { q, role }, department, _) => {
                self.found(&corp, q, *role, department.as_ref(), from)?
            }
            (_, None, CursorOrder::Name) => {
                let (name, key) = from.map_or(Ok(("", "")), |cursor| cursor.texts(CursorOrder::Name))?;
                let place = format!("({}, {})", self.text(name), self.text(key));
                IndexWalk {
                    columns: "e.employee_key, e.name AS place",
                    range: format!("FROM employee e WHERE e.corp_id = {corp} AND (e.name, e.employee_key) > {place}"),
                    misses: Vec::new(),
                    order: "e.name, e.employee_key",
                }
            }
            (_, None, CursorOrder::Login) => IndexWalk {
                columns: BY_LOGIN,
                range: format!("FROM employee e WHERE e.corp_id = {corp}"),
                misses: Vec::new(),
                order: "COALESCE(e.last_login_at, 0) DESC, e.employee_key DESC",
            },
            (selection, department, _) => {
                let (_, key) = from.map_or(Ok(("", "")), |cursor| cursor.texts(CursorOrder::Id))?;
                let role = if let PeopleSelection::Role(role) = selection { Some(*role) } else { None };
                self.by_id(&corp, role, department.as_ref(), key)
            }
        };
        Ok((walk.entries(), walk.order))
    }

    /// Walks people in the order of their keys, after `key`.
    fn by_id(&mut self, corp: &str, role: Option<Role>, department: Option<&DepartmentFilter>, key: &str) -> IndexWalk {
        let after = self.text(key);
        if let (Some(role), None) = (role, department) {
            let role = self.value(role.id());
            // Ordering by the role, too, forces the use of the index, however many people have the role. Its upper bound stands alone,
            // since PostgreSQL ends a search only by the first column of a comparison.
            let range = format!(
                "FROM user_role e WHERE e.corp_id = {corp} AND (e.role_id, e.employee_key) > ({role}, {after})
                 AND e.role_id <= {role}"
            );
            return IndexWalk { columns: BY_ID, range, misses: Vec::new(), order: "e.role_id, e.employee_key" };
        }
        let department = department.map(|department| {
            let (column, value) = department.column();
            format!("AND e.{column} = {}", self.text(value))
        });
        let misses = self.lacks(role, "e").into_iter().collect();
        let department = department.unwrap_or_default();
        let range = format!("FROM employee e WHERE e.corp_id = {corp} {department} AND e.employee_key > {after}");
        IndexWalk { columns: BY_ID, range, misses, order: "e.employee_key" }
    }

    /// Walks the matching terms in their order; a person is found by their first matching term.
    fn found(
        &mut self,
        corp: &str,
        q: &str,
        role: Option<Role>,
        department: Option<&DepartmentFilter>,
        from: Option<&Cursor>,
    ) -> Result<IndexWalk, InvalidCursor> {
        let TermRange { first, end, place } = self.terms(q, from)?;
        let mut misses: Vec<_> = self.lacks(role, "t").into_iter().collect();
        misses.extend(department.map(|department| {
            let (column, value) = department.column();
            format!(
                "(SELECT 1 FROM employee d WHERE d.corp_id = t.corp_id AND d.employee_key = t.employee_key
                 AND d.{column} = {}) IS NULL",
                self.text(value)
            )
        }));
        misses.push(format!(
            "EXISTS (SELECT 1 FROM employee_term s WHERE s.corp_id = t.corp_id AND s.employee_key = t.employee_key
             AND s.term >= {first} AND s.term < t.term)"
        ));
        let range = format!(
            "FROM employee_term t WHERE t.corp_id = {corp} AND (t.term, t.employee_key) > {place} AND t.term < {end}"
        );
        Ok(IndexWalk { columns: "t.employee_key, t.term AS place", range, misses, order: "t.term, t.employee_key" })
    }

    /// Does the same within a role or department of few people: checks each of them, and sorts the matches.
    fn found_among(
        &mut self,
        few: &IndexWalk,
        corp: &str,
        q: &str,
        from: Option<&Cursor>,
    ) -> Result<String, InvalidCursor> {
        let TermRange { first, end, place } = self.terms(q, from)?;
        let few = few.keys(2 * SELECTIVE_LIMIT);
        Ok(format!(
            "SELECT employee_key, place, 1 AS fits FROM (SELECT few.employee_key, (SELECT MIN(s.term) FROM employee_term s
             WHERE s.corp_id = {corp} AND s.employee_key = few.employee_key AND s.term >= {first} AND s.term < {end})
             AS place FROM ({few}) AS few) AS found WHERE (place, employee_key) > {place}"
        ))
    }

    fn terms(&mut self, q: &str, from: Option<&Cursor>) -> Result<TermRange, InvalidCursor> {
        let (first, end) = search_range(q);
        let (term, key) = from.map_or(Ok(("", "")), |cursor| cursor.texts(CursorOrder::Term))?;
        let (term, key) = if term < &*first { (&*first, "") } else { (term, key) };
        let place = format!("({}, {})", self.text(term), self.text(key));
        Ok(TermRange { first: self.text(&first), end: self.text(&end), place })
    }

    /// Selects people who signed in earlier than the cursor. People with the same time are a separate query: SQLite would
    /// scan all of them for each page, and most people of a corporation may never have signed in.
    fn earlier_logins(&mut self, filter: &PeopleFilter, from: &Cursor, step: usize) -> Result<String, InvalidCursor> {
        let (at, key) = from.number(CursorOrder::Login)?;
        let (corp, at, key) = (self.text(&filter.corp), self.value(at), self.text(key));
        Ok(format!(
            "SELECT employee_key, place, 1 AS fits FROM (SELECT {BY_LOGIN} FROM employee e WHERE e.corp_id = {corp}
             AND COALESCE(e.last_login_at, 0) = {at} AND e.employee_key < {key}
             ORDER BY e.employee_key DESC LIMIT {step}) AS same
             UNION ALL SELECT employee_key, place, 1 FROM (SELECT {BY_LOGIN} FROM employee e WHERE e.corp_id = {corp}
             AND COALESCE(e.last_login_at, 0) < {at}
             ORDER BY COALESCE(e.last_login_at, 0) DESC, e.employee_key DESC LIMIT {step}) AS earlier LIMIT {step}"
        ))
    }

    /// The condition that a person does not have the role.
    fn lacks(&mut self, role: Option<Role>, person: &str) -> Option<String> {
        let role = self.value(role?.id());
        Some(format!(
            "(SELECT h.role_id FROM user_role h WHERE h.corp_id = {person}.corp_id
             AND h.employee_key = {person}.employee_key AND h.role_id = {role}) IS NULL"
        ))
    }

    fn text(&mut self, text: &str) -> String {
        self.value(SqlValue::Text(Cow::Owned(text.to_owned())))
    }

    /// Adds a value; returns its placeholder.
    fn value(&mut self, value: impl Into<SqlValue<'static>>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }
}

/// A range of an index with the people of a list, and perhaps others.
struct IndexWalk {
    /// The columns of an entry: the person's key, and the first part of the entry's position.
    columns: &'static str,
    /// The tables and the range, from the cursor on.
    range: String,
    /// Conditions of entries that do not count: the person is not on the list, or has an earlier entry.
    misses: Vec<String>,
    /// The order of the index.
    order: &'static str,
}

impl IndexWalk {
    /// Selects all entries.
    fn entries(&self) -> String {
        format!("SELECT {}, {} AS fits {}", self.columns, self.fits(), self.range)
    }

    /// Selects the keys of at most so many people on the list.
    fn keys(&self, at_most: i64) -> String {
        let (range, fits, order) = (&self.range, self.fits(), self.order);
        format!("SELECT e.employee_key {range} AND {fits} = 1 ORDER BY {order} LIMIT {at_most}")
    }

    /// 1 for an entry that counts, otherwise 0.
    fn fits(&self) -> String {
        if self.misses.is_empty() {
            return "1".to_owned();
        }
        format!("CASE WHEN {} THEN 0 ELSE 1 END", self.misses.join(" THEN 0 WHEN "))
    }
}

/// Placeholders of the range of matching terms, and of the position to continue after.
struct TermRange {
    first: String,
    end: String,
    place: String,
}

pub(super) fn batch_size(least: usize) -> usize {
    BATCH_SIZES.into_iter().find(|step| *step >= least).unwrap_or(least)
}

const BY_ID: &str = "e.employee_key, '' AS place";
const BY_LOGIN: &str = "e.employee_key, CAST(COALESCE(e.last_login_at, 0) AS TEXT) AS place";
