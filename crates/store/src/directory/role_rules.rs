//! Rules that give roles to the members of departments and tags: the registered rules, and what they give to whom.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use deskpass_core::{EmployeeKey, Memberships, Role, RoleRule, Roles, RuleGroup, Timestamp};

use super::person::{find, is_last_admin};
use super::roles::{RoleOrigin, describe, origins};
use crate::access_rules::read_role_rules;
use crate::cache::CacheChange;
use crate::database::{Sql, SqlValue, Tx};
use crate::deny_list::EndReason;
use crate::locks::{lock_administration, lock_employee};
use crate::oidc::endings::end_told_role;
use crate::platform_directory::DirectoryTree;
use crate::sessions::{SessionScope, end_sessions_of};
use crate::temporary_admin::Gift;
use crate::{ChangeAuthor, ChangeError, LogEntry, Result, Store};

/// What rules changed about the roles that a person holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleRolesOutcome {
    /// The roles that the person did not hold before.
    pub gained: Roles,
    /// The roles that the person does not hold any more.
    pub lost: Roles,
    /// Whether no rule gives the person the role of an administrator any more, and they keep it as the last one.
    pub kept_last_admin: bool,
}

/// What decides which roles rules give a person, besides the registered rules.
#[derive(Clone, Debug)]
pub struct RuleEvaluation {
    /// The person.
    pub key: EmployeeKey,
    /// The person's departments and tags.
    pub memberships: Memberships,
    /// The rules of the settings file.
    pub file_rules: Arc<Vec<RoleRule>>,
}

impl RuleEvaluation {
    /// The roles that the rules of the file and these give.
    fn roles(&self, registered: &[RoleRule]) -> Roles {
        let (of_file, others) = (self.memberships.roles(&self.file_rules), self.memberships.roles(registered));
        of_file.iter().chain(others.iter()).collect()
    }
}

/// A person whom rules may give roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSubject {
    /// The person.
    pub key: EmployeeKey,
    /// The identifier as the corporation writes it.
    pub employee_id: String,
    /// Display name.
    pub name: String,
    /// Whether the person may sign in: neither disabled nor gone.
    pub is_admitted: bool,
    /// The roles held.
    pub held: Roles,
    /// Those of them that a rule gives.
    pub by_rule: Roles,
    /// The person's departments and tags.
    pub memberships: Memberships,
}

/// The employees that [`Store::rule_subjects`] returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectPage {
    /// Their corporation.
    pub corp: String,
    /// The key after which they begin; `None` for the first ones.
    pub after: Option<String>,
    /// The most that are returned.
    pub limit: i64,
    /// Whether the directory has members as the platform writes them, since it distinguishes case; by key if not.
    pub exact: bool,
}

/// The most rules that the log names before a change, and after it.
const MAX_LOGGED_RULES: usize = 20;

/// The departments of the member `$2`, and all departments above them. `UNION` drops what was found before, so that a tree with a
/// loop ends as well.
const DEPARTMENTS_ABOVE: &str = "WITH RECURSIVE above (id) AS (
    SELECT m.department FROM directory_member m WHERE m.corp_id = $1 AND m.employee_key = $2
    UNION SELECT d.parent FROM above JOIN directory_department d ON d.corp_id = $1 AND d.id = above.id
    WHERE d.parent IS NOT NULL)";

impl Store {
    /// Replaces the rules of a corporation, and logs the new ones; `false`, with no change, when they are the same. It changes no
    /// roles.
    pub async fn set_role_rules(
        &self,
        by: ChangeAuthor,
        corp: String,
        rules: Vec<RoleRule>,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        let wanted: BTreeSet<RoleRule> = rules.iter().cloned().collect();
        let gift = Gift::Rules(corp.clone(), rules);
        self.write_giving(by, gift, move |tx| set(tx, &corp, &wanted, &entry)).await
    }

