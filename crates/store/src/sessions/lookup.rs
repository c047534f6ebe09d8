//! Looking up, switching and ending the session of a request.

use std::sync::{Arc, LazyLock};

use deskpass_core::{
    Digest, EmployeeKey, LoginMethod, LoginSource, Person, PlatformVouching, Role, Session, Timestamp,
};

use crate::cache::{CacheChange, CacheLookup, Gap};
use crate::database::{Row, Sql};
use crate::deny_list::{EndReason, denied, deny};
use crate::directory::{NEXT_COLUMN, PERSON_COLUMNS, ROLES_OF_PERSON, add_roles, listed};
use crate::locks::lock_role;
use crate::oidc::endings::end_with_session;
use crate::{Actor, CachedPerson, ChangeAuthor, ChangeError, LogEntry, Result, SessionWithPerson, Store, StoreError};

/// Result of looking up a digest.
#[derive(Clone, Debug)]
pub enum SessionLookup {
    /// A session; the caller checks whether it has expired.
    Session(SessionWithPerson),
    /// The digest is on the deny list.
    Denied(EndReason),
    /// The digest is unknown.
    NotFound,
}

impl Store {
    /// Looks up the digest of a token. If the store fails, the token must not count as valid.
    ///
    /// The reads are boxed: each of the functions around this one copies its future once, and most find the session in the cache.
    pub async fn session(&self, digest: &Digest) -> Result<SessionLookup> {
        loop {
            match self.cache.look_up(&self.cache.sessions, digest).await {
                CacheLookup::Hit(record) if self.cache.is_current(&record.person) => {
                    return Ok(SessionLookup::Session(record));
                }
                // The person has changed, or was evicted. Removing the entry is always safe, updating it is not: it is
                // read again.
                CacheLookup::Hit(_) => drop(self.cache.sessions.remove(digest)),
                CacheLookup::Miss(gap) if gap.bypasses_cache() => return Box::pin(self.read_session(*digest)).await,
                CacheLookup::Miss(gap) => {
                    if let Some(found) = Box::pin(self.fill(gap, *digest)).await? {
                        return Ok(found);
                    }
                }
            }
        }
    }

    /// Reads the session and its person, bypassing the cache.
    async fn read_session(&self, digest: Digest) -> Result<SessionLookup> {
        Ok(match self.find_session_and_person(digest).await? {
            Ok((session, person)) => {
                SessionLookup::Session(SessionWithPerson::new(session, Arc::new(CachedPerson::new(&person))))
            }
            Err(none) => none,
        })
    }

    async fn find_session_and_person(&self, digest: Digest) -> Result<FoundSession> {
        self.database.read(move |sql| find(sql, digest)).await
    }

    /// Reads a session that is not in the cache, and its person; `None` when the session changed during the read. The
    /// person is as of this read or newer.
    async fn fill(&self, gap: Gap<'_, Digest, SessionWithPerson>, digest: Digest) -> Result<Option<SessionLookup>> {
        let since = self.cache.people_changes.now();
        let (session, person) = match self.find_session_and_person(digest).await? {
            Ok(found) => found,
            Err(none) => return Ok(Some(none)),
        };
        let record = SessionWithPerson::new(session, self.cache.keep_person(&person, since));
        let kept = gap.fill(record.clone());
        Ok(kept.then_some(SessionLookup::Session(record)))
    }

    /// Ends a session, denies its digest and logs it; `false`, with no change, when it had ended already.
    /// If the store fails, the session must not be treated as ended.
    pub async fn end_session(&self, digest: Digest, deny_until: Timestamp, entry: LogEntry) -> Result<bool> {
        let ended = self.database.write(move |tx| {
            if tx.execute("DELETE FROM session WHERE digest = $1", &args![digest])? == 0 {
                return Ok(false);
            }
            deny(tx, digest, EndReason::SignedOut, deny_until)?;
            end_with_session(tx, digest, entry.at)?;
            entry.write(tx)?;
            Ok(true)
        });
        let ended = ended.await?;
        if !ended {
            // Another node has ended it, so the cached entry is stale.
            self.cache.apply(CacheChange::Session(digest));
        }
        Ok(ended)
    }

    /// Switches the active role in the session of `actor`, from whatever role is active there, and logs it; `false`,
    /// with no change, when the employee does not hold the role and it is not the default role.
    pub async fn switch_role(&self, actor: Actor, role: Role, entry: LogEntry) -> Result<bool, ChangeError> {
        let by = ChangeAuthor::Session(Actor { role: None, ..actor.clone() });
        let Actor { session, employee, now, .. } = actor;
        self.write_as(by, move |tx| {
            // The role may have been revoked since the request arrived; from here on it is locked until the commit.
            let condition = if lock_role(tx, &employee, role, now)? { "1 = 1" } else { "lent_role_id = $2" };
            let text = format!("UPDATE session SET role_id = $2 WHERE digest = $1 AND {condition}");
            if tx.execute(&text, &args![session, role])? == 0 {
                return Ok(false);
            }
            tx.record_change(CacheChange::Session(session));
            entry.write(tx)?;
            Ok(true)
        })
        .await
    }
}

/// Finds a session and its person, one row for each role of the person: in one statement, which costs one round trip,
/// and sees both as they are at one moment.
pub(super) static FIND: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {PERSON_COLUMNS}, s.role_id, s.login_method, s.login_source, s.created_at, s.expires_at, s.proven,
         s.lent_role_id FROM session s JOIN employee e ON e.corp_id = s.corp_id AND e.employee_key = s.employee_key
         {ROLES_OF_PERSON} WHERE s.digest = $1
         AND NOT EXISTS (SELECT 1 FROM denied_token t WHERE t.digest = $1)"
    )
});

/// A session and its person, or else the result of looking it up.
type FoundSession = Result<(Session, Person), SessionLookup>;

/// Finds the session of a digest, and its person.
fn find(sql: &Sql<'_>, digest: Digest) -> Result<FoundSession> {
    let rows = sql.rows(&FIND, &args![digest], session_and_person)?;
    let found = rows.into_iter().reduce(|(session, mut person), (_, row)| {
        add_roles(&mut person, row);
        (session, person)
    });
    match found {
        Some(found) => Ok(Ok(found)),
        None => Ok(Err(denied(sql, digest)?.map_or(SessionLookup::NotFound, SessionLookup::Denied))),
    }
}

fn session_and_person(row: &Row<'_>) -> Result<(Session, Person)> {
    let person = listed(row)?.person;
    Ok((session_from(row, person.key.clone(), NEXT_COLUMN)?, person))
}

/// Reads a session from the first nine columns of a row.
pub(super) fn session(row: &Row<'_>) -> Result<Session> {
    session_from(row, row.employee(0)?, 2)
}

/// Reads a session of an employee from seven columns of a row, beginning with this one.
fn session_from(row: &Row<'_>, employee: EmployeeKey, first: usize) -> Result<Session> {
    let damaged = || StoreError::damaged("unreadable session");
    Ok(Session {
        employee,
        current_role: row.role(first)?,
        method: LoginMethod::from_name(&row.text(first + 1)?).ok_or_else(damaged)?,
        source: LoginSource::from_name(&row.text(first + 2)?).ok_or_else(damaged)?,
        created_at: row.timestamp(first + 3)?,
        expires_at: row.timestamp(first + 4)?,
        vouched: PlatformVouching::from_number(row.int(first + 5)?),
        default_role: row.maybe_role(first + 6)?,
    })
}
