//! Ends the sessions of all employees, on the command line.

use deskpass_core::{Timestamp, TotpStep};

use crate::cache::CacheChange;
use crate::database::{Row, Sql, Tx};
use crate::deny_list::{EndReason, deny_all};
use crate::oidc::endings::end_with_sessions_between;
use crate::{LogEntry, Result, Store};

/// The number of sessions that one transaction ends: few enough not to delay sign-ins.
const BATCH_SESSIONS: i64 = 1_000;
/// The number of attempts at one step: on a busy server, the locks may take longer than a transaction may.
const MAX_ATTEMPTS: usize = 3;

/// Follows the number of ended sessions in the log.
const SESSIONS_ENDED: &str = " session(s) ended";

/// The outcome of one step of ending all sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedBatch {
    /// The number of ended sessions. Expired sessions do not count: they had ended already.
    pub ended: usize,
    /// Where the next step continues; `None` after the last step.
    pub next: Option<String>,
}

impl Store {
    /// Ends some of the sessions that began before `before`, or of all sessions, and logs it. The first step begins without
    /// `after`, and also ends everything that could become a session: partial sessions, bind proofs, setup codes, setups of
    /// devices and used one-time passwords, which have no start on record. The following steps continue where the last one
    /// ended. If the store fails, no session of the step must be treated as ended; if the outcome is unknown, they may have ended.
    pub async fn end_all_sessions(
        &self,
        before: Option<Timestamp>,
        after: Option<String>,
        deny_until: Timestamp,
        entry: LogEntry,
    ) -> Result<EndedBatch> {
        let step = EndStep { before, after, deny_until, entry };
        let (mut tries, mut is_unknown) = (1, false);
        loop {
            let step = step.clone();
            match self.database.write(move |tx| step.run(tx)).await {
                Err(error) if tries < MAX_ATTEMPTS => {
                    is_unknown |= error.is_outcome_unknown();
                    tries += 1;
                }
                // It is still unknown whether an earlier attempt was committed.
                Err(error) if is_unknown => return Err(error.with_unknown_outcome()),
                outcome => return outcome,
            }
        }
    }
}

/// One step of ending all sessions.
#[derive(Clone)]
struct EndStep {
    before: Option<Timestamp>,
    after: Option<String>,
    deny_until: Timestamp,
    entry: LogEntry,
}

impl EndStep {
    fn run(&self, tx: &mut Tx<'_>) -> Result<EndedBatch> {
        let Self { before, after, deny_until, entry } = self;
        if let Some(ended) = logged_count(tx, &entry.id)? {
            // An attempt with an unknown outcome was committed. The sessions that follow are found from the same place.
            return Ok(EndedBatch { ended, next: Some(after.clone().unwrap_or_default()) });
        }
        if after.is_none() {
            // A partial session that is being completed has locked its agent: its session is found below.
            lock_concerned_agents(tx, entry.at)?;
            end_pending(tx, *deny_until)?;
            end_setups_and_codes(tx, entry.at)?;
        }
        let from = after.as_deref().unwrap_or_default();
        let found = end_batch(tx, before.unwrap_or(Timestamp::from_millis(i64::MAX)), from, *deny_until, entry.at)?;
        // One entry of the journal for all of them: each node clears its cache, and revalidates its sockets.
        tx.record_change(CacheChange::AllSessions);
        if found.ended > 0 || after.is_none() {
            entry.clone().with_detail(format!("{}{SESSIONS_ENDED}", found.ended)).write(tx)?;
        }
        // A node whose clock is behind may have added a session that the walk had passed already, so it starts again until it
        // finds none. Not up to a time in the future: that would end sign-ins as fast as they come.
        let is_repeated = before.is_some_and(|before| before <= entry.at) && !(from.is_empty() && found.last.is_none());
        let next = if found.is_full { found.last } else { is_repeated.then(String::new) };
        Ok(EndedBatch { ended: found.ended, next })
    }
}

/// The number of sessions that a step ended, if the entry with this id was written.
fn logged_count(tx: &Tx<'_>, id: &str) -> Result<Option<usize>> {
    let detail = tx.first("SELECT detail FROM login_log WHERE id = $1", &args![id], |row| row.text(0))?;
    let count = |detail: &str| detail.strip_suffix(SESSIONS_ENDED)?.rsplit(' ').next()?.parse::<usize>().ok();
    Ok(detail.map(|detail| count(&detail).unwrap_or(0)))
}

