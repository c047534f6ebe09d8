//! Who is signed in, from where, and since when.

use deskpass_core::{Digest, EmployeeKey, Role, Session, Timestamp};

use super::row::session;
use crate::cursor::CursorOrder;
use crate::database::{Row, Sql, Value};
use crate::{Cursor, InvalidCursor, Store, StoreError};

/// A session as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSession {
    /// Names it, and opens nothing.
    pub id: Digest,
    /// The session.
    pub session: Session,
    /// The identifier of whose it is, as the corporation writes it.
    pub employee_id: String,
    /// Their name.
    pub name: String,
    /// The id of their department, or empty.
    pub department_id: String,
    /// From where they signed in, where that was written down.
    pub ip_address: Option<String>,
    /// With what they signed in, where that was written down.
    pub user_agent: Option<String>,
    /// When it was last used, to within some minutes.
    pub seen_at: Option<Timestamp>,
}

impl ListedSession {
    /// The place in a list right after it.
    fn place(&self) -> Cursor {
        Cursor::new(CursorOrder::CreatedAt, self.session.created_at.millis().to_string(), self.id.to_text())
    }
}

/// Which sessions a list is of.
#[derive(Clone, Debug)]
pub struct SessionFilter {
    /// Of people of this corporation.
    pub corp: String,
    /// Of the department with this id.
    pub department_id: Option<String>,
    /// Of the employee with this identifier, in the spelling that is compared by.
    pub employee: Option<String>,
    /// In which this role is active.
    pub role: Option<Role>,
    /// That have not expired by then.
    pub now: Timestamp,
}

impl SessionFilter {
    /// The place in this list that a page of it named.
    ///
    /// # Errors
    /// When no page did.
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

/// Some of a list of sessions.
#[derive(Clone, Debug)]
pub struct SessionPage {
    /// The sessions, the newest first.
    pub sessions: Vec<ListedSession>,
    /// Where to go on. There may be few sessions or none and yet more to come: a page is not looked for without end.
    pub next: Option<String>,
}

/// The most sessions of one person that a list of their own shows.
const MAX_OWN_SESSIONS: i64 = 1_000;
/// How many sessions are looked at for one page at most.
const MAX_SCANNED_SESSIONS: usize = 20_000;
/// How many at a time: the first of these that is more than a page, or the second where not all of them are wanted. Written
/// into the statement, since a database that plans for any number would rather sort everything.
const BATCH_SIZES: [usize; 3] = [64, 512, 1_024];

const COLUMNS: &str = "SELECT s.corp_id, s.employee_key, s.role_id, s.login_method, s.login_source, s.created_at,
    s.expires_at, s.proven, s.lent_role_id, s.digest, s.ip_address, s.user_agent, s.seen_at, e.employee_id, e.name,
    e.department_id FROM session s JOIN employee e ON e.corp_id = s.corp_id AND e.employee_key = s.employee_key";

const OF_CORPORATION: &str = "WHERE s.corp_id = $1 AND (s.created_at, s.digest) < ($2, $3)
    ORDER BY s.created_at DESC, s.digest DESC";

/// All columns of the index are compared and ordered by: then no other one will do.
const OF_EMPLOYEE: &str = "WHERE (s.corp_id, s.employee_key, s.created_at) <= ($1, $4, $2)
    AND (s.corp_id, s.employee_key) >= ($1, $4) AND (s.created_at < $2 OR s.digest < $3)
    ORDER BY s.corp_id DESC, s.employee_key DESC, s.created_at DESC, s.digest DESC";

impl Store {
    /// Somebody's sessions that have not expired, the newest first; at most a thousand.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn own_sessions(&self, key: EmployeeKey, now: Timestamp) -> Result<Vec<ListedSession>, StoreError> {
        let (corp, employee) = (key.corp().to_owned(), Some(key.id().to_owned()));
        let own = SessionFilter { corp, department_id: None, employee, role: None, now };
        Ok(self.sessions(own, None, MAX_OWN_SESSIONS).await?.sessions)
    }

    /// A page of the sessions of a corporation, the newest first, from `after` on.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn sessions(
        &self,
        filter: SessionFilter,
        after: Option<Cursor>,
        limit: i64,
    ) -> Result<SessionPage, StoreError> {
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

    /// The session with this identifier; whether it has expired is for the caller to tell.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find_session(&self, id: Digest) -> Result<Option<ListedSession>, StoreError> {
        let text = format!("{COLUMNS} WHERE s.digest = $1");
        self.database.read(move |sql| sql.first(&text, &args![id], listed)).await
    }
}

/// The sessions of a corporation, or of one person, one after the other.
pub(crate) struct SessionWalk {
    text: String,
    corp: String,
    employee: Option<String>,
    from: (i64, String),
    step: usize,
}

impl SessionWalk {
    /// Those that come after a place, for a page of `limit`.
    pub(crate) fn from(filter: &SessionFilter, from: Option<&Cursor>, limit: usize) -> Result<Self, InvalidCursor> {
        let (at, digest) = from.map_or(Ok((i64::MAX, "")), |cursor| cursor.number(CursorOrder::CreatedAt))?;
        let walk = if filter.employee.is_some() { OF_EMPLOYEE } else { OF_CORPORATION };
        let picky = filter.role.is_some() || filter.department_id.is_some();
        let [_, several, most] = BATCH_SIZES;
        let step = BATCH_SIZES.into_iter().find(|step| *step > limit).unwrap_or(most);
        let step = if picky { step.max(several) } else { step };
        let text = format!("{COLUMNS} {walk} LIMIT {step}");
        let (corp, employee) = (filter.corp.clone(), filter.employee.clone());
        Ok(Self { text, corp, employee, from: (at, digest.to_owned()), step })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn values(&self) -> Vec<Value<'_>> {
        let mut values = args![&*self.corp, self.from.0, &*self.from.1].to_vec();
        values.extend(self.employee.as_deref().map(Value::from));
        values
    }

    /// The next of them, and whether there may be more.
    fn take(&self, sql: &Sql<'_>) -> Result<(Vec<ListedSession>, bool), StoreError> {
        let sessions = sql.rows(&self.text, &self.values(), listed)?;
        let more = sessions.len() == self.step;
        Ok((sessions, more))
    }
}

fn listed(row: &Row<'_>) -> Result<ListedSession, StoreError> {
    Ok(ListedSession {
        session: session(row)?,
        id: row.digest(9)?,
        ip_address: row.maybe_text(10)?,
        user_agent: row.maybe_text(11)?,
        seen_at: row.maybe_int(12)?.map(Timestamp::from_millis),
        employee_id: row.text(13)?,
        name: row.text(14)?,
        department_id: row.text(15)?,
    })
}
