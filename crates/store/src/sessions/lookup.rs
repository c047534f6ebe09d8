//! Looking up, switching and ending the session of a request.

use std::sync::Arc;

use deskpass_core::{Digest, Role, Session, Timestamp};

use super::row::session;
use crate::cache::{CacheChange, CacheLookup, Epoch, Gap};
use crate::database::Sql;
use crate::deny_list::{EndReason, denied, deny};
use crate::directory::find as find_person;
use crate::locks::lock_role;
use crate::{Actor, CachedPerson, ChangeAuthor, ChangeError, LogEntry, SessionWithPerson, Store, StoreError};

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

/// The rows of a digest.
enum SessionRow {
    Session(Session),
    Denied(EndReason),
    None,
}

impl Store {
    /// Looks up the digest of a token.
    ///
    /// # Errors
    /// When the store fails; then the token must not count as valid.
    pub async fn session(&self, digest: &Digest) -> Result<SessionLookup, StoreError> {
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
    async fn read_session(&self, digest: Digest) -> Result<SessionLookup, StoreError> {
        let epoch = self.cache.epoch();
        let read = move |sql: &Sql<'_>| match find(sql, digest)? {
            SessionRow::Session(session) => Ok((find_person(sql, &session.employee)?, SessionRow::Session(session))),
            other => Ok((None, other)),
        };
        Ok(match self.database.read(read).await? {
            (Some(person), SessionRow::Session(session)) => {
                let person = Arc::new(CachedPerson::new(person.person));
                SessionLookup::Session(Arc::new(SessionWithPerson::new(session, person, epoch)))
            }
            (_, SessionRow::Denied(ended)) => SessionLookup::Denied(ended),
            (_, SessionRow::Session(_) | SessionRow::None) => SessionLookup::NotFound,
        })
    }

    /// Whether the person of a cached session has not changed up to `epoch`.
    async fn is_person_unchanged(&self, record: &SessionWithPerson, epoch: Epoch) -> Result<bool, StoreError> {
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
    ) -> Result<Option<SessionLookup>, StoreError> {
        let session = match self.database.read(move |sql| find(sql, digest)).await? {
            SessionRow::Session(session) => session,
            SessionRow::Denied(ended) => return Ok(Some(SessionLookup::Denied(ended))),
            SessionRow::None => return Ok(Some(SessionLookup::NotFound)),
        };
        let Some(person) = self.person(&session.employee).await? else { return Ok(Some(SessionLookup::NotFound)) };
        let record = Arc::new(SessionWithPerson::new(session, person, epoch));
        Ok(gap.fill(&record).then_some(SessionLookup::Session(record)))
    }

    /// Ends a session, denies its digest and logs it; `false`, with no change, when it had ended already.
    ///
    /// # Errors
    /// When the store fails; then the session must not be treated as ended.
    pub async fn end_session(
        &self,
        digest: Digest,
        deny_until: Timestamp,
        entry: LogEntry,
    ) -> Result<bool, StoreError> {
        let ended = self.database.write(move |tx| {
            if tx.execute("DELETE FROM session WHERE digest = $1", &args![digest])? == 0 {
                return Ok(false);
            }
            deny(tx, digest, EndReason::SignedOut, deny_until)?;
            entry.write(tx)?;
            Ok(true)
        });
        self.forget_if_gone(ended.await, digest)
    }

    /// Switches the active role in the session of `actor`, from whatever role is active there, and logs it; `false`, with
    /// no change, when the employee does not hold the role and it is not the default role.
    ///
    /// # Errors
    /// When the session has ended, or the store fails.
    pub async fn switch_role(&self, actor: Actor, role: Role, entry: LogEntry) -> Result<bool, ChangeError> {
        let by = ChangeAuthor::Session(Actor { role: None, ..actor.clone() });
        let Actor { session, employee, .. } = actor;
        self.authorized(by)
            .write(move |tx| {
                // The role may have been revoked since the request arrived; from here on it is locked until the commit.
                let condition = if lock_role(tx, &employee, role)? { "1 = 1" } else { "lent_role_id = $2" };
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

    /// If the session was missing, another node has ended it, so the cached entry is removed.
    fn forget_if_gone(&self, done: Result<bool, StoreError>, digest: Digest) -> Result<bool, StoreError> {
        if let Ok(false) = done {
            self.cache.apply(CacheChange::Session(digest));
        }
        done
    }
}

fn find(sql: &Sql<'_>, digest: Digest) -> Result<SessionRow, StoreError> {
    let text = "SELECT corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at, proven,
        lent_role_id FROM session WHERE digest = $1
        AND NOT EXISTS (SELECT 1 FROM denied_token WHERE digest = $1)";
    if let Some(session) = sql.first(text, &args![digest], session)? {
        return Ok(SessionRow::Session(session));
    }
    Ok(denied(sql, digest)?.map_or(SessionRow::None, SessionRow::Denied))
}
