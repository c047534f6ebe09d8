//! Agent records: which employees are agents, and their roles. The table also holds devices of employees who are no agents.

use std::collections::HashMap;

use deskpass_core::{EmployeeKey, Lockout, Role, Roles, Timestamp};

use super::device_owner::{RecordKind, record_kind};
use super::failed_attempts::{self, AttemptKind, AttemptsToClear};
use super::{Device, PendingDevice, browser};
use crate::database::{Row, Sql, SqlValue, Tx, in_snapshot};
use crate::deny_list::EndReason;
use crate::sessions::{SessionScope, end_sessions_of};
use crate::temporary_admin::Gift;
use crate::{ChangeAuthor, ChangeError, LogEntry, Result, Store};

/// An employee's agent record, or only the device of an employee who is no agent.
#[derive(Clone)]
pub struct Agent {
    /// The employee.
    pub key: EmployeeKey,
    /// Whether this is no agent record and only holds a device. Then the employee is no agent, and the other fields mean nothing.
    pub device_only: bool,
    /// The role that the agent acts in when no role is assigned to the employee.
    pub role: Role,
    /// Whether the record is disabled.
    pub disabled: bool,
    /// When the record was created.
    pub created_at: Timestamp,
    /// Hash of the agent's password, if there is one.
    pub password: Option<String>,
    /// Whether a first password or device needs an administrator's setup code, since the person had one under a former identifier.
    pub code_needed: bool,
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

debug_only!(Agent, key, role);

/// An agent in a list.
#[derive(Clone, Debug)]
pub struct ListedAgent {
    /// The agent record.
    pub agent: Agent,
    /// The employee identifier in the corporation's spelling.
    pub employee_id: String,
    /// Display name.
    pub name: String,
    /// Whether the employee is disabled, or left.
    pub employee_disabled: bool,
    /// Whether a credential of the agent is locked until an administrator unlocks it.
    pub locked: bool,
    /// When a temporary lockout of a credential ends.
    pub shut_until: Option<Timestamp>,
}

/// A page of a list of agents.
#[derive(Clone, Debug)]
pub struct AgentPage {
    /// The agents.
    pub agents: Vec<ListedAgent>,
    /// The record after which the next page continues. It may be present with few agents or none, since the scan for a page is limited.
    pub next: Option<EmployeeKey>,
}

/// The maximum number of records scanned for a page.
const MAX_SCANNED_RECORDS: usize = 10_000;

/// The number of records scanned at once.
const BATCH_SIZE: usize = 512;

/// Which records a list has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentSelection {
    /// Agents.
    Agents,
    /// Agents, and other employees who have a device or a setup code for one.
    AgentsAndDevices,
}

impl AgentSelection {
    fn condition(self) -> &'static str {
        match self {
            Self::Agents => "a.device_only = 0",
            Self::AgentsAndDevices => "(a.device_only = 0 OR a.otp_secret IS NOT NULL OR a.otp_setup_code IS NOT NULL)",
        }
    }
}

const COLUMNS: &str = "SELECT a.corp_id, a.employee_key, a.role_id, a.disabled_at, a.created_at, a.password_hash,
    a.otp_secret, a.otp_bound_at, a.otp_verified_at, a.otp_step, a.otp_proven, a.otp_pending, a.otp_pending_until,
    a.setup_code_until, (SELECT COUNT(*) FROM recovery_code r WHERE r.corp_id = a.corp_id
    AND r.employee_key = a.employee_key), a.otp_pending_by, a.otp_setup_code_until, e.employee_id, e.name,
    COALESCE(e.disabled_at, e.left_at), a.device_only, a.code_needed
    FROM agent a JOIN employee e ON e.corp_id = a.corp_id AND e.employee_key = a.employee_key";

impl Store {
    /// An employee's agent record or device, if there is one.
    pub async fn agent(&self, key: EmployeeKey) -> Result<Option<Agent>> {
        self.database.read(move |sql| sql.first(&one_agent(), &args![key.corp(), key.id()], agent)).await
    }

    /// The role of an employee's agent record, if the record exists and is enabled.
    pub async fn agent_role(&self, key: EmployeeKey) -> Result<Option<Role>> {
        let text = "SELECT role_id FROM agent WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL
            AND device_only = 0";
        self.database.read(move |sql| sql.first(text, &args![key.corp(), key.id()], |row| row.role(0))).await
    }

