//! Sessions as requests find, switch and end them.

use std::sync::Arc;

use deskpass_core::{Digest, Role, Session, Timestamp};
use tokio::time::timeout;

use super::row::session;
use crate::cache::{CACHE_FILL_TIMEOUT, CacheChange, Epoch};
use crate::database::Sql;
use crate::deny_list::{EndReason, denied, deny};
use crate::directory::find as find_person;
use crate::locks::lock_role;
use crate::{Actor, CachedPerson, ChangeAuthor, ChangeError, LogEntry, SessionWithPerson, Store, StoreError};

/// What the store knows of a digest.
#[derive(Clone, Debug)]
pub enum SessionLookup {
    /// A session; whether it has expired is for the caller to tell.
    Session(Arc<SessionWithPerson>),
    /// On the deny list.
    Denied(EndReason),
    /// Nothing.
    NotFound,
}

/// What the tables say of a digest.
enum SessionRow {
    Session(Session),
    Denied(EndReason),
    None,
}

impl Store {
    /// What stands behind a digest.
    ///
    /// # Errors
    /// When the store fails; then the token must not count as valid.
    pub async fn session(&self, digest: &Digest) -> Result<SessionLookup, StoreError> {
        loop {
            if !self.cache.is_trusted() {
                return self.look_up(*digest).await;
            }
            let epoch = self.cache.epoch();
            if let Some(standing) = self.cache.sessions.get(digest) {
                if standing.is_current_in(epoch) || self.is_person_unchanged(&standing, epoch).await? {
                    return Ok(SessionLookup::Session(standing));
                }
                // The person has changed. Forgetting is always safe, putting back is not: read anew.
                drop(self.cache.sessions.remove(digest));
            }
            if let Some(found) = self.fill(digest, epoch).await? {
                return Ok(found);
            }
        }
    }

    /// What the database says, past the cache.
    async fn look_up(&self, digest: Digest) -> Result<SessionLookup, StoreError> {
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
    async fn is_person_unchanged(&self, standing: &SessionWithPerson, epoch: Epoch) -> Result<bool, StoreError> {
        let person = self.person(&standing.session.employee).await?;
        let same = person.is_some_and(|person| Arc::ptr_eq(&person, &standing.person));
        if same {
            standing.mark_current_in(epoch);
        }
        Ok(same)
    }

    /// Reads a session that is not in the cache; `None` when it is worth another look.
    async fn fill(&self, digest: &Digest, epoch: Epoch) -> Result<Option<SessionLookup>, StoreError> {
        // Somebody else may be reading it: then their answer will do, once it is compared. Whoever would have to wait long
        // for them goes past the cache, so that one reading that hangs is not followed by the next.
        let gap = match timeout(CACHE_FILL_TIMEOUT, self.cache.sessions.get_value_or_guard_async(digest)).await {
            Ok(Ok(_)) => return Ok(None),
            Ok(Err(gap)) => gap,
            Err(_) => return self.look_up(*digest).await.map(Some),
        };
        let wanted = *digest;
        let session = match self.database.read(move |sql| find(sql, wanted)).await? {
            SessionRow::Session(session) => session,
            SessionRow::Denied(ended) => return Ok(Some(SessionLookup::Denied(ended))),
            SessionRow::None => return Ok(Some(SessionLookup::NotFound)),
        };
        let Some(person) = self.person(&session.employee).await? else { return Ok(Some(SessionLookup::NotFound)) };
        let standing = Arc::new(SessionWithPerson::new(session, person, epoch));
        // Refused when the session changed or ended while we read; session and person might then be of two different
        // moments.
        let kept = gap.insert(Arc::clone(&standing)).is_ok();
        Ok(kept.then_some(SessionLookup::Session(standing)))
    }

    /// Ends a session, denies its digest and logs it; `false`, and nothing happened, when it had ended already.
    ///
    /// # Errors
    /// When the store fails; then the session may not be taken for ended.
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

    /// Makes another role the active one in the session of `actor`, whatever role they have there, and logs it; `false`, and
    /// nothing happened, when their employee does not hold it and it is not lent to them.
    ///
    /// # Errors
    /// When the session has ended, or the store fails.
    pub async fn switch_role(&self, actor: Actor, role: Role, entry: LogEntry) -> Result<bool, ChangeError> {
        let by = ChangeAuthor::Session(Actor { role: None, ..actor.clone() });
        let Actor { session, employee, .. } = actor;
        self.authorized(by)
            .write(move |tx| {
                // It may have been taken away since the request arrived; from here on it is not until this is done.
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

    /// Where a session was not there any more, another node has ended it: what this one remembers is over.
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
