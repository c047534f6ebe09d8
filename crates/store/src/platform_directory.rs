//! The platform's directory at the last synchronisation, as far as rules for roles need it: departments, tags, and their members,
//! also those who never signed in here. Only [`Store::change_directory`] writes it.
//!
//! Members have the identifier as the platform writes it if the platform distinguishes case, and the key of the employee if not:
//! keys alone would give a person the departments of another whose identifier differs in case only.

use std::collections::{BTreeSet, HashMap};

use deskpass_core::Memberships;

use crate::database::{Sql, SqlValue, Tx};
use crate::{Result, Store};

/// The number of rows that one statement inserts.
const INSERTED_ROWS: usize = 100;

/// A department.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownDepartment {
    /// The platform's identifier.
    pub id: String,
    /// The identifier of the department above it.
    pub parent: Option<String>,
    /// The name.
    pub name: String,
}

/// A member of a tag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnownTagMember {
    /// A member, by the identifier of the directory.
    Member(String),
    /// A department with all its descendants, by identifier.
    Department(String),
}

impl KnownTagMember {
    /// As it is stored: its kind, and the key or identifier.
    fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Member(key) => ("member", key),
            Self::Department(id) => ("department", id),
        }
    }

    fn from_parts(kind: &str, value: String) -> Option<Self> {
        match kind {
            "member" => Some(Self::Member(value)),
            "department" => Some(Self::Department(value)),
            _ => None,
        }
    }
}

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

/// A change of the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectoryChange {
    /// Adds or changes a department.
    SetDepartment(KnownDepartment),
    /// Removes a department. It has no members then, and is in no tag.
    RemoveDepartment(String),
    /// Replaces the departments of a member.
    SetMember {
        /// The member, by the identifier of the directory.
        key: String,
        /// The departments.
        departments: Vec<String>,
    },
    /// Removes a member, from tags as well.
    RemoveMember(String),
    /// Adds or renames a tag.
    SetTag {
        /// The platform's identifier.
        id: String,
        /// The name.
        name: String,
    },
    /// Removes a tag.
    RemoveTag(String),
    /// Replaces the members of a tag.
    SetTagMembers {
        /// The tag.
        tag: String,
        /// The members.
        members: Vec<KnownTagMember>,
    },
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

    /// The members of a tag, in order.
    pub async fn known_tag_members(&self, corp: String, tag: String) -> Result<Vec<KnownTagMember>> {
        self.database.read(move |sql| Ok(tag_members(sql, &corp, &tag)?.into_iter().collect())).await
    }

    /// Changes the directory in one transaction, in the order given. Send at most 200 changes at once: sign-ins share the writer.
    pub async fn change_directory(&self, corp: String, changes: Vec<DirectoryChange>) -> Result<()> {
        self.database.write(move |tx| changes.iter().try_for_each(|change| apply(tx, &corp, change))).await
    }
}

fn apply(tx: &Tx<'_>, corp: &str, change: &DirectoryChange) -> Result<()> {
    match change {
        DirectoryChange::SetDepartment(KnownDepartment { id, parent, name }) => {
            let text = "INSERT INTO directory_department (corp_id, id, parent, name) VALUES ($1, $2, $3, $4)
                ON CONFLICT (corp_id, id) DO UPDATE SET parent = excluded.parent, name = excluded.name";
            tx.execute(text, &args![corp, &**id, parent.as_deref(), &**name]).map(drop)
        }
        DirectoryChange::RemoveDepartment(id) => {
            delete(tx, "directory_department", "id = $2", corp, id)?;
            delete(tx, "directory_member", "department = $2", corp, id)?;
            delete(tx, "directory_tag_member", "kind = 'department' AND value = $2", corp, id)
        }
        DirectoryChange::SetMember { key, departments } => set_member(tx, corp, key, departments),
        DirectoryChange::RemoveMember(key) => {
            delete(tx, "directory_member", "employee_key = $2", corp, key)?;
            delete(tx, "directory_tag_member", "kind = 'member' AND value = $2", corp, key)
        }
        DirectoryChange::SetTag { id, name } => {
            let text = "INSERT INTO directory_tag (corp_id, id, name) VALUES ($1, $2, $3)
                ON CONFLICT (corp_id, id) DO UPDATE SET name = excluded.name";
            tx.execute(text, &args![corp, &**id, &**name]).map(drop)
        }
        DirectoryChange::RemoveTag(id) => {
            delete(tx, "directory_tag", "id = $2", corp, id)?;
            delete(tx, "directory_tag_member", "tag = $2", corp, id)
        }
        DirectoryChange::SetTagMembers { tag, members } => set_tag_members(tx, corp, tag, members),
    }
}