    /// Makes an employee an agent, who keeps their device; `false` when they are one already. Fails when there is no such
    /// employee.
    pub async fn add_agent(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        role: Role,
        at: Timestamp,
        entry: Option<LogEntry>,
    ) -> Result<bool, ChangeError> {
        let gift = Gift::Roles(key.clone(), Roles::NONE.with(role));
        self.write_giving(by, gift, move |tx| {
            let text = "INSERT INTO agent (corp_id, employee_key, role_id, created_at) VALUES ($1, $2, $3, $4)
                ON CONFLICT (corp_id, employee_key) DO UPDATE SET role_id = excluded.role_id,
                created_at = excluded.created_at, disabled_at = NULL, device_only = 0, password_hash = NULL,
                setup_code = NULL WHERE agent.device_only = 1";
            if tx.execute(text, &args![key.corp(), key.id(), role, at])? == 0 {
                return Ok(false);
            }
            entry.as_ref().map_or(Ok(()), |entry| entry.write(tx))?;
            Ok(true)
        })
        .await
    }

    /// A page of agents, ordered by corporation and identifier, starting after `after`, among at most 10 000 scanned records.
    pub async fn agents(
        &self,
        which: AgentSelection,
        after: Option<EmployeeKey>,
        limit: i64,
        now: Timestamp,
    ) -> Result<AgentPage> {
        let limit = usize::try_from(limit).unwrap_or(0).max(1);
        let page = move |sql: &Sql<'_>| in_snapshot(sql, |sql| page(sql, which, after.as_ref(), limit, now));
        self.database.read(page).await
    }