    /// The departments and tags of a member at the last synchronisation. The identifier is that of the directory, which need not be the
    /// key of the employee.
    pub async fn memberships_of(&self, key: EmployeeKey) -> Result<Memberships> {
        self.database.read(move |sql| memberships(sql, &key)).await
    }

    /// Records which roles rules give a person, and logs it when the person gains or loses a role. The registered rules that count are
    /// those at the time of the change: one that was removed meanwhile gives nothing. Sessions with a default role end then, and so do
    /// the grants of clients that were told a lost role. A role that was assigned by hand, or temporarily, stays. The last
    /// administrator of a corporation keeps that role. Writes only if something may change.
    pub async fn apply_rule_roles(
        &self,
        evaluation: RuleEvaluation,
        deny_until: Timestamp,
        entry: LogEntry,
    ) -> Result<RuleRolesOutcome> {
        let access = self.access_rules().await?;
        let (person, roles) = (evaluation.key.clone(), evaluation.roles(access.role_rules(evaluation.key.corp())));
        let given = self.database.read(move |sql| Ok(by_rule(&origins(sql, &person)?))).await?;
        if given == roles {
            return Ok(RuleRolesOutcome::default());
        }
        self.database.write(move |tx| apply(tx, &evaluation, deny_until, &entry)).await
    }

    /// Whether an employee of a corporation has a role from a rule.
    pub async fn has_rule_roles(&self, corp: String) -> Result<bool> {
        let text = "SELECT 1 FROM user_role WHERE corp_id = $1 AND by_rule = 1 LIMIT 1";
        self.database.read(move |sql| sql.exists(text, &args![&*corp])).await
    }

    /// The employees of a corporation with their roles and memberships, in the order of their keys. `tree` is that of
    /// [`Store::directory_tree`], which is read once for all pages.
    pub async fn rule_subjects(&self, page: SubjectPage, tree: Arc<DirectoryTree>) -> Result<Vec<RuleSubject>> {
        self.database.read(move |sql| subjects(sql, &page, &tree)).await
    }
}

fn set(tx: &mut Tx<'_>, corp: &str, wanted: &BTreeSet<RoleRule>, entry: &LogEntry) -> Result<bool> {
    // Of two concurrent changes to the rules, the second must see the result of the first.
    lock_administration(tx)?;
    let before: BTreeSet<_> = read_role_rules(tx)?.remove(corp).unwrap_or_default().into_iter().collect();
    if before == *wanted {
        return Ok(false);
    }
    tx.execute("DELETE FROM role_rule WHERE corp_id = $1", &args![corp])?;
    let text = "INSERT INTO role_rule (corp_id, role_id, kind, group_id) VALUES ($1, $2, $3, $4)";
    for rule in wanted {
        let (kind, id) = group(rule);
        tx.execute(text, &args![corp, rule.role, kind, id])?;
    }
    tx.record_change(CacheChange::Rules);
    entry.clone().with_detail(format!("{} -> {}", listed(&before), listed(wanted))).write(tx)?;
    Ok(true)
}

