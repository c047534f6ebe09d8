//! Agent records: which employees are agents, and their roles.

use std::collections::HashMap;
use std::fmt;

use deskpass_core::{EmployeeKey, FailedAttempts, Lockout, Role, Timestamp};

use super::failed_attempts::{self, AttemptsToClear};
use super::{Device, PendingDevice, browser, partial_session};
use crate::database::{Row, Sql, Tx};
use crate::deny_list::EndReason;
use crate::sessions::{SessionScope, end_sessions_of};
use crate::{ChangeAuthor, ChangeError, LogEntry, Store, StoreError};

/// An employee's agent record.
#[derive(Clone)]
pub struct Agent {
    /// The employee.
    pub key: EmployeeKey,
    /// The role that the agent acts in when no role is assigned to the employee.
    pub role: Role,
    /// Whether the record is disabled.
    pub disabled: bool,
    /// When the record was created.
    pub created_at: Timestamp,
    /// Hash of the agent's password, if there is one.
    pub password: Option<String>,
    /// The bound one-time-password device, if there is one.
    pub device: Option<Device>,
    /// The pending device.
    pub pending: Option<PendingDevice>,
    /// The number of unused recovery codes.
    pub recovery_codes: usize,
    /// When the setup code for the password expires, if one was issued.
    pub setup_code_until: Option<Timestamp>,
    /// When the setup code for a first device expires, if one was issued.
    pub device_code_until: Option<Timestamp>,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("key", &self.key).field("role", &self.role).finish_non_exhaustive()
    }
}

/// An agent in a list.
#[derive(Clone, Debug)]
pub struct ListedAgent {
    /// The agent record.
    pub agent: Agent,
    /// The employee identifier in the corporation's spelling.
    pub employee_id: String,
    /// Display name.
    pub name: String,
    /// Whether the employee is disabled.
    pub employee_disabled: bool,
    /// Whether a credential of the agent is locked until an administrator unlocks it.
    pub locked: bool,
    /// When a temporary lockout of a credential ends.
    pub shut_until: Option<Timestamp>,
}

const COLUMNS: &str = "SELECT a.corp_id, a.employee_key, a.role_id, a.disabled_at, a.created_at, a.password_hash,
    a.otp_secret, a.otp_bound_at, a.otp_verified_at, a.otp_step, a.otp_proven, a.otp_pending, a.otp_pending_until,
    a.setup_code_until, (SELECT COUNT(*) FROM recovery_code r WHERE r.corp_id = a.corp_id
    AND r.employee_key = a.employee_key), a.otp_pending_by, a.otp_setup_code_until, e.employee_id, e.name, e.disabled_at
    FROM agent a JOIN employee e ON e.corp_id = a.corp_id AND e.employee_key = a.employee_key";

impl Store {
    /// An employee's agent record, if there is one.
    pub async fn agent(&self, key: EmployeeKey) -> Result<Option<Agent>, StoreError> {
        let text = format!("{COLUMNS} WHERE a.corp_id = $1 AND a.employee_key = $2");
        self.database.read(move |sql| sql.first(&text, &args![key.corp(), key.id()], agent)).await
    }

    /// The role of an employee's agent record, if the record exists and is enabled.
    pub async fn agent_role(&self, key: EmployeeKey) -> Result<Option<Role>, StoreError> {
        let text = "SELECT role_id FROM agent WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL";
        self.database.read(move |sql| sql.first(text, &args![key.corp(), key.id()], |row| row.role(0))).await
    }

    /// Makes an employee an agent; `false`, with no change, when the employee is an agent already.
    ///
    /// # Errors
    /// When the store fails, or there is no such employee.
    pub async fn add_agent(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        role: Role,
        at: Timestamp,
        entry: Option<LogEntry>,
    ) -> Result<bool, ChangeError> {
        self.authorized(by)
            .write(move |tx| {
                let text = "INSERT INTO agent (corp_id, employee_key, role_id, created_at) VALUES ($1, $2, $3, $4)
                    ON CONFLICT DO NOTHING";
                if tx.execute(text, &args![key.corp(), key.id(), role, at])? == 0 {
                    return Ok(false);
                }
                entry.as_ref().map_or(Ok(()), |entry| entry.write(tx))?;
                Ok(true)
            })
            .await
    }

