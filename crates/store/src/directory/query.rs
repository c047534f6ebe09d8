//! The statements behind lists of people. Each walks one index in its order, from a place on.

use std::borrow::Cow;

use deskpass_core::{Role, beginning_with};

use super::people::{At, PeopleFilter, Sought};
use crate::cursor::Sorted;
use crate::database::Value;
use crate::{BadCursor, Cursor};

/// How many people are read at once, the least that is more than a page. Written into the statement, since a database that
/// plans for any number would rather sort everything.
const STEPS: [i64; 3] = [64, 256, 1_024];

/// A statement with its values.
#[derive(Debug, Default)]
pub(super) struct Query {
    pub(super) text: String,
    pub(super) values: Vec<Value<'static>>,
}

impl Query {
    /// Somewhat more than `limit` people of a list, one row for each of their roles, each with its place among terms.
    pub(super) fn page(filter: &PeopleFilter, at: &At, limit: i64) -> Result<Self, BadCursor> {
        let step = STEPS.into_iter().find(|step| *step > limit).unwrap_or(limit.saturating_add(1));
        let (from, offset) = match at {
            At::Page(offset) => (None, (*offset).max(0)),
            At::After(cursor) => (Some(cursor), 0),
        };
        let mut query = Self::default();
        let keys = match from {
            Some(cursor) if filter.order() == Sorted::Login => query.earlier_logins(filter, cursor, step)?,
            _ => {
                let (keys, order) = query.walk(filter, from)?;
                format!("{keys} ORDER BY {order} LIMIT {step} OFFSET {}", query.value(offset))
            }
        };
        let corp = query.text(&filter.corp);
        let order = match filter.order() {
            Sorted::Name => "e.name, e.employee_key",
            Sorted::Login => "COALESCE(e.last_login_at, 0) DESC, e.employee_key DESC",
            Sorted::Term => "p.place, p.employee_key",
            Sorted::Id | Sorted::Birth => "e.employee_key",
        };
        query.text = format!(
            "SELECT e.corp_id, e.employee_key, e.employee_id, e.name, e.department, e.avatar, e.disabled_at, r.role_id,
             e.last_login_at, e.last_login_ip, p.place FROM ({keys}) AS p
             JOIN employee e ON e.corp_id = {corp} AND e.employee_key = p.employee_key
             LEFT JOIN user_role r ON r.corp_id = e.corp_id AND r.employee_key = e.employee_key
             ORDER BY {order}, r.role_id"
        );
        Ok(query)
    }

    /// How many people a list has, up to `at_most`.
    pub(super) fn count(filter: &PeopleFilter, at_most: i64) -> Result<Self, BadCursor> {
        let mut query = Self::default();
        let (keys, _) = query.walk(filter, None)?;
        query.text = format!("SELECT COUNT(*) FROM ({keys} LIMIT {}) AS counted", at_most.max(0));
        Ok(query)
    }

    /// Everybody who is on a list from a place on, and the order of the index they are found by.
    fn walk(&mut self, filter: &PeopleFilter, from: Option<&Cursor>) -> Result<(String, &'static str), BadCursor> {
        let corp = self.text(&filter.corp);
        Ok(match (&filter.sought, &filter.department, filter.order()) {
            (Sought::Term { q, role }, department, _) => {
                (self.found(&corp, q, *role, department.as_deref(), from)?, "t.term, t.employee_key")
            }
            (_, None, Sorted::Name) => {
                let (name, key) = from.map_or(Ok(("", "")), |cursor| cursor.texts(Sorted::Name))?;
                let place = format!("({}, {})", self.text(name), self.text(key));
                let keys = format!("{EVERYONE} WHERE e.corp_id = {corp} AND (e.name, e.employee_key) > {place}");
                (keys, "e.name, e.employee_key")
            }
            (_, None, Sorted::Login) => (
                format!("{EVERYONE} WHERE e.corp_id = {corp}"),
                "COALESCE(e.last_login_at, 0) DESC, e.employee_key DESC",
            ),
            (sought, department, _) => {
                let (_, key) = from.map_or(Ok(("", "")), |cursor| cursor.texts(Sorted::Id))?;
                (self.by_id(&corp, sought, department.as_deref(), key), "e.employee_key")
            }
        })
    }

    /// People in the order of their keys, after one.
    fn by_id(&mut self, corp: &str, sought: &Sought, department: Option<&str>, key: &str) -> String {
        let role = if let Sought::Role(role) = sought { Some(*role) } else { None };
        let after = self.text(key);
        match (role, department) {
            (Some(role), None) => {
                let role = self.value(role.id());
                format!(
                    "SELECT e.employee_key, '' AS place FROM user_role e
                     WHERE e.corp_id = {corp} AND e.role_id = {role} AND e.employee_key > {after}"
                )
            }
            (role, department) => {
                let department = department.map(|department| format!("AND e.department = {}", self.text(department)));
                let (department, role) = (department.unwrap_or_default(), self.holds(role, "e"));
                format!("{EVERYONE} WHERE e.corp_id = {corp} {department} AND e.employee_key > {after} {role}")
            }
        }
    }

    /// People in the order of the terms they are found by, each by the first of theirs.
    fn found(
        &mut self,
        corp: &str,
        q: &str,
        role: Option<Role>,
        department: Option<&str>,
        from: Option<&Cursor>,
    ) -> Result<String, BadCursor> {
        let (first, end) = beginning_with(q);
        let (term, key) = from.map_or(Ok(("", "")), |cursor| cursor.texts(Sorted::Term))?;
        let (term, key) = if term < &*first { (&*first, "") } else { (term, key) };
        let (term, key) = (self.text(term), self.text(key));
        let (first, end) = (self.text(&first), self.text(&end));
        let role = self.holds(role, "t");
        let department = department.map(|department| {
            format!(
                "AND EXISTS (SELECT 1 FROM employee d WHERE d.corp_id = t.corp_id AND d.employee_key = t.employee_key
                 AND d.department = {})",
                self.text(department)
            )
        });
        Ok(format!(
            "SELECT t.employee_key, t.term AS place FROM employee_term t
             WHERE t.corp_id = {corp} AND (t.term, t.employee_key) > ({term}, {key}) AND t.term < {end}
             AND NOT EXISTS (SELECT 1 FROM employee_term s WHERE s.corp_id = t.corp_id
             AND s.employee_key = t.employee_key AND s.term >= {first} AND s.term < t.term) {role} {}",
            department.unwrap_or_default()
        ))
    }

    /// People who signed in earlier than somebody. Those of the same moment apart: the embedded database would go through all
    /// of them on each page, and most of a corporation may never have signed in.
    fn earlier_logins(&mut self, filter: &PeopleFilter, from: &Cursor, step: i64) -> Result<String, BadCursor> {
        let (at, key) = from.number(Sorted::Login)?;
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
                "AND EXISTS (SELECT 1 FROM user_role h WHERE h.corp_id = {person}.corp_id
                 AND h.employee_key = {person}.employee_key AND h.role_id = {})",
                self.value(role.id())
            )
        };
        role.map(condition).unwrap_or_default()
    }

    fn text(&mut self, text: &str) -> String {
        self.value(Value::Text(Cow::Owned(text.to_owned())))
    }

    /// Takes a value; returns what stands for it.
    fn value(&mut self, value: impl Into<Value<'static>>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }
}

const EVERYONE: &str = "SELECT e.employee_key, '' AS place FROM employee e";