/// The sessions that a step found.
struct FoundSessions {
    /// The number of them that had not expired.
    ended: usize,
    /// The last of them.
    last: Option<String>,
    /// Whether more may follow.
    is_full: bool,
}

/// The next sessions that began before a time, in the order of the primary key.
pub(super) const NEXT_SESSIONS: &str =
    "SELECT digest FROM session WHERE digest > $1 AND created_at < $2 ORDER BY digest LIMIT $3";
pub(super) const END_SESSIONS: &str =
    "DELETE FROM session WHERE digest > $1 AND digest <= $2 AND created_at < $3 RETURNING digest, expires_at";

/// Ends the next sessions in the order of their digests, so that sessions which begin meanwhile do not prolong the walk.
fn end_batch(
    tx: &mut Tx<'_>,
    before: Timestamp,
    after: &str,
    deny_until: Timestamp,
    now: Timestamp,
) -> Result<FoundSessions> {
    let mut found = tx.rows(NEXT_SESSIONS, &args![after, before, BATCH_SESSIONS], |row| row.text(0))?;
    let is_full = i64::try_from(found.len()).is_ok_and(|found| found == BATCH_SESSIONS);
    let Some(last) = found.pop() else { return Ok(FoundSessions { ended: 0, last: None, is_full }) };
    // Also sessions that began since, which are not in the list.
    let read = |row: &Row<'_>| Ok((row.text(0)?, row.timestamp(1)?));
    let (digests, ends): (Vec<_>, Vec<_>) =
        tx.rows(END_SESSIONS, &args![after, &*last, before], read)?.into_iter().unzip();
    deny_all(tx, &digests, EndReason::Kicked, deny_until)?;
    let ended = ends.into_iter().filter(|expires_at| *expires_at > now).count();
    end_with_sessions_between(tx, after, &last, now)?;
    Ok(FoundSessions { ended, last: Some(last), is_full })
}

/// The agents whose setup codes or setups of devices end.
const HAS_SETUP: &str = "setup_code IS NOT NULL OR otp_setup_code IS NOT NULL OR otp_pending IS NOT NULL";
/// The agents with a device of which a one-time password may have been used.
const HAS_OPEN_STEP: &str = "otp_secret IS NOT NULL AND otp_step < $1";

/// Locks the agents that the first step concerns, and no others, in the order of their keys: so that it waits neither for
/// agents that it does not change nor for transactions that wait for it.
fn lock_concerned_agents(tx: &Tx<'_>, now: Timestamp) -> Result<()> {
    // SQLite has one writer.
    let Sql::Postgres(_) = **tx else { return Ok(()) };
    let text = format!(
        "SELECT 1 FROM agent WHERE {HAS_SETUP} OR ({HAS_OPEN_STEP})
        OR (corp_id, employee_key) IN (SELECT corp_id, employee_key FROM half_session)
        ORDER BY corp_id, employee_key FOR NO KEY UPDATE"
    );
    tx.exists(&text, &args![last_refused_step(now)]).map(drop)
}

/// The last time step whose one-time passwords are not accepted any more. One step later than now, so that no code is accepted
/// that may have been used.
fn last_refused_step(now: Timestamp) -> i64 {
    TotpStep::at(now).number().saturating_add(1)
}

/// Ends setup codes, setups of devices, and one-time passwords that may have been used.
pub(super) fn end_setups_and_codes(tx: &Tx<'_>, now: Timestamp) -> Result<()> {
    let text = format!(
        "UPDATE agent SET setup_code = NULL, setup_code_until = NULL, otp_setup_code = NULL, otp_setup_code_until = NULL,
        otp_pending = NULL, otp_pending_until = NULL, otp_pending_by = NULL WHERE {HAS_SETUP}"
    );
    tx.execute(&text, &[])?;
    let text = format!("UPDATE agent SET otp_step = $1 WHERE {HAS_OPEN_STEP}");
    tx.execute(&text, &args![last_refused_step(now)]).map(drop)
}

/// Ends all partial sessions and bind proofs.
pub(super) fn end_pending(tx: &Tx<'_>, deny_until: Timestamp) -> Result<()> {
    let ended = tx.rows("DELETE FROM half_session RETURNING digest", &[], |row| row.text(0))?;
    deny_all(tx, &ended, EndReason::Kicked, deny_until)?;
    tx.execute("DELETE FROM bind_proof", &[]).map(drop)
}