    /// The agents, ordered by corporation and identifier, at most `limit` starting after `after`.
    pub async fn agents(
        &self,
        after: Option<EmployeeKey>,
        limit: i64,
        now: Timestamp,
    ) -> Result<Vec<ListedAgent>, StoreError> {
        self.database
            .read(move |sql| {
                let (corp, id) = after.as_ref().map_or(("", ""), |key| (key.corp(), key.id()));
                let text = format!(
                    "{COLUMNS} WHERE (a.corp_id, a.employee_key) > ($1, $2) ORDER BY a.corp_id, a.employee_key LIMIT $3"
                );
                let mut page = sql.rows(&text, &args![corp, id, limit], listed)?;
                let Some(last) = page.last().map(|listed| listed.agent.key.clone()) else { return Ok(page) };
                let lockouts = lockouts(sql, (corp, id), &last, now)?;
                for listed in &mut page {
                    (listed.locked, listed.shut_until) = lockouts.get(&listed.agent.key).copied().unwrap_or_default();
                }
                Ok(page)
            })
            .await
    }

    /// An employee's agent record as a list entry, if there is one.
    pub async fn listed_agent(&self, key: EmployeeKey, now: Timestamp) -> Result<Option<ListedAgent>, StoreError> {
        self.database
            .read(move |sql| {
                let text = format!("{COLUMNS} WHERE a.corp_id = $1 AND a.employee_key = $2");
                let Some(mut found) = sql.first(&text, &args![key.corp(), key.id()], listed)? else { return Ok(None) };
                (found.locked, found.shut_until) = lockout_of(sql, &key, now)?;
                Ok(Some(found))
            })
            .await
    }

    /// Changes an agent's role and ends the agent's sessions that have a default role; returns the number of ended
    /// sessions, `None` when there is no such agent. Setting the current role changes nothing.
    pub async fn set_agent_role(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        role: Role,
        deny_until: Timestamp,
        entry: LogEntry,
    ) -> Result<Option<usize>, ChangeError> {
        self.authorized(by)
            .write(move |tx| {
                let text = "UPDATE agent SET role_id = $3 WHERE corp_id = $1 AND employee_key = $2 AND role_id <> $3";
                if tx.execute(text, &args![key.corp(), key.id(), role])? == 0 {
                    return Ok(exists(tx, &key)?.then_some(0));
                }
                let ended = end_sessions_of(tx, &key, SessionScope::WithDefaultRole, EndReason::Kicked, deny_until)?;
                entry.write(tx)?;
                Ok(Some(ended))
            })
            .await
    }

    /// Disables an agent record and ends what depends on it: sessions begun by password or with a default role, partial
    /// sessions, and known browsers. Returns the number of ended sessions, `None` when there is no such agent.
    pub async fn disable_agent(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        deny_until: Timestamp,
        entry: LogEntry,
    ) -> Result<Option<usize>, ChangeError> {
        self.authorized(by)
            .write(move |tx| {
                let text = "UPDATE agent SET disabled_at = $3
                    WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL";
                if tx.execute(text, &args![key.corp(), key.id(), entry.at])? == 0 {
                    return Ok(exists(tx, &key)?.then_some(0));
                }
                let ended =
                    end_sessions_of(tx, &key, SessionScope::ByPasswordOrDefaultRole, EndReason::Disabled, deny_until)?;
                partial_session::end_all(tx, &key, EndReason::Disabled, deny_until)?;
                browser::forget_all(tx, &key, None)?;
                entry.write(tx)?;
                Ok(Some(ended))
            })
            .await
    }

    /// Enables an agent record again; `false` when there is no such agent.
    pub async fn enable_agent(&self, by: ChangeAuthor, key: EmployeeKey, entry: LogEntry) -> Result<bool, ChangeError> {
        self.authorized(by)
            .write(move |tx| {
                let text = "UPDATE agent SET disabled_at = NULL
                    WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NOT NULL";
                if tx.execute(text, &args![key.corp(), key.id()])? == 0 {
                    return exists(tx, &key);
                }
                entry.write(tx)?;
                Ok(true)
            })
            .await
    }

