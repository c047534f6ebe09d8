//! Looking up, switching and ending the session of a request.

use std::sync::Arc;

use deskpass_core::{Digest, LoginMethod, LoginSource, PlatformVouching, Role, Session, Timestamp};

use crate::cache::{CacheChange, CacheLookup, Epoch, Gap};
use crate::database::{Row, Sql};
use crate::deny_list::{EndReason, denied, deny};
use crate::directory::find as find_person;
use crate::locks::lock_role;
use crate::oidc::endings::end_with_session;
use crate::{Actor, CachedPerson, ChangeAuthor, ChangeError, LogEntry, Result, SessionWithPerson, Store, StoreError};

/// Result of looking up a digest.
#[derive(Clone, Debug)]
pub enum SessionLookup {
    /// A session; the caller checks whether it has expired.
    Session(Arc<SessionWithPerson>),
    /// The digest is on the deny list.
    Denied(EndReason),
    /// The digest is unknown.
    NotFound,
}

impl Store {
    /// Looks up the digest of a token. If the store fails, the token must not count as valid.
    pub async fn session(&self, digest: &Digest) -> Result<SessionLookup> {
        loop {
            let epoch = self.cache.epoch();
            match self.cache.look_up(&self.cache.sessions, digest).await {
                CacheLookup::Hit(record) => {
                    // The lookup may have waited, and the person may have changed meanwhile.
                    let epoch = self.cache.epoch();
                    if record.is_current_in(epoch) || self.is_person_unchanged(&record, epoch).await? {
                        return Ok(SessionLookup::Session(record));
                    }
                    // The person has changed. Removing the entry is always safe, updating it is not: it is read again.
                    drop(self.cache.sessions.remove(digest));
                }
                CacheLookup::Miss(gap) if gap.bypasses_cache() => return self.read_session(*digest).await,
                CacheLookup::Miss(gap) => {
                    if let Some(found) = self.fill(gap, *digest, epoch).await? {
                        return Ok(found);
                    }
                }
            }
        }
    }

    /// Reads the session and its person at one moment, bypassing the cache.
    async fn read_session(&self, digest: Digest) -> Result<SessionLookup> {
        let epoch = self.cache.epoch();
        let read = move |sql: &Sql<'_>| match find(sql, digest)? {
            Ok(session) => {
                let person = find_person(sql, &session.employee)?;
                Ok(person.map(|person| (session, person.person)).ok_or(SessionLookup::NotFound))
            }
            Err(none) => Ok(Err(none)),
        };
        Ok(match self.database.read(read).await? {
            Ok((session, person)) => {
                let person = Arc::new(CachedPerson::new(person));
                SessionLookup::Session(Arc::new(SessionWithPerson::new(session, person, epoch)))
            }
            Err(none) => none,
        })
    }

    /// Whether the person of a cached session has not changed up to `epoch`.
    async fn is_person_unchanged(&self, record: &SessionWithPerson, epoch: Epoch) -> Result<bool> {
        let person = self.person(&record.session.employee).await?;
        let same = person.is_some_and(|person| Arc::ptr_eq(&person, &record.person));
        if same {
            record.mark_current_in(epoch);
        }
        Ok(same)
    }

    /// Reads a session that is not in the cache; `None` when it changed during the read. Session and person might then be
    /// from different times, so the caller looks it up again.
    async fn fill(
        &self,
        gap: Gap<'_, Digest, SessionWithPerson>,
        digest: Digest,
        epoch: Epoch,
    ) -> Result<Option<SessionLookup>> {
        let session = match self.database.read(move |sql| find(sql, digest)).await? {
            Ok(session) => session,
            Err(none) => return Ok(Some(none)),
        };
        let Some(person) = self.person(&session.employee).await? else { return Ok(Some(SessionLookup::NotFound)) };
        let record = Arc::new(SessionWithPerson::new(session, person, epoch));
        Ok(gap.fill(&record).then_some(SessionLookup::Session(record)))
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

    /// Switches the active role in the session of `actor`, from whatever role is active there, and logs it; `false`, with
    /// no change, when the employee does not hold the role and it is not the default role.
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

/// The session of a digest, or else the result of looking it up.
fn find(sql: &Sql<'_>, digest: Digest) -> Result<Result<Session, SessionLookup>> {
    let text = "SELECT corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at, proven,
        lent_role_id FROM session WHERE digest = $1
        AND NOT EXISTS (SELECT 1 FROM denied_token WHERE digest = $1)";
    if let Some(session) = sql.first(text, &args![digest], session)? {
        return Ok(Ok(session));
    }
    Ok(Err(denied(sql, digest)?.map_or(SessionLookup::NotFound, SessionLookup::Denied)))
}

/// Reads a session from the first nine columns of a row.
pub(super) fn session(row: &Row<'_>) -> Result<Session> {
    let damaged = || StoreError::damaged("unreadable session");
    Ok(Session {
        employee: row.employee(0)?,
        current_role: row.role(2)?,
        method: LoginMethod::from_name(&row.text(3)?).ok_or_else(damaged)?,
        source: LoginSource::from_name(&row.text(4)?).ok_or_else(damaged)?,
        created_at: row.timestamp(5)?,
        expires_at: row.timestamp(6)?,
        vouched: PlatformVouching::from_number(row.int(7)?),
        default_role: row.maybe_role(8)?,
    })
}
