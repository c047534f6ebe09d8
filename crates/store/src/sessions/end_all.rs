//! Ends the sessions of all employees: on the command line, and in data that was restored from a backup.

use deskpass_core::{Timestamp, TotpStep};

use crate::cache::CacheChange;
use crate::database::Tx;
use crate::deny_list::EndReason;
use crate::{LogEntry, Result, Store};

/// The number of sessions that one transaction ends: few enough not to delay sign-ins.
const BATCH_SESSIONS: i64 = 1_000;

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
    /// `after`, and also ends everything that could become a session: partial sessions and bind proofs, which live for minutes.
    /// The following steps continue where the last one ended. If the store fails, no session of the step must be treated as ended.
    pub async fn end_all_sessions(
        &self,
        before: Option<Timestamp>,
        after: Option<String>,
        deny_until: Timestamp,
        entry: LogEntry,
    ) -> Result<EndedBatch> {
        let before = before.unwrap_or(Timestamp::from_millis(i64::MAX));
        self.database
            .write(move |tx| {
                if after.is_none() {
                    // A partial session that is being completed has locked its agent: its session is found below.
                    tx.execute("UPDATE agent SET role_id = role_id", &[])?;
                    end_pending(tx, deny_until)?;
                }
                let batch = end_batch(tx, before, after.as_deref().unwrap_or_default(), deny_until, entry.at)?;
                // One entry of the journal for all of them: each node clears its cache, and revalidates its sockets.
                tx.record_change(CacheChange::AllSessions);
                if batch.ended > 0 || after.is_none() {
                    entry.clone().with_detail(format!("{} session(s) ended", batch.ended)).write(tx)?;
                }
                Ok(batch)
            })
            .await
    }
}

/// Ends the next sessions in the order of their digests, so that sessions which begin meanwhile do not prolong the walk.
fn end_batch(tx: &Tx<'_>, before: Timestamp, after: &str, deny_until: Timestamp, now: Timestamp) -> Result<EndedBatch> {
    let text = "SELECT digest FROM session WHERE digest > $1 AND created_at < $2 ORDER BY digest LIMIT $3";
    let mut found = tx.rows(text, &args![after, before, BATCH_SESSIONS], |row| row.text(0))?;
    let is_full = i64::try_from(found.len()).is_ok_and(|found| found == BATCH_SESSIONS);
    let Some(last) = found.pop() else { return Ok(EndedBatch { ended: 0, next: None }) };
    let selected = "FROM session WHERE digest > $1 AND digest <= $2 AND created_at < $3";
    let text = format!(
        "INSERT INTO denied_token (digest, reason, until) SELECT digest, $4, $5 {selected} ON CONFLICT DO NOTHING"
    );
    tx.execute(&text, &args![after, &*last, before, EndReason::Kicked.name(), deny_until])?;
    let text = format!("DELETE {selected} RETURNING expires_at");
    let ended = tx.rows(&text, &args![after, &*last, before], |row| row.timestamp(0))?;
    let ended = ended.into_iter().filter(|expires_at| *expires_at > now).count();
    Ok(EndedBatch { ended, next: is_full.then_some(last) })
}

/// Ends all partial sessions and bind proofs.
fn end_pending(tx: &Tx<'_>, deny_until: Timestamp) -> Result<()> {
    let text = "INSERT INTO denied_token (digest, reason, until) SELECT digest, $1, $2 FROM half_session WHERE 1 = 1
        ON CONFLICT DO NOTHING";
    tx.execute(text, &args![EndReason::Kicked.name(), deny_until])?;
    tx.execute("DELETE FROM half_session", &[])?;
    tx.execute("DELETE FROM bind_proof", &[]).map(drop)
}

/// Ends everything in restored data that may have ended since the backup: sessions, sign-ins in progress, setups in progress,
/// setup codes and one-time passwords. Returns the number of sessions that had not expired. No service uses the data yet, so
/// one transaction may take long.
pub(crate) fn end_restored(tx: &Tx<'_>, now: Timestamp, deny_until: Timestamp) -> Result<usize> {
    let ended = tx.first("SELECT COUNT(*) FROM session WHERE expires_at > $1", &args![now], |row| row.int(0))?;
    let text = "INSERT INTO denied_token (digest, reason, until) SELECT digest, $1, $2 FROM session WHERE 1 = 1
        ON CONFLICT DO NOTHING";
    tx.execute(text, &args![EndReason::Kicked.name(), deny_until])?;
    tx.execute("DELETE FROM session", &[])?;
    end_pending(tx, deny_until)?;
    let text = "UPDATE agent SET setup_code = NULL, setup_code_until = NULL, otp_setup_code = NULL,
        otp_setup_code_until = NULL, otp_pending = NULL, otp_pending_until = NULL, otp_pending_by = NULL";
    tx.execute(text, &[])?;
    // One step later, so that no code is accepted that may have been used.
    let step = TotpStep::at(now).number().saturating_add(1);
    tx.execute("UPDATE agent SET otp_step = $1 WHERE otp_step < $1", &args![step])?;
    Ok(usize::try_from(ended.unwrap_or(0)).unwrap_or(0))
}
