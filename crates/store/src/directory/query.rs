//! The statements behind lists of people. Each walks one index in order from a cursor and checks every person separately:
//! conditions are written as subqueries that are NULL or not, which a database assumes to be mostly true. Otherwise it
//! may turn them into a join of whole tables, or sort everything instead of walking the index.

use std::borrow::Cow;

use deskpass_core::{Role, search_range};

use super::filter::{DepartmentFilter, PageStart, PeopleFilter, PeopleSelection};
use super::person::PEOPLE;
use crate::cursor::CursorOrder;
use crate::database::SqlValue;
use crate::{Cursor, InvalidCursor};

/// Numbers of people read at once; the smallest that suffices is used. It is a literal in the statement, since a database
/// that plans for an unknown number would sort everything.
const BATCH_SIZES: [usize; 3] = [64, 256, 1_024];

/// A search within a role or department of at most this many people checks each of them; otherwise it walks all matches.
pub(super) const SELECTIVE_LIMIT: i64 = 2_000;

#[derive(Debug, Default)]
pub(crate) struct PeopleSql {
    pub(crate) text: String,
    pub(crate) values: Vec<SqlValue<'static>>,
}

impl PeopleSql {
    /// Selects the people of a page and some beyond: their keys, each with its position among the terms.
    pub(crate) fn page(
        filter: &PeopleFilter,
        at: &PageStart,
        limit: usize,
        selective: bool,
    ) -> Result<Self, InvalidCursor> {
        let step = batch_size(limit.saturating_add(1));
        let (from, offset) = match at {
            PageStart::Offset(offset) => (None, (*offset).max(0)),
            PageStart::After(cursor) => (Some(cursor), 0),
        };
        let mut query = Self::default();
        query.text = match from {
            Some(cursor) if filter.order() == CursorOrder::Login => query.earlier_logins(filter, cursor, step)?,
            _ => {
                let (keys, order) = query.walk(filter, from, selective)?;
                format!("{keys} ORDER BY {order} LIMIT {step} OFFSET {}", query.value(offset))
            }
        };
        Ok(query)
    }

    /// Counts the people in a list, up to `at_most`.
    pub(crate) fn count(filter: &PeopleFilter, at_most: i64, selective: bool) -> Result<Self, InvalidCursor> {
        let mut query = Self::default();
        let (keys, _) = query.walk(filter, None, selective)?;
        query.text = format!("SELECT COUNT(*) FROM ({keys} LIMIT {}) AS counted", at_most.max(0));
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

    /// Selects all people in a list from a cursor on; returns the statement and the order of the index it uses.
    fn walk(
        &mut self,
        filter: &PeopleFilter,
        from: Option<&Cursor>,
        selective: bool,
    ) -> Result<(String, &'static str), InvalidCursor> {
        let corp = self.text(&filter.corp);
        Ok(match (&filter.selection, &filter.department, filter.order()) {
            (PeopleSelection::Term { q, .. }, ..) if selective => {
                (self.found_selective(&corp, filter, q, from)?, "place, employee_key")
            }
            (PeopleSelection::Term { q, role }, department, _) => {
                (self.found(&corp, q, *role, department.as_ref(), from)?, "t.term, t.employee_key")
            }
            (_, None, CursorOrder::Name) => {
                let (name, key) = from.map_or(Ok(("", "")), |cursor| cursor.texts(CursorOrder::Name))?;
                let place = format!("({}, {})", self.text(name), self.text(key));
                let keys = format!("{EVERYONE} WHERE e.corp_id = {corp} AND (e.name, e.employee_key) > {place}");
                (keys, "e.name, e.employee_key")
            }
            (_, None, CursorOrder::Login) => (
                format!("{EVERYONE} WHERE e.corp_id = {corp}"),
                "COALESCE(e.last_login_at, 0) DESC, e.employee_key DESC",
            ),
            (selection, department, _) => {
                let (_, key) = from.map_or(Ok(("", "")), |cursor| cursor.texts(CursorOrder::Id))?;
                let role = if let PeopleSelection::Role(role) = selection { Some(*role) } else { None };
                self.by_id(&corp, role, department.as_ref(), key)
            }
        })
    }

    /// Selects people in the order of their keys, after `key`.
    fn by_id(
        &mut self,
        corp: &str,
        role: Option<Role>,
        department: Option<&DepartmentFilter>,
        key: &str,
    ) -> (String, &'static str) {
        let after = self.text(key);
        if let (Some(role), None) = (role, department) {
            let role = self.value(role.id());
            // Comparing and ordering by all columns of the index forces its use, however many people have the role.
            let keys = format!(
                "SELECT e.employee_key, '' AS place FROM user_role e
                 WHERE (e.corp_id, e.role_id, e.employee_key) > ({corp}, {role}, {after})
                 AND (e.corp_id, e.role_id) <= ({corp}, {role})"
            );
            return (keys, "e.corp_id, e.role_id, e.employee_key");
        }
        let department = department.map(|department| {
            let (column, value) = department.column();
            format!("AND e.{column} = {}", self.text(value))
        });
        let (department, role) = (department.unwrap_or_default(), self.holds(role, "e"));
        let keys = format!("{EVERYONE} WHERE e.corp_id = {corp} {department} AND e.employee_key > {after} {role}");
        (keys, "e.employee_key")
    }

    /// Selects people in the order of the matching terms, each person by their first matching term.
    fn found(
        &mut self,
        corp: &str,
        q: &str,
        role: Option<Role>,
        department: Option<&DepartmentFilter>,
        from: Option<&Cursor>,
    ) -> Result<String, InvalidCursor> {
        let TermRange { first, end, place } = self.terms(q, from)?;
        let role = self.holds(role, "t");
        let department = department.map(|department| {
            let (column, value) = department.column();
            format!(
                "AND (SELECT 1 FROM employee d WHERE d.corp_id = t.corp_id AND d.employee_key = t.employee_key
                 AND d.{column} = {}) IS NOT NULL",
                self.text(value)
            )
        });
        Ok(format!(
            "SELECT t.employee_key, t.term AS place FROM employee_term t
             WHERE t.corp_id = {corp} AND (t.term, t.employee_key) > {place} AND t.term < {end}
             AND CASE WHEN EXISTS (SELECT 1 FROM employee_term s WHERE s.corp_id = t.corp_id
             AND s.employee_key = t.employee_key AND s.term >= {first} AND s.term < t.term) THEN NULL ELSE 1 END IS NOT NULL
             {role} {}",
            department.unwrap_or_default()
        ))
    }

