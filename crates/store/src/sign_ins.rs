//! Somebody's own sign-ins, for them to look at, and to disown where it was somebody else.

use std::collections::HashMap;
use std::time::Duration;

use deskpass_core::{Digest, EmployeeKey, Timestamp};

use crate::agents::About;
use crate::database::{Row, Sql, Tx, Value, at_one_moment};
use crate::login_log::{edge, find, walk};
use crate::sessions::{Ended, end_one};
use crate::{Event, LogEntry, LogFilter, LogRow, Notice, Store, StoreError, Subject, directory};

/// A sign-in, or a refused one, as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignIn {
    /// Its row in the log.
    pub row: LogRow,
    /// The session that began with it, while it lives.
    pub session: Option<Digest>,
    /// When its owner said that it was somebody else.
    pub disowned_at: Option<Timestamp>,
}

/// A sign-in of which its owner says that it was somebody else.
#[derive(Clone, Debug)]
pub struct Disowning {
    /// The sign-in, as the log has it.
    pub sign_in: LogRow,
    /// How its owner is called in what administrators are told.
    pub who: String,
    /// The corporation whose administrators are told.
    pub home: String,
    /// Identifiers for notices, one for each administrator who may be told.
    pub notices: Vec<String>,
    /// How long the digest of the session that ends is denied.
    pub deny_until: Timestamp,
    /// The row for the log.
    pub entry: LogEntry,
}

/// How many of one person's sign-ins administrators are told of in so much time: whoever signs in and disowns it, again and
/// again, must not flood them. The log has all of them.
const TOLD: (i64, Duration) = (10, Duration::from_hours(1));

/// How many sessions that began in the same stretch of time are looked at.
const LOOKED_AT: usize = 1_000;

impl Store {
    /// Somebody's sign-ins and refused ones from a moment on, the newest first, at most `limit`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn own_sign_ins(
        &self,
        key: EmployeeKey,
        from: Timestamp,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<SignIn>, StoreError> {
        let (corp, employee) = (key.corp().to_owned(), Some(key.id().to_owned()));
        let filter = LogFilter { corp, employee, from: Some(from), sign_ins_only: true, ..LogFilter::default() };
        let list = move |sql: &Sql<'_>| {
            let rows = walk(sql, &filter, None, limit)?.rows;
            let Some((newest, oldest)) = rows.first().zip(rows.last()) else { return Ok(Vec::new()) };
            let (alive, disowned) = (alive(sql, &key, (oldest.at, newest.at), now)?, disowned(sql, &rows)?);
            let sign_in = |row: LogRow| SignIn {
                session: alive.iter().find(|session| session.began_with(&row)).map(|session| session.digest),
                disowned_at: disowned.get(&row.id).copied(),
                row,
            };
            Ok(rows.into_iter().map(sign_in).collect())
        };
        self.database.read(move |sql| at_one_moment(sql, &list)).await
    }

    /// Somebody's sign-in, or refused one, with this identifier.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn sign_in(&self, key: &EmployeeKey, id: String) -> Result<Option<LogRow>, StoreError> {
        let found = self.database.read(move |sql| find(sql, &id)).await?;
        Ok(found.filter(|row| row.about == *key && row.is_sign_in()))
    }

    /// Writes down that a sign-in was somebody else's, ends the session that began with it, and leaves a notice for the
    /// administrators; returns how many sessions ended. `None`, and nothing happened, when that was said before.
    ///
    /// # Errors
    /// When the store fails; then no session may be taken for ended.
    pub async fn disown(&self, disowning: Disowning) -> Result<Option<usize>, StoreError> {
        self.database.write(move |tx| disown(tx, &disowning)).await
    }
}

