//! An employee's own sign-ins, for review, and for disowning those that another person made.

use std::collections::HashMap;
use std::time::Duration;

use deskpass_core::{Digest, EmployeeKey, Timestamp};

use crate::database::{Row, Sql, SqlValue, Tx, in_snapshot};
use crate::deny_list::EndReason;
use crate::login_log::{find_row, read_page};
use crate::sessions::end_one;
use crate::{
    AuditEvent, ChangeAuthor, ChangeError, LogEntry, LogFilter, LogRow, Notice, NoticeAbout, NoticeSubject, Result,
    Store, directory,
};

/// A sign-in or refused sign-in, in its owner's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSignIn {
    /// The row of the log.
    pub row: LogRow,
    /// The session that began with it, while it is valid.
    pub session: Option<Digest>,
    /// When the owner disowned it.
    pub disowned_at: Option<Timestamp>,
}

/// The maximum numbers of listed sign-ins.
#[derive(Clone, Copy, Debug)]
pub struct SignInListLimits {
    /// Sign-ins.
    pub sign_ins: usize,
    /// Refused sign-ins. They have a separate limit: any client can cause them, and they must not displace the others.
    pub refused: usize,
}

/// A request to disown a sign-in.
#[derive(Clone, Debug)]
pub struct DisownRequest {
    /// The row of the sign-in in the log.
    pub sign_in: LogRow,
    /// The owner's name in the notices to administrators.
    pub who: String,
    /// The corporation whose administrators are notified.
    pub home: String,
    /// Identifiers for notices, one per administrator to notify.
    pub notices: Vec<String>,
    /// How long the digest of the ended session is denied.
    pub deny_until: Timestamp,
    /// The audit event.
    pub entry: LogEntry,
}

/// Effects of disowning a sign-in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DisownEffects {
    /// The number of ended sessions.
    pub ended: usize,
    /// The number of administrators with a queued notice.
    pub told: usize,
}

/// The limit of one employee's disowned sign-ins per period that administrators are notified of, so that repeatedly signing
/// in and disowning does not flood them. They are always notified if a session ended, and the log contains all of it.
const NOTICE_LIMIT: (i64, Duration) = (10, Duration::from_hours(1));

/// The maximum number of scanned sessions that began in the same period.
const MAX_SCANNED_SESSIONS: usize = 1_000;

impl Store {
    /// An employee's sign-ins and refused sign-ins since a time, the newest first. If there are too many sign-ins, those
    /// with a valid session displace those without.
    pub async fn own_sign_ins(
        &self,
        key: EmployeeKey,
        from: Timestamp,
        now: Timestamp,
        at_most: SignInListLimits,
    ) -> Result<Vec<ListedSignIn>> {
        let list = move |sql: &Sql<'_>| {
            let own = SignInHistory { sql, key: &key, from };
            let mut rows = own.sign_ins(now, at_most.sign_ins)?;
            rows.extend(own.rows(AuditEvent::SignInRefused, None, at_most.refused)?.into_iter().map(|row| (row, None)));
            rows.sort_unstable_by(|(one, _), (other, _)| other.id.cmp(&one.id));
            let disowned = disowned(sql, rows.iter().map(|(row, _)| &*row.id))?;
            let sign_in = |(row, session): (LogRow, _)| {
                let disowned_at = disowned.get(&row.id).copied();
                ListedSignIn { row, session, disowned_at }
            };
            Ok(rows.into_iter().map(sign_in).collect())
        };
        self.database.read(move |sql| in_snapshot(sql, &list)).await
    }

    /// An employee's sign-in or refused sign-in with this identifier.
    pub async fn sign_in(&self, key: &EmployeeKey, id: String) -> Result<Option<LogRow>> {
        let found = self.database.read(move |sql| find_row(sql, &id)).await?;
        Ok(found.filter(|row| row.about == *key && row.is_sign_in()))
    }

    /// Records that a sign-in was disowned, ends its session, and queues notices for administrators; `None`, with no
    /// change, when it was disowned before. If the store fails, no session must be treated as ended.
    pub async fn disown(&self, by: ChangeAuthor, request: DisownRequest) -> Result<Option<DisownEffects>, ChangeError> {
        self.write_as(by, move |tx| disown(tx, &request)).await
    }
}