fn delete(tx: &Tx<'_>, table: &str, which: &str, corp: &str, value: &str) -> Result<()> {
    tx.execute(&format!("DELETE FROM {table} WHERE corp_id = $1 AND {which}"), &args![corp, value]).map(drop)
}

/// Writes only what differs.
fn set_member(tx: &Tx<'_>, corp: &str, key: &str, departments: &[String]) -> Result<()> {
    let text = "SELECT department FROM directory_member WHERE corp_id = $1 AND employee_key = $2";
    let before: BTreeSet<String> = tx.rows(text, &args![corp, key], |row| row.text(0))?.into_iter().collect();
    let wanted: BTreeSet<&str> = departments.iter().map(String::as_str).collect();
    for gone in before.iter().filter(|department| !wanted.contains(department.as_str())) {
        let text = "DELETE FROM directory_member WHERE corp_id = $1 AND employee_key = $2 AND department = $3";
        tx.execute(text, &args![corp, key, &**gone])?;
    }
    for new in wanted.into_iter().filter(|department| !before.contains(*department)) {
        let text = "INSERT INTO directory_member (corp_id, employee_key, department) VALUES ($1, $2, $3)
            ON CONFLICT DO NOTHING";
        tx.execute(text, &args![corp, key, new])?;
    }
    Ok(())
}

/// Writes only what differs: a tag may have all members of a corporation.
fn set_tag_members(tx: &Tx<'_>, corp: &str, tag: &str, members: &[KnownTagMember]) -> Result<()> {
    let before = tag_members(tx, corp, tag)?;
    let wanted: BTreeSet<KnownTagMember> = members.iter().cloned().collect();
    for gone in before.difference(&wanted) {
        let (kind, value) = gone.parts();
        let text = "DELETE FROM directory_tag_member WHERE corp_id = $1 AND tag = $2 AND kind = $3 AND value = $4";
        tx.execute(text, &args![corp, tag, kind, value])?;
    }
    let added: Vec<_> = wanted.difference(&before).map(KnownTagMember::parts).collect();
    for some in added.chunks(INSERTED_ROWS) {
        let rows: Vec<_> = (0..some.len()).map(|row| format!("($1, $2, ${}, ${})", 2 * row + 3, 2 * row + 4)).collect();
        let text = format!(
            "INSERT INTO directory_tag_member (corp_id, tag, kind, value) VALUES {} ON CONFLICT DO NOTHING",
            rows.join(", ")
        );
        let texts = [corp, tag].into_iter().chain(some.iter().flat_map(|(kind, value)| [*kind, *value]));
        tx.execute(&text, &texts.map(SqlValue::from).collect::<Vec<_>>())?;
    }
    Ok(())
}

fn tag_members(sql: &Sql<'_>, corp: &str, tag: &str) -> Result<BTreeSet<KnownTagMember>> {
    let text = "SELECT kind, value FROM directory_tag_member WHERE corp_id = $1 AND tag = $2";
    let rows = sql.rows(text, &args![corp, tag], |row| Ok(KnownTagMember::from_parts(&row.text(0)?, row.text(1)?)))?;
    Ok(rows.into_iter().flatten().collect())
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
