//! A person as stored in the tables, and administrators.

use deskpass_core::{EmployeeKey, Person, Role, Roles, Timestamp};

use crate::StoreError;
use crate::database::{Row, Sql, Tx};

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

pub(super) const COLUMNS: &str =
    "SELECT e.corp_id, e.employee_key, e.employee_id, e.name, e.department, e.avatar, e.disabled_at,
    r.role_id, e.last_login_at, e.last_login_ip, e.department_id
    FROM employee e LEFT JOIN user_role r ON r.corp_id = e.corp_id AND r.employee_key = e.employee_key";

pub(super) const GRANT_ROLE: &str =
    "INSERT INTO user_role (corp_id, employee_key, role_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";

pub(super) const REVOKE_ROLE: &str = "DELETE FROM user_role WHERE corp_id = $1 AND employee_key = $2 AND role_id = $3";

/// Whether a person's corporation has no other enabled administrator. The caller holds the administration lock.
pub(super) fn is_last_admin(tx: &Tx<'_>, key: &EmployeeKey) -> Result<bool, StoreError> {
    let text = "SELECT 1 FROM user_role r JOIN employee e ON e.corp_id = r.corp_id AND e.employee_key = r.employee_key
        WHERE r.corp_id = $1 AND r.role_id = $3 AND r.employee_key <> $2 AND e.disabled_at IS NULL LIMIT 1";
    Ok(tx.first(text, &args![key.corp(), key.id(), Role::Admin], |row| row.int(0))?.is_none())
}

/// Enabled administrators of a corporation except this one, at most `at_most`.
pub(crate) fn administrators(
    sql: &Sql<'_>,
    corp: &str,
    but: &EmployeeKey,
    at_most: usize,
) -> Result<Vec<EmployeeKey>, StoreError> {
    let text = "SELECT r.employee_key FROM user_role r
        JOIN employee e ON e.corp_id = r.corp_id AND e.employee_key = r.employee_key
        WHERE r.corp_id = $1 AND r.role_id = $2 AND e.disabled_at IS NULL AND NOT (r.corp_id = $3 AND r.employee_key = $4)
        ORDER BY r.employee_key LIMIT $5";
    let at_most = i64::try_from(at_most).unwrap_or(i64::MAX);
    let values = args![corp, Role::Admin, but.corp(), but.id(), at_most];
    sql.rows(text, &values, |row| Ok(EmployeeKey::from_parts(corp, &row.text(0)?)))
}

pub(crate) fn find(sql: &Sql<'_>, key: &EmployeeKey) -> Result<Option<ListedPerson>, StoreError> {
    let text = format!("{COLUMNS} WHERE e.corp_id = $1 AND e.employee_key = $2");
    Ok(merge_roles(sql.rows(&text, &args![key.corp(), key.id()], listed)?).into_iter().next())
}

pub(super) fn listed(row: &Row<'_>) -> Result<ListedPerson, StoreError> {
    let role = if row.is_null(7)? { Roles::NONE } else { Roles::NONE.with(row.role(7)?) };
    Ok(ListedPerson {
        person: Person {
            key: EmployeeKey::from_parts(&row.text(0)?, &row.text(1)?),
            employee_id: row.text(2)?,
            name: row.text(3)?,
            department: row.text(4)?,
            department_id: row.text(10)?,
            avatar: row.text(5)?,
            disabled: !row.is_null(6)?,
            roles: role,
        },
        last_login_at: row.maybe_int(8)?.map(Timestamp::from_millis),
        last_login_ip: row.maybe_text(9)?,
    })
}

/// Merges the rows of each person, one per role, into one.
pub(super) fn merge_roles(rows: Vec<ListedPerson>) -> Vec<ListedPerson> {
    let mut people: Vec<ListedPerson> = Vec::new();
    for row in rows {
        match people.last_mut().filter(|last| last.person.key == row.person.key) {
            Some(last) => last.person.roles = last.person.roles.iter().chain(row.person.roles.iter()).collect(),
            None => people.push(row),
        }
    }
    people
}