fn disown(tx: &mut Tx<'_>, request: &DisownRequest) -> Result<Option<DisownEffects>> {
    let DisownRequest { sign_in, deny_until, entry, .. } = request;
    // Of concurrent requests, the first inserts the row. If the row of the log was pruned, nothing is inserted.
    let text = "INSERT INTO disowned (sign_in, at) SELECT id, $2 FROM login_log WHERE id = $1 ON CONFLICT (sign_in) DO NOTHING";
    if tx.execute(text, &args![&*sign_in.id, entry.at])? == 0 {
        return Ok(None);
    }
    let mut ended = 0;
    for session in live_sessions(tx, &sign_in.about, (sign_in.at, sign_in.at), entry.at)? {
        if session.began_with(sign_in) {
            let why = (EndReason::SignedOut, *deny_until);
            ended += end_one(tx, &sign_in.about, session.digest, why, entry.at)?;
        }
    }
    let notices = if ended > 0 || !request.is_over_notice_limit(tx)? { request.notices(tx)? } else { Vec::new() };
    for notice in &notices {
        notice.write(tx)?;
    }
    entry.clone().with_detail(format!("{ended} session(s) ended")).write(tx)?;
    Ok(Some(DisownEffects { ended, told: notices.len() }))
}

impl DisownRequest {
    /// Whether the limit of notices is reached. For a sign-in, refused ones do not count: any client can cause them.
    fn is_over_notice_limit(&self, tx: &Tx<'_>) -> Result<bool> {
        let Self { sign_in, entry, .. } = self;
        let (at_most, period) = NOTICE_LIMIT;
        let text = "SELECT COUNT(*) FROM disowned d JOIN login_log l ON l.id = d.sign_in
            WHERE d.at > $1 AND d.sign_in <> $2 AND l.corp_id = $3 AND l.employee_key = $4 AND l.event IN ($5, $6)";
        let (since, about) = (entry.at - period, &sign_in.about);
        let values = args![since, &*sign_in.id, about.corp(), about.id(), AuditEvent::SignIn.name(), &*sign_in.event];
        Ok(tx.first(text, &values, |row| row.int(0))?.unwrap_or(0) >= at_most)
    }

    fn notices(&self, tx: &Tx<'_>) -> Result<Vec<Notice>> {
        let Self { sign_in, who, home, notices, entry, .. } = self;
        let told = directory::administrators(tx, home, &sign_in.about, notices.len())?;
        let about = NoticeAbout::SignIn { who: who.clone(), at: sign_in.at };
        let notice = |(employee, id): (EmployeeKey, &String)| Notice {
            id: id.clone(),
            employee,
            subject: NoticeSubject::SignInDisowned,
            address: sign_in.address().to_owned(),
            user_agent: sign_in.user_agent.clone(),
            at: entry.at,
            about: Some(about.clone()),
            tries: 0,
        };
        Ok(told.into_iter().zip(notices).map(notice).collect())
    }
}

/// An employee's log rows since a time.
struct SignInHistory<'a> {
    sql: &'a Sql<'a>,
    key: &'a EmployeeKey,
    from: Timestamp,
}