/// The rules for the log, which names the first ones and counts the others.
fn listed(rules: &BTreeSet<RoleRule>) -> String {
    let described = |rule: &RoleRule| {
        let (kind, id) = group(rule);
        format!("{kind} {id}: {}", rule.role.name())
    };
    let named: Vec<_> = rules.iter().take(MAX_LOGGED_RULES).map(described).collect();
    match rules.len().saturating_sub(MAX_LOGGED_RULES) {
        0 if named.is_empty() => "none".to_owned(),
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// The kind and the identifier of a rule's group, as they are stored.
fn group(rule: &RoleRule) -> (&'static str, &str) {
    match &rule.group {
        RuleGroup::Department(id) => ("department", id),
        RuleGroup::Tag(id) => ("tag", id),
    }
}

fn by_rule(origins: &[RoleOrigin]) -> Roles {
    origins.iter().filter(|origin| origin.by_rule).map(|origin| origin.role).collect()
}

fn apply(
    tx: &mut Tx<'_>,
    evaluation: &RuleEvaluation,
    deny_until: Timestamp,
    entry: &LogEntry,
) -> Result<RuleRolesOutcome> {
    let key = &evaluation.key;
    // Before any read: of two administrators who lose the role at once, one must see that the other does; and until the commit the
    // rules stay as they are read here.
    lock_administration(tx)?;
    lock_employee(tx, key)?;
    // Those that the caller saw may be older: a cache, or the beginning of a long synchronisation.
    let registered = read_role_rules(tx)?.remove(key.corp()).unwrap_or_default();
    let roles = evaluation.roles(&registered);
    let (mut outcome, mut is_changed) = (RuleRolesOutcome::default(), false);
    let Some(listed) = find(tx, key)? else { return Ok(outcome) };
    let origins = origins(tx, key)?;
    for role in roles.iter().filter(|role| !by_rule(&origins).holds(*role)) {
        give(tx, key, role)?;
        is_changed = true;
        if !listed.person.roles.holds(role) {
            outcome.gained = outcome.gained.with(role);
        }
    }
    for origin in origins.iter().filter(|origin| origin.by_rule && !roles.holds(origin.role)) {
        // Also one whose role ends by itself: without the rule it would end.
        let counts = origin.role == Role::Admin && !origin.by_hand && listed.person.is_admitted();
        if counts && is_last_admin(tx, key)? {
            outcome.kept_last_admin = true;
            continue;
        }
        is_changed = true;
        if take(tx, key, origin.role)? {
            outcome.lost = outcome.lost.with(origin.role);
        }
    }
    if is_changed {
        // Also when no role is gained or lost: without a rule, a role may end by itself, and the cached record says when.
        tx.record_change(CacheChange::Person(key.clone()));
    }
    if outcome.gained.is_empty() && outcome.lost.is_empty() {
        return Ok(outcome);
    }
    // Before the grants, as when roles are set by hand.
    end_sessions_of(tx, key, SessionScope::WithDefaultRole, (EndReason::Kicked, deny_until), entry.at)?;
    for role in outcome.lost.iter() {
        end_told_role(tx, key, role, entry.at)?;
    }
    let detail = format!("gained: {}; lost: {}", describe(outcome.gained), describe(outcome.lost));
    entry.clone().with_detail(detail).write(tx)?;
    Ok(outcome)
}

/// Records that a rule gives a role.
fn give(tx: &Tx<'_>, key: &EmployeeKey, role: Role) -> Result<()> {
    let text = "INSERT INTO user_role (corp_id, employee_key, role_id, by_hand, by_rule) VALUES ($1, $2, $3, 0, 1)
        ON CONFLICT (corp_id, employee_key, role_id) DO UPDATE SET by_rule = 1";
    tx.execute(text, &args![key.corp(), key.id(), role]).map(drop)
}

/// Records that no rule gives a role any more; returns whether the person has lost it.
fn take(tx: &Tx<'_>, key: &EmployeeKey, role: Role) -> Result<bool> {
    let (which, values) = ("corp_id = $1 AND employee_key = $2 AND role_id = $3", args![key.corp(), key.id(), role]);
    tx.execute(&format!("UPDATE user_role SET by_rule = 0 WHERE {which}"), &values)?;
    let gone = format!("DELETE FROM user_role WHERE {which} AND by_rule = 0 AND by_hand = 0 AND until IS NULL");
    Ok(tx.execute(&gone, &values)? > 0)
}

fn memberships(sql: &Sql<'_>, key: &EmployeeKey) -> Result<Memberships> {
    let values = args![key.corp(), key.id()];
    let departments = sql.rows(&format!("{DEPARTMENTS_ABOVE} SELECT id FROM above"), &values, |row| row.text(0))?;
    let tags = format!(
        "{DEPARTMENTS_ABOVE} SELECT t.tag FROM directory_tag_member t
         WHERE t.corp_id = $1 AND t.kind = 'member' AND t.value = $2
         UNION SELECT t.tag FROM above JOIN directory_tag_member t
         ON t.corp_id = $1 AND t.kind = 'department' AND t.value = above.id"
    );
    let tags = sql.rows(&tags, &values, |row| row.text(0))?;
    Ok(Memberships { departments: departments.into_iter().collect(), tags: tags.into_iter().collect() })
}

fn subjects(sql: &Sql<'_>, page: &SubjectPage, tree: &DirectoryTree) -> Result<Vec<RuleSubject>> {
    let (corp, after) = (&*page.corp, page.after.as_deref().unwrap_or_default());
    let text = "SELECT employee_key, employee_id, name, COALESCE(disabled_at, left_at) FROM employee
        WHERE corp_id = $1 AND employee_key > $2 ORDER BY employee_key LIMIT $3";
    let people = sql.rows(text, &args![corp, after, page.limit], |row| {
        Ok((row.text(0)?, row.text(1)?, row.text(2)?, row.is_null(3)?))
    })?;
    let Some((last, ..)) = people.last() else { return Ok(Vec::new()) };
    let range = args![corp, after, &**last];
    let text = "SELECT employee_key, role_id, by_rule FROM user_role
        WHERE corp_id = $1 AND employee_key > $2 AND employee_key <= $3";
    let mut roles: HashMap<String, (Roles, Roles)> = HashMap::new();
    for (key, role, is_by_rule) in sql.rows(text, &range, |row| Ok((row.text(0)?, row.role(1)?, row.int(2)? != 0)))? {
        let (held, by_rule) = roles.entry(key).or_default();
        *held = held.with(role);
        *by_rule = if is_by_rule { by_rule.with(role) } else { *by_rule };
    }
    let (departments, tags) = direct_groups(sql, &range, page.exact)?;
    let subject = |(id, employee_id, name, is_admitted): (String, String, String, bool)| {
        let of = |groups: &HashMap<String, Vec<String>>| groups.get(&id).cloned().unwrap_or_default();
        let memberships = tree.memberships(&of(&departments), &of(&tags));
        let (held, by_rule) = roles.get(&id).copied().unwrap_or_default();
        let key = EmployeeKey::from_parts(corp, &id);
        RuleSubject { key, employee_id, name, is_admitted, held, by_rule, memberships }
    };
    Ok(people.into_iter().map(subject).collect())
}

/// The departments and the tags that employees are in themselves, by key.
fn direct_groups(sql: &Sql<'_>, range: &[SqlValue<'_>], exact: bool) -> Result<(Groups, Groups)> {
    let member = if exact { "e.employee_id" } else { "e.employee_key" };
    let which = "e.corp_id = $1 AND e.employee_key > $2 AND e.employee_key <= $3";
    // A cross join, so that the few employees come first.
    let departments = format!(
        "SELECT e.employee_key, m.department FROM employee e CROSS JOIN directory_member m
         WHERE {which} AND m.corp_id = e.corp_id AND m.employee_key = {member}"
    );
    let tags = format!(
        "SELECT e.employee_key, t.tag FROM employee e CROSS JOIN directory_tag_member t
         WHERE {which} AND t.corp_id = e.corp_id AND t.kind = 'member' AND t.value = {member}"
    );
    Ok((grouped(sql, &departments, range)?, grouped(sql, &tags, range)?))
}

/// Values by what they belong to.
type Groups = HashMap<String, Vec<String>>;

/// The second column of a query, grouped by the first.
fn grouped(sql: &Sql<'_>, text: &str, values: &[SqlValue<'_>]) -> Result<Groups> {
    let mut groups = Groups::new();
    for (group, value) in sql.rows(text, values, |row| Ok((row.text(0)?, row.text(1)?)))? {
        groups.entry(group).or_default().push(value);
    }
    Ok(groups)
}
