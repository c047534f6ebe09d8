//! Lists of sessions: users, clients and times.

use std::collections::HashMap;

use deskpass_core::{Digest, EmployeeKey, Role, Session, Timestamp};

use super::lookup::session;
use crate::cursor::CursorOrder;
use crate::database::{Row, Sql, SqlValue};
use crate::{Cursor, InvalidCursor, Result, Store};

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSession {
    /// Identifier of the session. It grants no access.
    pub id: Digest,
    /// The session.
    pub session: Session,
    /// The employee identifier in the corporation's spelling.
    pub employee_id: String,
    /// The employee's name.
    pub name: String,
    /// The id of the employee's department, or empty.
    pub department_id: String,
    /// The address of the sign-in, if it was recorded.
    pub ip_address: Option<String>,
    /// The `User-Agent` of the sign-in, if it was recorded.
    pub user_agent: Option<String>,
    /// The last use, to within some minutes.
    pub seen_at: Option<Timestamp>,
}

impl ListedSession {
    fn place(&self) -> Cursor {
        Cursor::new(CursorOrder::CreatedAt, self.session.created_at.millis().to_string(), self.id.to_text())
    }
}

/// Which sessions a list contains.
#[derive(Clone, Debug)]
pub struct SessionFilter {
    /// Sessions of employees of this corporation.
    pub corp: String,
    /// Of the department with this id.
    pub department_id: Option<String>,
    /// Of the employee with this canonical identifier.
    pub employee: Option<String>,
    /// In which this role is active.
    pub role: Option<Role>,
    /// That have not expired by this time.
    pub now: Timestamp,
}

impl SessionFilter {
    /// Parses a cursor that a page of this list returned.
    pub fn cursor(&self, text: &str) -> Result<Cursor, InvalidCursor> {
        Cursor::parse(text, CursorOrder::CreatedAt)
    }

    fn wants(&self, listed: &ListedSession) -> bool {
        let session = &listed.session;
        session.expires_at > self.now
            && self.role.is_none_or(|role| session.current_role == role)
            && self.department_id.as_ref().is_none_or(|id| *id == listed.department_id)
    }
}

/// A page of a list of sessions.
#[derive(Clone, Debug)]
pub struct SessionPage {
    /// The sessions, the newest first.
    pub sessions: Vec<ListedSession>,
    /// Cursor of the next page. It may be present with few sessions or none, since the scan for a page is limited.
    pub next: Option<String>,
}

const MAX_OWN_SESSIONS: i64 = 1_000;
const MAX_SCANNED_SESSIONS: usize = 20_000;
/// The number of sessions read at once: the first of these that is more than a page, and at least the second if the list is
/// filtered. It is a literal in the statement, since a database that plans for an unknown number would sort everything.
const BATCH_SIZES: [usize; 3] = [64, 512, 1_024];

const COLUMNS: &str = "SELECT s.corp_id, s.employee_key, s.role_id, s.login_method, s.login_source, s.created_at,
    s.expires_at, s.proven, s.lent_role_id, s.digest, s.ip_address, s.user_agent, s.seen_at, e.employee_id, e.name,
    e.department_id FROM session s";

const WITH_EMPLOYEE: &str = "JOIN employee e ON e.corp_id = s.corp_id AND e.employee_key = s.employee_key";

const OF_CORPORATION: &str = "WHERE s.corp_id = $1 AND (s.created_at, s.digest) < ($2, $3)
    ORDER BY s.created_at DESC, s.digest DESC";

const OF_EMPLOYEE: &str = "WHERE s.corp_id = $1 AND s.employee_key = $4 AND (s.created_at, s.digest) < ($2, $3)
    ORDER BY s.created_at DESC, s.digest DESC";

impl Store {
    /// An employee's sessions that have not expired, the newest first; at most a thousand.
    pub async fn own_sessions(&self, key: EmployeeKey, now: Timestamp) -> Result<Vec<ListedSession>> {
        let (corp, employee) = (key.corp().to_owned(), Some(key.id().to_owned()));
        let own = SessionFilter { corp, department_id: None, employee, role: None, now };
        Ok(self.sessions(own, None, MAX_OWN_SESSIONS).await?.sessions)
    }