impl SignInHistory<'_> {
    /// The newest rows of one kind, only of one time if `moment` is given. Other rows are not scanned.
    fn rows(&self, event: AuditEvent, moment: Option<Timestamp>, at_most: usize) -> Result<Vec<LogRow>> {
        let filter = LogFilter {
            corp: self.key.corp().to_owned(),
            employee: Some(self.key.id().to_owned()),
            event: Some(event),
            from: moment.or(Some(self.from)),
            to: moment.map(|moment| moment + Duration::from_millis(1)),
            ..LogFilter::default()
        };
        Ok(read_page(self.sql, &filter, None, at_most)?.rows)
    }

    /// The newest sign-ins, and earlier ones whose session is one of the newest valid sessions.
    fn sign_ins(&self, now: Timestamp, at_most: usize) -> Result<Vec<(LogRow, Option<Digest>)>> {
        let mut rows = self.rows(AuditEvent::SignIn, None, at_most)?;
        let Some((newest, oldest)) = rows.first().zip(rows.last()).map(|(first, last)| (first.at, last.at)) else {
            return Ok(Vec::new());
        };
        let alive = live_sessions(self.sql, self.key, (self.from, newest), now)?;
        for session in alive.iter().take(at_most).filter(|session| session.created_at <= oldest) {
            let mut begun = self.rows(AuditEvent::SignIn, Some(session.created_at), at_most)?;
            begun.retain(|row| session.began_with(row) && rows.iter().all(|known| known.id != row.id));
            rows.extend(begun);
        }
        let session = |row: &LogRow| alive.iter().find(|session| session.began_with(row)).map(|session| session.digest);
        let sign_in = |row: LogRow| {
            let session = session(&row);
            (row, session)
        };
        let mut sign_ins: Vec<_> = rows.into_iter().map(sign_in).collect();
        let mut spare = sign_ins.len().saturating_sub(at_most);
        // The oldest are dropped first.
        sign_ins.reverse();
        sign_ins.retain(|(_, session)| {
            let goes = spare > 0 && session.is_none();
            spare -= usize::from(goes);
            !goes
        });
        Ok(sign_ins)
    }
}

/// A valid session, with the columns that identify the log row it began with.
struct LiveSession {
    digest: Digest,
    created_at: Timestamp,
    method: String,
    source: String,
    user_agent: Option<String>,
}

impl LiveSession {
    /// Whether the session began with this row of its owner: the two are written together, with the same time.
    fn began_with(&self, row: &LogRow) -> bool {
        row.event == AuditEvent::SignIn.name()
            && row.at == self.created_at
            && row.method == self.method
            && row.source == self.source
            && self.user_agent.as_ref().is_none_or(|user_agent| *user_agent == row.user_agent)
    }
}

/// An employee's valid sessions that began between two times.
fn live_sessions(
    sql: &Sql<'_>,
    key: &EmployeeKey,
    (from, to): (Timestamp, Timestamp),
    now: Timestamp,
) -> Result<Vec<LiveSession>> {
    let text = format!(
        "SELECT digest, created_at, login_method, login_source, user_agent FROM session
         WHERE corp_id = $1 AND employee_key = $2 AND created_at >= $3 AND created_at <= $4 AND expires_at > $5
         ORDER BY created_at DESC LIMIT {MAX_SCANNED_SESSIONS}"
    );
    let read = |row: &Row<'_>| {
        let (method, source, user_agent) = (row.text(2)?, row.text(3)?, row.maybe_text(4)?);
        Ok(LiveSession { digest: row.digest(0)?, created_at: row.timestamp(1)?, method, source, user_agent })
    };
    sql.rows(&text, &args![key.corp(), key.id(), from, to, now], read)
}

/// Which of these rows were disowned, and when.
fn disowned<'a>(sql: &Sql<'_>, rows: impl Iterator<Item = &'a str>) -> Result<HashMap<String, Timestamp>> {
    let values: Vec<_> = rows.map(SqlValue::from).collect();
    if values.is_empty() {
        return Ok(HashMap::new());
    }
    let places: Vec<_> = (1..=values.len()).map(|place| format!("${place}")).collect();
    let text = format!("SELECT sign_in, at FROM disowned WHERE sign_in IN ({})", places.join(", "));
    Ok(sql.rows(&text, &values, |row| Ok((row.text(0)?, row.timestamp(1)?)))?.into_iter().collect())
}
