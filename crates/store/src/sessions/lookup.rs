//! Looking up, switching and ending the session of a request.

use std::iter::repeat;
use std::sync::{Arc, LazyLock};

use deskpass_core::{
    Digest, EmployeeKey, LoginMethod, LoginSource, Person, PlatformVouching, Role, Session, Timestamp,
};

use crate::batches::{Batch, BatchLimits, Batches};
use crate::cache::{CacheChange, CacheLookup, Gap};
use crate::database::{Row, Sql, SqlValue};
use crate::deny_list::{EndReason, denied_each, deny};
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
        let database = Arc::clone(&self.database);
        let read = move |batch: Arc<Batch<Digest, FoundSession>>| {
            let database = Arc::clone(&database);
            async move { database.read(move |sql| find_each(sql, &batch.requests())).await }
        };
        self.session_reads.run(digest, self.database.read_timeout(), read).await
    }

    /// Reads a session that is not in the cache, and its person; `None` when the session changed during the read. The
    /// person may be from the cache, and so from another time than the session, so the caller looks it up again.
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
pub(super) static FIND: LazyLock<String> = LazyLock::new(|| find("$1"));

/// The same for lists of digests, of which some may be NULL. PostgreSQL starts a transaction and sets the plan up once, instead of for
/// each digest: that is more than half of the cost. `OFFSET 0` keeps the plan of a single digest: a join with all of the list could
/// read whole tables. Where few sessions are looked up, the short list has fewer places without a digest. With lists of 32 and two uses at
/// once, 64 clients had 15 % more sessions looked up per second than with lists of 8 and four uses (measured on two cores).
pub(super) static FIND_LISTS: LazyLock<[FindList; 2]> = LazyLock::new(|| [8, 32].map(FindList::new));

/// The statement for a list of digests of this size.
pub(super) struct FindList {
    pub(super) size: usize,
    pub(super) text: String,
}

impl FindList {
    fn new(size: usize) -> Self {
        let list: Vec<_> = (0..size).map(|place| format!("({place}, ${}::text)", place + 1)).collect();
        let (list, find) = (list.join(", "), find("list.digest"));
        let text = format!(
            "SELECT found.*, list.place FROM (VALUES {list}) AS list (place, digest)
             CROSS JOIN LATERAL ({find} OFFSET 0) AS found"
        );
        Self { size, text }
    }

    /// The statement to use for this many digests.
    fn for_count(count: usize) -> &'static Self {
        let [short, long] = &*FIND_LISTS;
        if count <= short.size { short } else { long }
    }
}

/// The column with the place in the list.
const PLACE_COLUMN: usize = NEXT_COLUMN + 7;

fn find(digest: &str) -> String {
    format!(
        "SELECT {PERSON_COLUMNS}, s.role_id, s.login_method, s.login_source, s.created_at, s.expires_at, s.proven,
         s.lent_role_id FROM session s JOIN employee e ON e.corp_id = s.corp_id AND e.employee_key = s.employee_key
         {ROLES_OF_PERSON} WHERE s.digest = {digest}
         AND NOT EXISTS (SELECT 1 FROM denied_token t WHERE t.digest = {digest})"
    )
}

/// A session and its person, or else the result of looking it up.
type FoundSession = Result<(Session, Person), SessionLookup>;

/// A row of a session: the session, and its person with one of the roles.
type FoundRow = Result<(Session, Person)>;

/// Sessions that are being read from the database.
pub(crate) type SessionReads = Batches<Digest, FoundSession>;

/// On PostgreSQL. While one use waits for the server, the results of another are passed on; more of them at once would have shorter lists
/// each.
pub(crate) const POSTGRES_SESSION_READS: BatchLimits =
    BatchLimits { runners: 2, spare_runners: 2, size: 64, shares: 2 };

/// On SQLite, a use is work of a thread here. Two of them, with larger batches, cost an eighth less processor time than four (measured on
/// two cores), and two connections are left for other reads.
pub(crate) const SQLITE_SESSION_READS: BatchLimits = BatchLimits { runners: 2, spare_runners: 0, size: 32, shares: 2 };

/// Finds the session of each digest, and its person, in two round trips at most: a request with a token that exists
/// must not wait while each of the unknown tokens beside it is looked for. A record that cannot be read concerns one
/// digest alone.
fn find_each(sql: &Sql<'_>, digests: &[Digest]) -> Result<Vec<Result<FoundSession>>> {
    let rows = match sql {
        Sql::Postgres(_) if digests.len() > 1 => rows_by_lists(sql, digests)?,
        Sql::Sqlite(_) | Sql::Postgres(_) => {
            let values: Vec<_> = digests.iter().map(|digest| args![*digest]).collect();
            sql.rows_for_each(&FIND, &values, |row| Ok(session_and_person(row)))?
        }
    };
    let found: Vec<_> = rows.into_iter().map(|rows| merged(rows).transpose()).collect();
    let others = digests.iter().zip(&found).filter(|(_, found)| found.is_none());
    let others: Vec<_> = others.map(|(digest, _)| *digest).collect();
    let mut reasons = denied_each(sql, &others)?.into_iter();
    let each = found.into_iter().map(|found| match found {
        Some(found) => found.map(Ok),
        None => reasons.next().transpose().map(|why| Err(without_session(why.flatten()))),
    });
    Ok(each.collect())
}

/// The rows of each digest, read for a list of digests at a time.
fn rows_by_lists(sql: &Sql<'_>, digests: &[Digest]) -> Result<Vec<Vec<FoundRow>>> {
    let FindList { size, text } = FindList::for_count(digests.len());
    let lists = digests.chunks(*size).map(|some| {
        let values = some.iter().map(|digest| SqlValue::from(*digest));
        values.chain(repeat(SqlValue::Null)).take(*size).collect::<Vec<_>>()
    });
    let read = |row: &Row<'_>| Ok((row.int(PLACE_COLUMN)?, session_and_person(row)));
    let found = sql.rows_for_each(text, &lists.collect::<Vec<_>>(), read)?;
    let mut each: Vec<_> = digests.iter().map(|_| Vec::new()).collect();
    for (each, found) in each.chunks_mut(*size).zip(found) {
        for (place, row) in found {
            let rows = usize::try_from(place).ok().and_then(|place| each.get_mut(place));
            rows.ok_or_else(|| StoreError::damaged("a row of an unknown place"))?.push(row);
        }
    }
    Ok(each)
}

/// The result of looking up a digest that has no session.
fn without_session(why: Option<EndReason>) -> SessionLookup {
    why.map_or(SessionLookup::NotFound, SessionLookup::Denied)
}

/// The session and the person of several rows, one for each role.
fn merged(rows: Vec<FoundRow>) -> Result<Option<(Session, Person)>> {
    let merge = |found: FoundRow, row: FoundRow| {
        let ((session, mut person), (_, row)) = (found?, row?);
        add_roles(&mut person, row);
        Ok::<_, StoreError>((session, person))
    };
    rows.into_iter().reduce(merge).transpose()
}

fn session_and_person(row: &Row<'_>) -> FoundRow {
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