    /// An employee's agent record or device as a list entry, if there is one.
    pub async fn listed_agent(&self, key: EmployeeKey, now: Timestamp) -> Result<Option<ListedAgent>> {
        self.database
            .read(move |sql| {
                let values = args![key.corp(), key.id()];
                let Some(mut found) = sql.first(&one_agent(), &values, listed)? else { return Ok(None) };
                let mut lockouts = lockouts(sql, &lockouts_where("corp_id = $1 AND employee_key = $2"), &values, now)?;
                (found.locked, found.shut_until) = lockouts.remove(&key).unwrap_or_default();
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
        let gift = Gift::Roles(key.clone(), Roles::NONE.with(role));
        self.write_giving(by, gift, move |tx| {
            let text = "UPDATE agent SET role_id = $3 WHERE corp_id = $1 AND employee_key = $2 AND role_id <> $3
                AND device_only = 0";
            if tx.execute(text, &args![key.corp(), key.id(), role])? == 0 {
                return Ok(is_agent(tx, &key)?.then_some(0));
            }
            let why = (EndReason::Kicked, deny_until);
            let ended = end_sessions_of(tx, &key, SessionScope::WithDefaultRole, why, entry.at)?;
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
        self.write_as(by, move |tx| {
            let text = "UPDATE agent SET disabled_at = $3
                WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL AND device_only = 0";
            if tx.execute(text, &args![key.corp(), key.id(), entry.at])? == 0 {
                return Ok(is_agent(tx, &key)?.then_some(0));
            }
            let why = (EndReason::Disabled, deny_until);
            let ended = end_sessions_of(tx, &key, SessionScope::ByPasswordOrDefaultRole, why, entry.at)?;
            browser::forget_all(tx, &key, None)?;
            entry.write(tx)?;
            Ok(Some(ended))
        })
        .await
    }

    /// Enables an agent record again; `false` when there is no such agent.
    pub async fn enable_agent(&self, by: ChangeAuthor, key: EmployeeKey, entry: LogEntry) -> Result<bool, ChangeError> {
        self.write_giving(by, Gift::Account(key.clone()), move |tx| {
            let text = "UPDATE agent SET disabled_at = NULL
                WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NOT NULL AND device_only = 0";
            if tx.execute(text, &args![key.corp(), key.id()])? == 0 {
                return is_agent(tx, &key);
            }
            entry.write(tx)?;
            Ok(true)
        })
        .await
    }

    /// Clears all failed attempts at an agent's credentials, or at the device of an employee who is no agent; returns whether there
    /// were any, `None` when there is neither.
    pub async fn unlock_agent(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        entry: LogEntry,
    ) -> Result<Option<bool>, ChangeError> {
        self.write_as(by, move |tx| {
            let which = match record_kind(tx, &key)? {
                None => return Ok(None),
                Some(RecordKind::Agent) => AttemptsToClear::All,
                Some(RecordKind::DeviceOnly) => AttemptsToClear::Kind(AttemptKind::Otp),
            };
            let forgot = failed_attempts::clear(tx, &key, which)? > 0;
            if forgot {
                entry.write(tx)?;
            }
            Ok(Some(forgot))
        })
        .await
    }
}

/// Whether an employee has an agent record, enabled or not.
fn is_agent(tx: &Tx<'_>, key: &EmployeeKey) -> Result<bool> {
    Ok(record_kind(tx, key)? == Some(RecordKind::Agent))
}

fn agent(row: &Row<'_>) -> Result<Agent> {
    Ok(Agent {
        key: row.employee(0)?,
        device_only: row.int(20)? != 0,
        role: row.role(2)?,
        disabled: !row.is_null(3)?,
        created_at: row.timestamp(4)?,
        password: row.maybe_text(5)?,
        code_needed: row.int(21)? != 0,
        device: Device::read(row, 6)?,
        pending: PendingDevice::read(row, 11, 15)?,
        setup_code_until: row.maybe_timestamp(13)?,
        recovery_codes: usize::try_from(row.int(14)?).unwrap_or(0),
        device_code_until: row.maybe_timestamp(16)?,
    })
}

fn listed(row: &Row<'_>) -> Result<ListedAgent> {
    Ok(ListedAgent {
        agent: agent(row)?,
        employee_id: row.text(17)?,
        name: row.text(18)?,
        employee_disabled: !row.is_null(19)?,
        locked: false,
        shut_until: None,
    })
}

/// A page of agents. Finds where it ends first, and reads the records up to there.
fn page(
    sql: &Sql<'_>,
    which: AgentSelection,
    after: Option<&EmployeeKey>,
    limit: usize,
    now: Timestamp,
) -> Result<AgentPage> {
    let (last, next) = end_of_page(sql, which, after, limit)?;
    let Some(last) = last else { return Ok(AgentPage { agents: Vec::new(), next }) };
    let (corp, id) = after.map_or(("", ""), |key| (key.corp(), key.id()));
    let values = args![corp, id, last.corp(), last.id()];
    let mut agents = sql.rows(&agents_between(which), &values, listed)?;
    let lockouts = lockouts(sql, &lockouts_between(), &values, now)?;
    for listed in &mut agents {
        (listed.locked, listed.shut_until) = lockouts.get(&listed.agent.key).copied().unwrap_or_default();
    }
    Ok(AgentPage { agents, next })
}

/// The last agent of a page, and the record after which the next page continues, if there is one. Devices of employees who are no
/// agents are scanned, too, and there may be many.
fn end_of_page(
    sql: &Sql<'_>,
    which: AgentSelection,
    after: Option<&EmployeeKey>,
    limit: usize,
) -> Result<(Option<EmployeeKey>, Option<EmployeeKey>)> {
    let text = next_agents(which);
    let (mut last, mut found, mut scanned, mut place) = (None, 0, 0, after.cloned());
    loop {
        let (corp, id) = place.as_ref().map_or(("", ""), |key| (key.corp(), key.id()));
        let read = |row: &Row<'_>| Ok((row.employee(0)?, row.int(2)? == 1));
        let records = sql.rows(&text, &args![corp, id], read)?;
        let ended = records.len() < BATCH_SIZE;
        for (key, fits) in records {
            if scanned == MAX_SCANNED_RECORDS || (fits && found == limit) {
                return Ok((last, place));
            }
            scanned += 1;
            if fits {
                found += 1;
                last = Some(key.clone());
            }
            place = Some(key);
        }
        if ended {
            return Ok((last, None));
        }
    }
}

/// Reads one agent.
pub(super) fn one_agent() -> String {
    format!("{COLUMNS} WHERE a.corp_id = $1 AND a.employee_key = $2")
}

/// Reads which of the next records are on a list.
pub(super) fn next_agents(which: AgentSelection) -> String {
    format!(
        "SELECT a.corp_id, a.employee_key, CASE WHEN {} THEN 1 ELSE 0 END FROM agent a
         WHERE (a.corp_id, a.employee_key) > ($1, $2) ORDER BY a.corp_id, a.employee_key LIMIT {BATCH_SIZE}",
        which.condition()
    )
}

/// Reads the agents of a page.
pub(super) fn agents_between(which: AgentSelection) -> String {
    format!(
        "{COLUMNS} WHERE (a.corp_id, a.employee_key) > ($1, $2) AND (a.corp_id, a.employee_key) <= ($3, $4) AND {}
         ORDER BY a.corp_id, a.employee_key",
        which.condition()
    )
}

fn lockouts_where(condition: &str) -> String {
    format!("SELECT recent, in_a_row, last_at, corp_id, employee_key FROM guess WHERE {condition}")
}

/// Reads the failed attempts of the agents of a page.
pub(super) fn lockouts_between() -> String {
    lockouts_where("(corp_id, employee_key) > ($1, $2) AND (corp_id, employee_key) <= ($3, $4)")
}

/// The lockouts of the accounts that a statement finds: whether each is locked for good, and otherwise until when.
fn lockouts(
    sql: &Sql<'_>,
    text: &str,
    values: &[SqlValue<'_>],
    now: Timestamp,
) -> Result<HashMap<EmployeeKey, (bool, Option<Timestamp>)>> {
    let mut found = HashMap::<_, (bool, Option<Timestamp>)>::new();
    for (key, guesses) in sql.rows(text, values, |row| Ok((row.employee(3)?, failed_attempts::read(row)?)))? {
        let (locked, until) = found.entry(key).or_default();
        match guesses.lockout(now) {
            None => {}
            Some(Lockout::For(span)) => *until = (*until).max(Some(now + span)),
            Some(Lockout::UntilUnlocked) => *locked = true,
        }
    }
    Ok(found)
}