fn disown(tx: &mut Tx<'_>, disowning: &Disowning) -> Result<Option<usize>, StoreError> {
    let Disowning { sign_in, deny_until, entry, .. } = disowning;
    // Of many who say it at once, the first writes the row, and the others wait for it and then find it. A row of the log
    // that has gone for its age meanwhile is not written about.
    let text = "INSERT INTO disowned (sign_in, at) SELECT id, $2 FROM login_log WHERE id = $1 ON CONFLICT (sign_in) DO NOTHING";
    if tx.execute(text, &args![&*sign_in.id, entry.at])? == 0 {
        return Ok(None);
    }
    let mut ended = 0;
    for session in alive(tx, &sign_in.about, (sign_in.at, sign_in.at), entry.at)? {
        if session.began_with(sign_in) {
            let why = (Ended::SignedOut, *deny_until);
            ended += end_one(tx, &sign_in.about, session.digest, why, entry.at)?;
        }
    }
    for notice in disowning.notices(tx)? {
        notice.write(tx)?;
    }
    entry.clone().saying(format!("{ended} session(s) ended")).write(tx)?;
    Ok(Some(ended))
}

impl Disowning {
    /// What the administrators are to be told; nothing, when there was much of it lately.
    fn notices(&self, tx: &Tx<'_>) -> Result<Vec<Notice>, StoreError> {
        let Self { sign_in, who, home, notices, entry, .. } = self;
        let (most, lately) = TOLD;
        let text = "SELECT COUNT(*) FROM login_log WHERE (corp_id, event, id) >= ($1, $2, $3)
            AND (corp_id, event) <= ($1, $2) AND employee_key = $4";
        let since = edge(entry.at - lately);
        let values = args![sign_in.about.corp(), Event::SignInDisowned.name(), &*since, sign_in.about.id()];
        if tx.first(text, &values, |row| row.int(0))?.unwrap_or(0) >= most {
            return Ok(Vec::new());
        }
        let told = directory::administrators(tx, home, &sign_in.about, notices.len())?;
        let about = About { who: who.clone(), at: sign_in.at };
        let notice = |(employee, id): (EmployeeKey, &String)| Notice {
            id: id.clone(),
            employee,
            subject: Subject::SignInDisowned,
            address: sign_in.ip_address.clone(),
            at: entry.at,
            about: Some(about.clone()),
            tries: 0,
        };
        Ok(told.into_iter().zip(notices).map(notice).collect())
    }
}

/// A session that lives, as far as it says with which row of the log it began.
struct Alive {
    digest: Digest,
    created_at: Timestamp,
    method: String,
    source: String,
    user_agent: Option<String>,
}

impl Alive {
    /// Whether it began with this row of its owner's: the two are written together, of the same moment.
    fn began_with(&self, row: &LogRow) -> bool {
        row.event == Event::SignIn.name()
            && row.at == self.created_at
            && row.method == self.method
            && row.source == self.source
            && self.user_agent.as_ref().is_none_or(|user_agent| *user_agent == row.user_agent)
    }
}

/// Somebody's sessions that began between two moments and live.
fn alive(
    sql: &Sql<'_>,
    key: &EmployeeKey,
    (from, to): (Timestamp, Timestamp),
    now: Timestamp,
) -> Result<Vec<Alive>, StoreError> {
    let text = format!(
        "SELECT digest, created_at, login_method, login_source, user_agent FROM session
         WHERE corp_id = $1 AND employee_key = $2 AND created_at >= $3 AND created_at <= $4 AND expires_at > $5
         ORDER BY created_at DESC LIMIT {LOOKED_AT}"
    );
    let read = |row: &Row<'_>| {
        let (method, source, user_agent) = (row.text(2)?, row.text(3)?, row.maybe_text(4)?);
        Ok(Alive { digest: row.digest(0)?, created_at: row.moment(1)?, method, source, user_agent })
    };
    sql.rows(&text, &args![key.corp(), key.id(), from, to, now], read)
}

/// Which of these rows were disowned, and when.
fn disowned(sql: &Sql<'_>, rows: &[LogRow]) -> Result<HashMap<String, Timestamp>, StoreError> {
    let places: Vec<_> = (1..=rows.len()).map(|place| format!("${place}")).collect();
    let text = format!("SELECT sign_in, at FROM disowned WHERE sign_in IN ({})", places.join(", "));
    let values: Vec<_> = rows.iter().map(|row| Value::from(&*row.id)).collect();
    Ok(sql.rows(&text, &values, |row| Ok((row.text(0)?, row.moment(1)?)))?.into_iter().collect())
}
