//! Sessions: born, found, changed and ended, each in one transaction.

mod begin;
mod ending;
mod last_use;
mod list;
mod lockout_preview;
mod network;

use std::sync::Arc;

use deskpass_core::{Digest, EmployeeKey, LoginMethod, LoginSource, PlatformVouching, Role, Session, Timestamp};

use tokio::time::timeout;

use crate::cache::{CACHE_FILL_TIMEOUT, CacheChange, Epoch};
use crate::database::{Row, Sql, Tx};
use crate::deny_list::{EndReason, denied, deny};
use crate::locks::{lock_employee, lock_role};
use crate::{
    Actor, CachedPerson, ChangeAuthor, ChangeError, LogEntry, SessionWithPerson, Store, StoreError, directory,
};

pub use begin::{BeginOutcome, NewSession, Precondition};
pub use ending::SessionSelection;
pub(crate) use ending::end_one;
pub(crate) use last_use::LastUseBuffer;
pub(crate) use list::SessionWalk;
pub use list::{ListedSession, SessionFilter, SessionPage};
pub use network::SignInNetwork;
pub(crate) use network::sweep as sweep_networks;

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
            SessionRow::Session(session) => {
                Ok((directory::find(sql, &session.employee)?, SessionRow::Session(session)))
            }
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

/// Which sessions of an employee.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SessionScope {
    All,
    AllBut(Digest),
    ByPassword,
    /// Those in which a role is lent.
    WithDefaultRole,
    ByPasswordOrDefaultRole,
}

impl SessionScope {
    const fn condition(self) -> &'static str {
        match self {
            Self::All | Self::AllBut(_) => "1 = 1",
            Self::ByPassword => "login_method = 'password'",
            Self::WithDefaultRole => "lent_role_id IS NOT NULL",
            Self::ByPasswordOrDefaultRole => "(login_method = 'password' OR lent_role_id IS NOT NULL)",
        }
    }

    /// The digest that is left out; no digest is empty.
    fn but(self) -> String {
        if let Self::AllBut(digest) = self { digest.to_text() } else { String::new() }
    }
}

/// Ends some sessions of an employee; returns how many.
pub(crate) fn end_all(
    tx: &mut Tx<'_>,
    key: &EmployeeKey,
    which: SessionScope,
    why: EndReason,
    deny_until: Timestamp,
) -> Result<usize, StoreError> {
    end_matching(tx, key, which, why, deny_until).map(|ended| ended.len())
}

/// The same; returns when each of them would have expired.
fn end_matching(
    tx: &mut Tx<'_>,
    key: &EmployeeKey,
    which: SessionScope,
    why: EndReason,
    deny_until: Timestamp,
) -> Result<Vec<Timestamp>, StoreError> {
    // Of two who end the sessions of one employee, or end some while one begins, the second waits here, and for no row of both.
    lock_employee(tx, key)?;
    let (condition, but) = (which.condition(), which.but());
    let those = format!("FROM session WHERE corp_id = $1 AND employee_key = $2 AND digest <> $3 AND {condition}");
    // All at once: somebody may have thousands.
    let text = format!(
        "INSERT INTO denied_token (digest, reason, until) SELECT digest, $4, $5 {those} ON CONFLICT DO NOTHING"
    );
    tx.execute(&text, &args![key.corp(), key.id(), &*but, why.name(), deny_until])?;
    let text = format!("DELETE {those} RETURNING digest, expires_at");
    let values = args![key.corp(), key.id(), &*but];
    let ended = tx.rows(&text, &values, |row| Ok((row.digest(0)?, row.timestamp(1)?)))?;
    for (digest, _) in &ended {
        tx.record_change(CacheChange::Session(*digest));
    }
    Ok(ended.into_iter().map(|(_, expires_at)| expires_at).collect())
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

fn session(row: &Row<'_>) -> Result<Session, StoreError> {
    let damaged = || StoreError::damaged("unreadable session");
    Ok(Session {
        employee: EmployeeKey::from_parts(&row.text(0)?, &row.text(1)?),
        current_role: row.role(2)?,
        method: LoginMethod::from_name(&row.text(3)?).ok_or_else(damaged)?,
        source: LoginSource::from_name(&row.text(4)?).ok_or_else(damaged)?,
        created_at: row.timestamp(5)?,
        expires_at: row.timestamp(6)?,
        vouched: PlatformVouching::from_number(row.int(7)?),
        default_role: if row.is_null(8)? { None } else { Some(row.role(8)?) },
    })
}
