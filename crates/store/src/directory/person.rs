//! A person as stored in the tables, and administrators.

use deskpass_core::{Email, EmailSource, EmployeeKey, IdentifiedPerson, LeftReason, Person, Role, Timestamp};

use super::holder::text_of;
use crate::database::{Row, Sql, Tx};
use crate::{LogEntry, Result};

/// A person in a list.
#[derive(Clone, Debug)]
pub struct ListedPerson {
    /// The person.
    pub person: Person,
    /// When the person last signed in.
    pub last_login_at: Option<Timestamp>,
    /// The address of the last sign-in.
    pub last_login_ip: Option<String>,
}

/// The columns of `employee e` that [`listed`] reads, with `$role` as the column of the role, and `$until` as that of its end.
macro_rules! people_columns {
    ($role:literal, $until:literal) => {
        concat!(
            "e.corp_id, e.employee_key, e.employee_id, e.name, e.department, e.avatar, e.disabled_at, ",
            $role,
            ", e.last_login_at, e.last_login_ip, e.department_id, e.subject, e.email, e.email_source, e.left_at, e.left_why, ",
            $until,
            ", e.seen, e.unconfirmed_at"
        )
    };
}

/// The same with the role of `user_role r`. A role that is held for another reason as well has no end.
macro_rules! columns_with_role {
    () => {
        people_columns!("r.role_id", "CASE WHEN r.by_hand = 0 AND r.by_rule = 0 THEN r.until END")
    };
}

macro_rules! roles_of_person {
    () => {
        "LEFT JOIN user_role r ON r.corp_id = e.corp_id AND r.employee_key = e.employee_key"
    };
}

/// The columns of a person, for a statement that joins [`ROLES_OF_PERSON`]. It has one row for each role.
pub(crate) const PERSON_COLUMNS: &str = columns_with_role!();
/// The first column after those of [`PERSON_COLUMNS`].
pub(crate) const NEXT_COLUMN: usize = 19;
/// Joins the roles of `employee e`.
pub(crate) const ROLES_OF_PERSON: &str = roles_of_person!();

/// Selects people without their roles.
pub(super) const PEOPLE: &str =
    concat!("SELECT ", people_columns!("NULL AS role_id", "CAST(NULL AS BIGINT)"), " FROM employee e");

/// Selects people with their roles, one row for each role.
pub(super) const PEOPLE_WITH_ROLES: &str =
    concat!("SELECT ", columns_with_role!(), " FROM employee e ", roles_of_person!());

/// Values that the platform omits stay as they were; an empty text means that there is no value. The holder is learned only where none is
/// known: other changes are compared first. What the platform said about a former holder is not written.
const UPSERT_PERSON: &str = "INSERT INTO employee
    (corp_id, employee_key, employee_id, name, department, avatar, created_at, department_id, seen, holder)
    VALUES ($1, $2, $3, COALESCE($4, $3), COALESCE($5, ''), COALESCE($6, ''), $7, COALESCE($8, ''), $9, $10)
    ON CONFLICT (corp_id, employee_key) DO UPDATE SET name = COALESCE($4, employee.name),
    department = COALESCE($5, employee.department), avatar = COALESCE($6, employee.avatar),
    department_id = COALESCE($8, employee.department_id),
    seen = CASE WHEN excluded.seen = 1 THEN 1 ELSE employee.seen END,
    holder = COALESCE(employee.holder, excluded.holder)
    WHERE COALESCE(employee.holder_since_at, 0) <= $11";

