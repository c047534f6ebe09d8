//! The platform's directory at the last synchronisation, as far as rules for roles need it: departments, tags, and their members,
//! also those who never signed in here. Only [`Store::change_directory`] writes it.

mod change;
mod known;

use std::collections::HashMap;

use self::known::tag_members;
use crate::database::Sql;
use crate::{Result, Store};

pub use change::DirectoryChange;
pub use known::{KnownDepartment, KnownTagMember};

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

    /// The members of a tag, in order.
    pub async fn known_tag_members(&self, corp: String, tag: String) -> Result<Vec<KnownTagMember>> {
        self.database.read(move |sql| Ok(tag_members(sql, &corp, &tag)?.into_iter().collect())).await
    }
}

/// The parent of each department that has one.
pub(crate) fn parents(sql: &Sql<'_>, corp: &str) -> Result<HashMap<String, String>> {
    let text = "SELECT id, parent FROM directory_department WHERE corp_id = $1 AND parent IS NOT NULL";
    Ok(sql.rows(text, &args![corp], |row| Ok((row.text(0)?, row.text(1)?)))?.into_iter().collect())
}

/// The tags of each department that is in one.
pub(crate) fn department_tags(sql: &Sql<'_>, corp: &str) -> Result<HashMap<String, Vec<String>>> {
    let text = "SELECT value, tag FROM directory_tag_member WHERE corp_id = $1 AND kind = 'department'";
    let mut tags: HashMap<String, Vec<String>> = HashMap::new();
    for (department, tag) in sql.rows(text, &args![corp], |row| Ok((row.text(0)?, row.text(1)?)))? {
        tags.entry(department).or_default().push(tag);
    }
    Ok(tags)
}
