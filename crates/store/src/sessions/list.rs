//! Who is signed in, from where, and since when.

use deskpass_core::{Digest, EmployeeKey, Role, Session, Timestamp};

use super::session;
use crate::cursor::Sorted;
use crate::database::{Row, Sql, Value};
use crate::{BadCursor, Cursor, Store, StoreError};

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
    /// Their department, or empty.
    pub department: String,
    /// From where they signed in, where that was written down.
    pub ip_address: Option<String>,
    /// With what they signed in, where that was written down.
    pub user_agent: Option<String>,
    /// When it was last used, to within some minutes.
    pub seen_at: Option<Timestamp>,
}

/// Which sessions a list is of.
#[derive(Clone, Debug)]
pub struct SessionFilter {
    /// Of people of this corporation.
    pub corp: String,
    /// Of this department.
    pub department: Option<String>,
    /// Of the employee with this identifier, in the spelling that is compared by.
    pub employee: Option<String>,
    /// In which this role is active.
    pub role: Option<Role>,
    /// That have not expired by then.
    pub now: Timestamp,
}

impl SessionFilter {
    /// The place in such a list that a page of it named.
    ///
    /// # Errors
    /// When no page did.
    pub fn cursor(text: &str) -> Result<Cursor, BadCursor> {
        Cursor::parse(text, Sorted::ByBirth)
    }

    fn wants(&self, listed: &ListedSession) -> bool {
        let session = &listed.session;
        session.expires_at > self.now
            && self.role.is_none_or(|role| session.current_role == role)
            && self.department.as_ref().is_none_or(|department| *department == listed.department)
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
const OWN: i64 = 1_000;
/// How many sessions are looked at for one page at most.
const LOOKED_AT: usize = 20_000;
/// How many at a time, where not all of them are wanted.
const AT_ONCE: i64 = 500;

const COLUMNS: &str = "SELECT s.corp_id, s.employee_key, s.role_id, s.login_method, s.login_source, s.created_at,
    s.expires_at, s.proven, s.lent_role_id, s.digest, s.ip_address, s.user_agent, s.seen_at, e.employee_id, e.name,
    e.department FROM session s JOIN employee e ON e.corp_id = s.corp_id AND e.employee_key = s.employee_key";

impl Store {
    /// Somebody's sessions that have not expired, the newest first; at most a thousand.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn own_sessions(&self, key: EmployeeKey, now: Timestamp) -> Result<Vec<ListedSession>, StoreError> {
        let text = format!(
            "{COLUMNS} WHERE s.corp_id = $1 AND s.employee_key = $2 AND s.expires_at > $3
             ORDER BY s.created_at DESC, s.digest DESC LIMIT $4"
        );
        self.database.read(move |sql| sql.rows(&text, &args![key.corp(), key.id(), now, OWN], listed)).await
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
        let mut from = after.map_or(Ok((i64::MAX, String::new())), |cursor| place(&cursor))?;
        let limit = usize::try_from(limit).unwrap_or(0);
        let (mut sessions, mut looked_at) = (Vec::new(), 0);
        while looked_at < LOOKED_AT {
            let walk = Walk::new(&filter, from.clone(), limit);
            let (seen, more) = self.database.read(move |sql| walk.take(sql)).await?;
            looked_at += seen.len();
            for listed in seen {
                let place = (listed.session.created_at.millis(), listed.id.to_text());
                if filter.wants(&listed) {
                    if sessions.len() == limit {
                        return Ok(SessionPage { sessions, next: Some(text_of(from)) });
                    }
                    sessions.push(listed);
                }
                from = place;
            }
            if !more {
                return Ok(SessionPage { sessions, next: None });
            }
        }
        Ok(SessionPage { sessions, next: Some(text_of(from)) })
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
struct Walk {
    text: String,
    corp: String,
    employee: Option<String>,
    from: (i64, String),
    at_once: i64,
}

impl Walk {
    fn new(filter: &SessionFilter, from: (i64, String), limit: usize) -> Self {
        let only = if filter.employee.is_some() { "AND s.employee_key = $5" } else { "" };
        let text = format!(
            "{COLUMNS} WHERE s.corp_id = $1 AND (s.created_at, s.digest) < ($2, $3) {only}
             ORDER BY s.created_at DESC, s.digest DESC LIMIT $4"
        );
        let picky = filter.role.is_some() || filter.department.is_some();
        let wanted = i64::try_from(limit).unwrap_or(AT_ONCE).saturating_add(1);
        let at_once = if picky { wanted.max(AT_ONCE) } else { wanted };
        Self { text, corp: filter.corp.clone(), employee: filter.employee.clone(), from, at_once }
    }

    fn values(&self) -> Vec<Value<'_>> {
        let mut values = args![&*self.corp, self.from.0, &*self.from.1, self.at_once].to_vec();
        values.extend(self.employee.as_deref().map(Value::from));
        values
    }

    /// The next of them, and whether there may be more.
    fn take(&self, sql: &Sql<'_>) -> Result<(Vec<ListedSession>, bool), StoreError> {
        let sessions = sql.rows(&self.text, &self.values(), listed)?;
        let more = i64::try_from(sessions.len()).is_ok_and(|count| count == self.at_once);
        Ok((sessions, more))
    }
}

fn place(cursor: &Cursor) -> Result<(i64, String), StoreError> {
    let (at, digest) = cursor.number(Sorted::ByBirth)?;
    Ok((at, digest.to_owned()))
}

fn text_of((at, digest): (i64, String)) -> String {
    Cursor::new(Sorted::ByBirth, at.to_string(), digest).to_text()
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
        department: row.text(15)?,
    })
}