    /// A page of the sessions of a corporation, the newest first, starting after `after`.
    pub async fn sessions(&self, filter: SessionFilter, after: Option<Cursor>, limit: i64) -> Result<SessionPage> {
        let limit = usize::try_from(limit).unwrap_or(0);
        let (mut sessions, mut looked_at, mut from) = (Vec::new(), 0, after);
        while looked_at < MAX_SCANNED_SESSIONS {
            let walk = SessionWalk::from(&filter, from.as_ref(), limit)?;
            let (seen, more) = self.database.read(move |sql| walk.take(sql)).await?;
            looked_at += seen.len();
            for listed in seen {
                let place = listed.place();
                if filter.wants(&listed) {
                    if sessions.len() == limit {
                        return Ok(SessionPage { sessions, next: from.map(|from| from.to_text()) });
                    }
                    sessions.push(listed);
                }
                from = Some(place);
            }
            if !more {
                return Ok(SessionPage { sessions, next: None });
            }
        }
        Ok(SessionPage { sessions, next: from.map(|from| from.to_text()) })
    }

    /// The session with this identifier; the caller checks whether it has expired.
    pub async fn find_session(&self, id: Digest) -> Result<Option<ListedSession>> {
        let text = format!("{COLUMNS} {WITH_EMPLOYEE} WHERE s.digest = $1");
        self.database.read(move |sql| sql.first(&text, &args![id], listed)).await
    }
}

/// The sessions with these identifiers, by identifier; those that do not exist are left out.
pub(super) fn find_sessions(sql: &Sql<'_>, ids: &[Digest]) -> Result<HashMap<Digest, ListedSession>> {
    let mut found = HashMap::with_capacity(ids.len());
    let [few, ..] = BATCH_SIZES;
    for some in ids.chunks(few) {
        // The last identifier is repeated, so that there is one statement to plan.
        let values: Vec<SqlValue<'_>> =
            some.iter().chain(some.last().into_iter().cycle()).take(few).map(|id| SqlValue::from(*id)).collect();
        let placeholders: Vec<_> = (1..=few).map(|number| format!("${number}")).collect();
        let text = format!("{COLUMNS} {WITH_EMPLOYEE} WHERE s.digest IN ({})", placeholders.join(", "));
        found.extend(sql.rows(&text, &values, listed)?.into_iter().map(|listed| (listed.id, listed)));
    }
    Ok(found)
}

/// Walks the sessions of a corporation, or of one employee.
pub(crate) struct SessionWalk {
    corp: String,
    employee: Option<String>,
    from: (i64, String),
    step: usize,
}

impl SessionWalk {
    /// Starts after a cursor, for a page of `limit`.
    pub(crate) fn from(filter: &SessionFilter, from: Option<&Cursor>, limit: usize) -> Result<Self, InvalidCursor> {
        let (at, digest) = from.map_or(Ok((i64::MAX, "")), |cursor| cursor.number(CursorOrder::CreatedAt))?;
        let filtered = filter.role.is_some() || filter.department_id.is_some();
        let [_, several, largest] = BATCH_SIZES;
        let step = BATCH_SIZES.into_iter().find(|step| *step > limit).unwrap_or(largest);
        let step = if filtered { step.max(several) } else { step };
        let (corp, employee) = (filter.corp.clone(), filter.employee.clone());
        Ok(Self { corp, employee, from: (at, digest.to_owned()), step })
    }

    /// The statement. Without the hint, SQLite would rather filter all sessions than sort a few.
    pub(crate) fn text(&self, sql: &Sql<'_>) -> String {
        let (index, walk) = match self.employee {
            Some(_) => ("session_of_employee", OF_EMPLOYEE),
            None => ("session_by_birth", OF_CORPORATION),
        };
        let hint = sql.index_hint(index);
        format!("{COLUMNS} {hint} {WITH_EMPLOYEE} {walk} LIMIT {}", self.step)
    }

    pub(crate) fn values(&self) -> Vec<SqlValue<'_>> {
        let mut values = args![&*self.corp, self.from.0, &*self.from.1].to_vec();
        values.extend(self.employee.as_deref().map(SqlValue::from));
        values
    }

    /// Reads the next sessions; returns them, and whether there may be more.
    fn take(&self, sql: &Sql<'_>) -> Result<(Vec<ListedSession>, bool)> {
        let sessions = sql.rows(&self.text(sql), &self.values(), listed)?;
        let more = sessions.len() == self.step;
        Ok((sessions, more))
    }
}

fn listed(row: &Row<'_>) -> Result<ListedSession> {
    Ok(ListedSession {
        session: session(row)?,
        id: row.digest(9)?,
        ip_address: row.maybe_text(10)?,
        user_agent: row.maybe_text(11)?,
        seen_at: row.maybe_timestamp(12)?,
        employee_id: row.text(13)?,
        name: row.text(14)?,
        department_id: row.text(15)?,
    })
}