    /// Does the same within a role or department of few people: checks each of them, and sorts the matches.
    fn found_selective(
        &mut self,
        corp: &str,
        filter: &PeopleFilter,
        q: &str,
        from: Option<&Cursor>,
    ) -> Result<String, InvalidCursor> {
        let TermRange { first, end, place } = self.terms(q, from)?;
        let role = if let PeopleSelection::Term { role, .. } = filter.selection { role } else { None };
        let (few, _) = self.by_id(corp, role, filter.department.as_ref(), "");
        Ok(format!(
            "SELECT employee_key, place FROM (SELECT few.employee_key, (SELECT MIN(s.term) FROM employee_term s
             WHERE s.corp_id = {corp} AND s.employee_key = few.employee_key AND s.term >= {first} AND s.term < {end})
             AS place FROM ({few} LIMIT {}) AS few) AS found WHERE (place, employee_key) > {place}",
            2 * SELECTIVE_LIMIT
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
            "SELECT employee_key, place FROM ({EVERYONE} WHERE e.corp_id = {corp} AND COALESCE(e.last_login_at, 0) = {at}
             AND e.employee_key < {key} ORDER BY e.employee_key DESC LIMIT {step}) AS same
             UNION ALL SELECT employee_key, place FROM ({EVERYONE} WHERE e.corp_id = {corp}
             AND COALESCE(e.last_login_at, 0) < {at}
             ORDER BY COALESCE(e.last_login_at, 0) DESC, e.employee_key DESC LIMIT {step}) AS earlier"
        ))
    }

    fn holds(&mut self, role: Option<Role>, person: &str) -> String {
        let condition = |role: Role| {
            format!(
                "AND (SELECT h.role_id FROM user_role h WHERE h.corp_id = {person}.corp_id
                 AND h.employee_key = {person}.employee_key AND h.role_id = {}) IS NOT NULL",
                self.value(role.id())
            )
        };
        role.map(condition).unwrap_or_default()
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

/// Placeholders of the range of matching terms, and of the position to continue after.
struct TermRange {
    first: String,
    end: String,
    place: String,
}

fn batch_size(least: usize) -> usize {
    BATCH_SIZES.into_iter().find(|step| *step >= least).unwrap_or(least)
}

const EVERYONE: &str = "SELECT e.employee_key, '' AS place FROM employee e";
