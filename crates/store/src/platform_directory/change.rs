//! Changes of the directory, each in transactions of few rows: a tag may have all members of a corporation, and so may a department.

use std::collections::BTreeSet;

use super::known::{KnownDepartment, KnownTagMember, tag_members};
use crate::database::{SqlValue, Tx};
use crate::{Result, Store};

/// The most rows that a transaction writes.
const MAX_ROWS: usize = 1_000;

/// The number of rows that one statement inserts or deletes.
const STATEMENT_ROWS: usize = 100;

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

/// About how many rows a change writes; `None` if they may be very many.
fn rows(change: &DirectoryChange) -> Option<usize> {
    match change {
        DirectoryChange::SetDepartment(_) | DirectoryChange::SetTag { .. } => Some(1),
        DirectoryChange::SetMember { departments, .. } => Some(departments.len() + 1),
        DirectoryChange::RemoveMember(_) => Some(4),
        DirectoryChange::RemoveDepartment(_)
        | DirectoryChange::RemoveTag(_)
        | DirectoryChange::SetTagMembers { .. } => None,
    }
}

impl Store {
    /// Changes the directory, in the order given and in several transactions of few rows: sign-ins share the writer. If the store fails,
    /// some changes may be made; the next synchronisation makes the others.
    pub async fn change_directory(&self, corp: String, changes: Vec<DirectoryChange>) -> Result<()> {
        let (mut batch, mut total) = (Vec::new(), 0);
        for change in changes {
            let Some(few) = rows(&change) else {
                self.apply_small(&corp, std::mem::take(&mut batch)).await?;
                self.apply_large(&corp, change).await?;
                total = 0;
                continue;
            };
            if total + few > MAX_ROWS {
                self.apply_small(&corp, std::mem::take(&mut batch)).await?;
                total = 0;
            }
            batch.push(change);
            total += few;
        }
        self.apply_small(&corp, batch).await
    }

    /// Makes changes of few rows, in one transaction.
    async fn apply_small(&self, corp: &str, changes: Vec<DirectoryChange>) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let corp = corp.to_owned();
        self.database.write(move |tx| changes.iter().try_for_each(|change| apply(tx, &corp, change))).await
    }

    /// Makes a change that may have very many rows.
    async fn apply_large(&self, corp: &str, change: DirectoryChange) -> Result<()> {
        match change {
            DirectoryChange::RemoveDepartment(id) => {
                self.delete_all(MEMBERS_OF_DEPARTMENT, corp, &id).await?;
                self.delete_all(TAGS_OF_DEPARTMENT, corp, &id).await?;
                self.delete_all(DEPARTMENT, corp, &id).await
            }
            DirectoryChange::RemoveTag(id) => {
                self.delete_all(MEMBERS_OF_TAG, corp, &id).await?;
                self.delete_all(TAG, corp, &id).await
            }
            DirectoryChange::SetTagMembers { tag, members } => self.set_tag_members(corp, &tag, members).await,
            small => self.apply_small(corp, vec![small]).await,
        }
    }

    /// Runs a statement that deletes some rows until there are none.
    async fn delete_all(&self, text: &'static str, corp: &str, id: &str) -> Result<()> {
        let most = i64::try_from(MAX_ROWS).unwrap_or(i64::MAX);
        loop {
            let (corp, id) = (corp.to_owned(), id.to_owned());
            let deleted = self.database.write(move |tx| tx.execute(text, &args![&*corp, &*id, most])).await?;
            if deleted < MAX_ROWS {
                return Ok(());
            }
        }
    }

    /// Replaces the members of a tag. Writes only what differs. Only one synchronisation runs at a time.
    async fn set_tag_members(&self, corp: &str, tag: &str, members: Vec<KnownTagMember>) -> Result<()> {
        let (known_corp, known_tag) = (corp.to_owned(), tag.to_owned());
        let before = self.database.read(move |sql| tag_members(sql, &known_corp, &known_tag)).await?;
        let wanted: BTreeSet<KnownTagMember> = members.into_iter().collect();
        let gone = before.difference(&wanted).map(|member| (false, member.clone()));
        let changes: Vec<_> = gone.chain(wanted.difference(&before).map(|member| (true, member.clone()))).collect();
        for some in changes.chunks(MAX_ROWS) {
            let (corp, tag, some) = (corp.to_owned(), tag.to_owned(), some.to_vec());
            self.database.write(move |tx| change_tag_members(tx, &corp, &tag, &some)).await?;
        }
        Ok(())
    }
}

const DEPARTMENT: &str = "DELETE FROM directory_department WHERE corp_id = $1 AND id IN
    (SELECT id FROM directory_department WHERE corp_id = $1 AND id = $2 LIMIT $3)";