    /// Clears all failed attempts at an agent's credentials; returns whether there were any, `None` when there is no such agent.
    pub async fn unlock_agent(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        entry: LogEntry,
    ) -> Result<Option<bool>, ChangeError> {
        self.authorized(by)
            .write(move |tx| {
                if !exists(tx, &key)? {
                    return Ok(None);
                }
                let forgot = failed_attempts::clear(tx, &key, AttemptsToClear::All)? > 0;
                if forgot {
                    entry.write(tx)?;
                }
                Ok(Some(forgot))
            })
            .await
    }
}

/// Whether an employee has an agent record, enabled or not.
fn exists(tx: &Tx<'_>, key: &EmployeeKey) -> Result<bool, StoreError> {
    let text = "SELECT 1 FROM agent WHERE corp_id = $1 AND employee_key = $2";
    Ok(tx.first(text, &args![key.corp(), key.id()], |row| row.int(0))?.is_some())
}

fn agent(row: &Row<'_>) -> Result<Agent, StoreError> {
    Ok(Agent {
        key: EmployeeKey::from_parts(&row.text(0)?, &row.text(1)?),
        role: row.role(2)?,
        disabled: !row.is_null(3)?,
        created_at: row.timestamp(4)?,
        password: row.maybe_text(5)?,
        device: Device::read(row, 6)?,
        pending: PendingDevice::read(row, 11, 15)?,
        setup_code_until: row.maybe_int(13)?.map(Timestamp::from_millis),
        recovery_codes: usize::try_from(row.int(14)?).unwrap_or(0),
        device_code_until: row.maybe_int(16)?.map(Timestamp::from_millis),
    })
}

fn listed(row: &Row<'_>) -> Result<ListedAgent, StoreError> {
    Ok(ListedAgent {
        agent: agent(row)?,
        employee_id: row.text(17)?,
        name: row.text(18)?,
        employee_disabled: !row.is_null(19)?,
        locked: false,
        shut_until: None,
    })
}

/// The lockouts of all accounts after `after` and up to `last`: whether each is locked for good, and otherwise until when.
fn lockouts(
    sql: &Sql<'_>,
    (corp, id): (&str, &str),
    last: &EmployeeKey,
    now: Timestamp,
) -> Result<HashMap<EmployeeKey, (bool, Option<Timestamp>)>, StoreError> {
    let text = "SELECT recent, in_a_row, last_at, corp_id, employee_key FROM guess
        WHERE (corp_id, employee_key) > ($1, $2) AND (corp_id, employee_key) <= ($3, $4)";
    let read = |row: &Row<'_>| Ok((EmployeeKey::from_parts(&row.text(3)?, &row.text(4)?), failed_attempts::read(row)?));
    let mut found = HashMap::<_, (bool, Option<Timestamp>)>::new();
    for (key, guesses) in sql.rows(text, &args![corp, id, last.corp(), last.id()], read)? {
        merge_lockout(found.entry(key).or_default(), &guesses, now);
    }
    Ok(found)
}

/// The lockout of one account.
fn lockout_of(sql: &Sql<'_>, key: &EmployeeKey, now: Timestamp) -> Result<(bool, Option<Timestamp>), StoreError> {
    let text = "SELECT recent, in_a_row, last_at FROM guess WHERE corp_id = $1 AND employee_key = $2";
    let mut found = (false, None);
    for guesses in sql.rows(text, &args![key.corp(), key.id()], failed_attempts::read)? {
        merge_lockout(&mut found, &guesses, now);
    }
    Ok(found)
}

fn merge_lockout((locked, until): &mut (bool, Option<Timestamp>), guesses: &FailedAttempts, now: Timestamp) {
    match guesses.lockout(now) {
        None => {}
        Some(Lockout::For(span)) => *until = (*until).max(Some(now + span)),
        Some(Lockout::UntilUnlocked) => *locked = true,
    }
}
