//! The platform's directory at the last synchronisation, as far as rules for roles need it: departments, tags, and their members,
//! also those who never signed in here. Only [`Store::change_directory`] writes it.
//!
//! Members have the identifier as the platform writes it if the platform distinguishes case, and the key of the employee if not:
//! keys alone would give a person the departments of another whose identifier differs in case only.

mod change;
mod known;

use std::collections::{BTreeSet, HashMap};

use deskpass_core::{Memberships, Person};

use self::known::tag_members;
use crate::database::Sql;
use crate::{Result, Store};

pub use change::DirectoryChange;
pub use known::{KnownDepartment, KnownTagMember};

/// The departments above departments, and the tags that departments are in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryTree {
    parents: HashMap<String, String>,
    department_tags: HashMap<String, Vec<String>>,
}

impl DirectoryTree {
    /// The groups of a member who is in these departments and tags.
    #[must_use]
    pub fn memberships(&self, departments: &[String], tags: &[String]) -> Memberships {
        let (departments, tags) = (departments.iter().map(String::as_str), tags.iter().map(String::as_str));
        let mut memberships = Memberships::new(departments, tags, &self.parents);
        let by_department = memberships.departments.iter().filter_map(|id| self.department_tags.get(id));
        memberships.tags.extend(by_department.flatten().cloned());
        memberships
    }
}

/// What the directory knows about a member and a department.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberDepartments {
    /// The departments that the member is in, without those above them.
    pub direct: BTreeSet<String>,
    /// Whether there is such a department.
    pub is_known: bool,
}

impl Store {
    /// The departments of a corporation, ordered by identifier.
    pub async fn known_departments(&self, corp: String) -> Result<Vec<KnownDepartment>> {
        let text = "SELECT id, parent, name FROM directory_department WHERE corp_id = $1 ORDER BY id";
        self.database
            .read(move |sql| {
                sql.rows(text, &args![&*corp], |row| {
                    Ok(KnownDepartment { id: row.text(0)?, parent: row.maybe_text(1)?, name: row.text(2)? })
                })
            })
            .await
    }

    /// The members of a corporation with their departments, in the order of their keys, at most `limit` after `after`. A member
    /// without a department is not among them.
    pub async fn known_members(
        &self,
        corp: String,
        after: Option<String>,
        limit: i64,
    ) -> Result<Vec<(String, Vec<String>)>> {
        let text = "SELECT m.employee_key, m.department FROM directory_member m WHERE m.corp_id = $1
            AND m.employee_key IN (SELECT DISTINCT employee_key FROM directory_member
            WHERE corp_id = $1 AND employee_key > $2 ORDER BY employee_key LIMIT $3)
            ORDER BY m.employee_key, m.department";
        self.database
            .read(move |sql| {
                let after = after.as_deref().unwrap_or_default();
                let rows = sql.rows(text, &args![&*corp, after, limit], |row| Ok((row.text(0)?, row.text(1)?)))?;
                let mut members: Vec<(String, Vec<String>)> = Vec::new();
                for (key, department) in rows {
                    match members.last_mut().filter(|(last, _)| *last == key) {
                        Some((_, departments)) => departments.push(department),
                        None => members.push((key, vec![department])),
                    }
                }
                Ok(members)
            })
            .await
    }

    /// The tags of a corporation, each with its name, ordered by identifier.
    pub async fn known_tags(&self, corp: String) -> Result<Vec<(String, String)>> {
        let text = "SELECT id, name FROM directory_tag WHERE corp_id = $1 ORDER BY id";
        self.database.read(move |sql| sql.rows(text, &args![&*corp], |row| Ok((row.text(0)?, row.text(1)?)))).await
    }

    /// The tree of departments, and the tags that departments are in.
    pub async fn directory_tree(&self, corp: String) -> Result<DirectoryTree> {
        self.database
            .read(move |sql| {
                Ok(DirectoryTree { parents: parents(sql, &corp)?, department_tags: department_tags(sql, &corp)? })
            })
            .await
    }

    /// The departments that a member is in, and whether the directory has `department`.
    pub async fn member_departments(
        &self,
        corp: String,
        member: String,
        department: String,
    ) -> Result<MemberDepartments> {
        let direct = "SELECT department FROM directory_member WHERE corp_id = $1 AND employee_key = $2";
        let known = "SELECT 1 FROM directory_department WHERE corp_id = $1 AND id = $2";
        self.database
            .read(move |sql| {
                let direct = sql.rows(direct, &args![&*corp, &*member], |row| row.text(0))?.into_iter().collect();
                let is_known = sql.first(known, &args![&*corp, &*department], |_| Ok(()))?.is_some();
                Ok(MemberDepartments { direct, is_known })
            })
            .await
    }

    /// Whether another department has the name of a person's department: in the directory at the last synchronisation, or among the
    /// employees of these corporations.
    pub async fn shares_department_name(&self, person: &Person, corps: Vec<String>) -> Result<bool> {
        let in_directory =
            "SELECT 1 FROM directory_department WHERE name = $1 AND NOT (corp_id = $2 AND id = $3) LIMIT 1";
        // A department whose identifier is not known may be the same one.
        let among_employees = "SELECT 1 FROM employee WHERE corp_id = $4 AND department = $1 AND department_id <> ''
            AND NOT (corp_id = $2 AND department_id = $3) LIMIT 1";
        let (name, id) = (person.department.clone(), person.department_id.clone());
        let corp = person.key.corp().to_owned();
        self.database
            .read(move |sql| {
                if sql.exists(in_directory, &args![&*name, &*corp, &*id])? {
                    return Ok(true);
                }
                let shares = |other: &String| sql.exists(among_employees, &args![&*name, &*corp, &*id, &**other]);
                corps.iter().try_fold(false, |found, other| Ok(found || shares(other)?))
            })
            .await
    }

    /// The members of a tag, in order.
    pub async fn known_tag_members(&self, corp: String, tag: String) -> Result<Vec<KnownTagMember>> {
        self.database.read(move |sql| Ok(tag_members(sql, &corp, &tag)?.into_iter().collect())).await
    }
}

/// The parent of each department that has one.
fn parents(sql: &Sql<'_>, corp: &str) -> Result<HashMap<String, String>> {
    let text = "SELECT id, parent FROM directory_department WHERE corp_id = $1 AND parent IS NOT NULL";
    Ok(sql.rows(text, &args![corp], |row| Ok((row.text(0)?, row.text(1)?)))?.into_iter().collect())
}

/// The tags of each department that is in one.
fn department_tags(sql: &Sql<'_>, corp: &str) -> Result<HashMap<String, Vec<String>>> {
    let text = "SELECT value, tag FROM directory_tag_member WHERE corp_id = $1 AND kind = 'department'";
    let mut tags: HashMap<String, Vec<String>> = HashMap::new();
    for (department, tag) in sql.rows(text, &args![corp], |row| Ok((row.text(0)?, row.text(1)?)))? {
        tags.entry(department).or_default().push(tag);
    }
    Ok(tags)
}