/// Adds a person without roles, subject and address; `false`, with no change, when the person exists already.
pub(super) fn insert(tx: &Tx<'_>, person: &Person, at: Timestamp) -> Result<bool> {
    let text = "INSERT INTO employee
        (corp_id, employee_key, employee_id, name, department, avatar, created_at, department_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";
    let Person { key, employee_id, name, department, department_id, avatar, .. } = person;
    let (corp, id) = (key.corp(), key.id());
    let values = args![corp, id, &**employee_id, &**name, &**department, &**avatar, at, &**department_id];
    Ok(tx.execute(text, &values)? > 0)
}

/// Stores the platform's data about a person, and adds the person if they are new; `false` if it is about a former holder of the
/// identifier.
pub(super) fn upsert(tx: &Tx<'_>, who: &IdentifiedPerson, at: Timestamp) -> Result<bool> {
    let (corp, id) = (who.key.corp(), who.key.id());
    let (name, department) = (who.name.as_deref(), who.department.as_deref());
    let (department_id, avatar) = (who.department_id.as_deref(), who.avatar.as_deref());
    let (seen, holder) = (i64::from(who.seen), who.holder.as_ref().map(text_of));
    let (id_written, holder) = (&*who.employee_id, holder.as_deref());
    let said_at = who.identified_at.unwrap_or(Timestamp::from_millis(i64::MAX));
    let values = args![corp, id, id_written, name, department, avatar, at, department_id, seen, holder, said_at];
    Ok(tx.execute(UPSERT_PERSON, &values)? > 0)
}

/// Whether there is a record of an employee.
pub(super) fn exists(sql: &Sql<'_>, key: &EmployeeKey) -> Result<bool> {
    sql.exists("SELECT 1 FROM employee WHERE corp_id = $1 AND employee_key = $2", &args![key.corp(), key.id()])
}

/// Locks out a new employee of whom an event that is not handled yet says that they left: a sign-in may have begun before it. When
/// the event is handled, the platform is asked. Events by `asked_at` are older than what the platform said about the employee.
pub(crate) fn lock_out_leaver(tx: &Tx<'_>, key: &EmployeeKey, asked_at: Option<Timestamp>) -> Result<()> {
    let event = "FROM platform_event v WHERE v.corp_id = $1 AND v.employee_key = $2 AND v.due_at IS NOT NULL
        AND v.received_at > $4";
    let asked_at = asked_at.unwrap_or(Timestamp::from_millis(i64::MIN));
    let text = format!(
        "UPDATE employee SET left_at = (SELECT MAX(COALESCE(v.happened_at, v.received_at)) {event}), left_why = $3
         WHERE corp_id = $1 AND employee_key = $2 AND EXISTS (SELECT 1 {event})"
    );
    tx.execute(&text, &args![key.corp(), key.id(), LeftReason::Left.name(), asked_at]).map(drop)
}

/// Assigns a role by hand, permanently. It changes nothing if the role was assigned so before.
pub(super) const GRANT_ROLE: &str = "INSERT INTO user_role (corp_id, employee_key, role_id, by_hand)
    VALUES ($1, $2, $3, 1) ON CONFLICT (corp_id, employee_key, role_id)
    DO UPDATE SET by_hand = 1, until = NULL, reason = NULL, told_at = NULL WHERE user_role.by_hand = 0";

/// Takes a role away that no rule gives.
pub(super) const REVOKE_ROLE: &str =
    "DELETE FROM user_role WHERE corp_id = $1 AND employee_key = $2 AND role_id = $3 AND by_rule = 0";

/// Whether a person's corporation has no other administrator who may sign in. One whose role ends by itself does not count. The caller
/// holds the administration lock.
pub(super) fn is_last_admin(tx: &Tx<'_>, key: &EmployeeKey) -> Result<bool> {
    let text = "SELECT 1 FROM user_role r JOIN employee e ON e.corp_id = r.corp_id AND e.employee_key = r.employee_key
        WHERE r.corp_id = $1 AND r.role_id = $3 AND r.employee_key <> $2 AND r.until IS NULL
        AND e.disabled_at IS NULL AND e.left_at IS NULL AND e.unconfirmed_at IS NULL LIMIT 1";
    Ok(!tx.exists(text, &args![key.corp(), key.id(), Role::Admin])?)
}

/// The entry, which says so if the change removes the last administrator of a corporation.
pub(super) fn noting_last_admin(entry: &LogEntry, last: bool) -> LogEntry {
    let entry = entry.clone();
    if last { entry.with_detail("last administrator".to_owned()) } else { entry }
}

/// Administrators of a corporation who may sign in, except this one, at most `at_most`.
pub(crate) fn administrators(sql: &Sql<'_>, corp: &str, but: &EmployeeKey, at_most: usize) -> Result<Vec<EmployeeKey>> {
    holders(sql, (corp, Role::Admin), but, at_most)
}

/// Holders of a role in a corporation who may sign in, except this one, at most `at_most`.
pub(super) fn holders(
    sql: &Sql<'_>,
    (corp, role): (&str, Role),
    but: &EmployeeKey,
    at_most: usize,
) -> Result<Vec<EmployeeKey>> {
    let text = "SELECT r.employee_key FROM user_role r
        JOIN employee e ON e.corp_id = r.corp_id AND e.employee_key = r.employee_key
        WHERE r.corp_id = $1 AND r.role_id = $2 AND e.disabled_at IS NULL AND e.left_at IS NULL AND e.unconfirmed_at IS NULL
        AND NOT (r.corp_id = $3 AND r.employee_key = $4)
        ORDER BY r.employee_key LIMIT $5";
    let at_most = i64::try_from(at_most).unwrap_or(i64::MAX);
    let values = args![corp, role, but.corp(), but.id(), at_most];
    sql.rows(text, &values, |row| Ok(EmployeeKey::from_parts(corp, &row.text(0)?)))
}

pub(crate) fn find(sql: &Sql<'_>, key: &EmployeeKey) -> Result<Option<ListedPerson>> {
    let text = format!("{PEOPLE_WITH_ROLES} WHERE e.corp_id = $1 AND e.employee_key = $2");
    Ok(merge_roles(sql.rows(&text, &args![key.corp(), key.id()], listed)?).into_iter().next())
}

/// Reads a person, with at most one role, from the first columns of a row.
pub(crate) fn listed(row: &Row<'_>) -> Result<ListedPerson> {
    let (role, until) = (row.maybe_role(7)?, row.maybe_timestamp(16)?);
    Ok(ListedPerson {
        person: Person {
            key: row.employee(0)?,
            employee_id: row.text(2)?,
            name: row.text(3)?,
            department: row.text(4)?,
            department_id: row.text(10)?,
            avatar: row.text(5)?,
            disabled: !row.is_null(6)?,
            left: left(row.is_null(14)?, row.maybe_text(15)?),
            seen: row.int(17)? == 1,
            unconfirmed: !row.is_null(18)?,
            roles: role.into_iter().collect(),
            role_ends: role.zip(until).into_iter().collect(),
            subject: row.maybe_text(11)?,
            email: email(row.maybe_text(12)?, row.maybe_text(13)?),
        },
        last_login_at: row.maybe_timestamp(8)?,
        last_login_ip: row.maybe_text(9)?,
    })
}

/// Why a person left. A reason that only a later version knows still means that they left.
fn left(is_here: bool, why: Option<String>) -> Option<LeftReason> {
    let why = why.and_then(|why| LeftReason::from_name(&why)).unwrap_or(LeftReason::Left);
    (!is_here).then_some(why)
}

/// An address. One from a source that only a later version knows is not used.
fn email(address: Option<String>, source: Option<String>) -> Option<Email> {
    let source = EmailSource::from_name(&source?)?;
    Some(Email { address: address?, source })
}

/// Merges the rows of each person, one per role, into one.
pub(super) fn merge_roles(rows: Vec<ListedPerson>) -> Vec<ListedPerson> {
    let mut people: Vec<ListedPerson> = Vec::new();
    for row in rows {
        match people.last_mut().filter(|last| last.person.key == row.person.key) {
            Some(last) => add_roles(&mut last.person, row.person),
            None => people.push(row),
        }
    }
    people
}

/// Adds the roles that another row of the same person has.
pub(crate) fn add_roles(person: &mut Person, row: Person) {
    person.roles = person.roles.iter().chain(row.roles.iter()).collect();
    person.role_ends.extend(row.role_ends);
}