const MEMBERS_OF_DEPARTMENT: &str =
    "DELETE FROM directory_member WHERE corp_id = $1 AND department = $2 AND employee_key IN
    (SELECT employee_key FROM directory_member WHERE corp_id = $1 AND department = $2 LIMIT $3)";
const TAGS_OF_DEPARTMENT: &str = "DELETE FROM directory_tag_member
    WHERE corp_id = $1 AND kind = 'department' AND value = $2 AND tag IN
    (SELECT tag FROM directory_tag_member WHERE corp_id = $1 AND kind = 'department' AND value = $2 LIMIT $3)";
const TAG: &str = "DELETE FROM directory_tag WHERE corp_id = $1 AND id IN
    (SELECT id FROM directory_tag WHERE corp_id = $1 AND id = $2 LIMIT $3)";
const MEMBERS_OF_TAG: &str = "DELETE FROM directory_tag_member WHERE corp_id = $1 AND tag = $2 AND (kind, value) IN
    (SELECT kind, value FROM directory_tag_member WHERE corp_id = $1 AND tag = $2 LIMIT $3)";

/// Makes a change of few rows.
fn apply(tx: &Tx<'_>, corp: &str, change: &DirectoryChange) -> Result<()> {
    match change {
        DirectoryChange::SetDepartment(KnownDepartment { id, parent, name }) => {
            let text = "INSERT INTO directory_department (corp_id, id, parent, name) VALUES ($1, $2, $3, $4)
                ON CONFLICT (corp_id, id) DO UPDATE SET parent = excluded.parent, name = excluded.name";
            tx.execute(text, &args![corp, &**id, parent.as_deref(), &**name]).map(drop)
        }
        DirectoryChange::SetMember { key, departments } => set_member(tx, corp, key, departments),
        DirectoryChange::RemoveMember(key) => {
            let text = "DELETE FROM directory_member WHERE corp_id = $1 AND employee_key = $2";
            tx.execute(text, &args![corp, &**key])?;
            let text = "DELETE FROM directory_tag_member WHERE corp_id = $1 AND kind = 'member' AND value = $2";
            tx.execute(text, &args![corp, &**key]).map(drop)
        }
        DirectoryChange::SetTag { id, name } => {
            let text = "INSERT INTO directory_tag (corp_id, id, name) VALUES ($1, $2, $3)
                ON CONFLICT (corp_id, id) DO UPDATE SET name = excluded.name";
            tx.execute(text, &args![corp, &**id, &**name]).map(drop)
        }
        // Those of many rows.
        DirectoryChange::RemoveDepartment(_)
        | DirectoryChange::RemoveTag(_)
        | DirectoryChange::SetTagMembers { .. } => Ok(()),
    }
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

/// Adds the members with `true` to a tag, and removes the others.
fn change_tag_members(tx: &Tx<'_>, corp: &str, tag: &str, changes: &[(bool, KnownTagMember)]) -> Result<()> {
    let of = |wanted: bool| {
        let some = changes.iter().filter(move |(is_added, _)| *is_added == wanted);
        some.map(|(_, member)| member.parts()).collect::<Vec<_>>()
    };
    let (gone, added) = (of(false), of(true));
    for some in gone.chunks(STATEMENT_ROWS) {
        let rows: Vec<_> =
            (0..some.len()).map(|row| format!("kind = ${} AND value = ${}", 2 * row + 3, 2 * row + 4)).collect();
        let which = rows.join(" OR ");
        let text = format!("DELETE FROM directory_tag_member WHERE corp_id = $1 AND tag = $2 AND ({which})");
        tx.execute(&text, &values(corp, tag, some))?;
    }
    for some in added.chunks(STATEMENT_ROWS) {
        let rows: Vec<_> = (0..some.len()).map(|row| format!("($1, $2, ${}, ${})", 2 * row + 3, 2 * row + 4)).collect();
        let rows = rows.join(", ");
        let text = format!(
            "INSERT INTO directory_tag_member (corp_id, tag, kind, value) VALUES {rows} ON CONFLICT DO NOTHING"
        );
        tx.execute(&text, &values(corp, tag, some))?;
    }
    Ok(())
}

/// The values of a statement about members of a tag.
fn values<'a>(corp: &'a str, tag: &'a str, members: &[(&'a str, &'a str)]) -> Vec<SqlValue<'a>> {
    let members = members.iter().flat_map(|(kind, value)| [*kind, *value]);
    [corp, tag].into_iter().chain(members).map(SqlValue::from).collect()
}
