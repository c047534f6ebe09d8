//! Ending sessions of an employee, by the employee or by another user.

use deskpass_core::{Digest, EmployeeKey, Timestamp};

use super::scope::{SessionScope, end_matching};
use crate::cache::CacheChange;
use crate::database::Tx;
use crate::deny_list::{EndReason, deny};
use crate::oidc::endings::end_with_session;
use crate::{ChangeAuthor, ChangeError, LogEntry, Result, Store, StoreError};

/// Which sessions of an employee to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionSelection {
    /// All sessions, and partial sessions too.
    All,
    /// All except this session.
    AllBut(Digest),
    /// This session, if it is the employee's.
    One(Digest),
}

impl Store {
    /// Ends sessions of an employee; returns their number, and logs it unless it is zero. Expired sessions do not count:
    /// they had ended already. If the store fails, no session must be treated as ended.
    pub async fn end_sessions(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        which: SessionSelection,
        why: EndReason,
        deny_until: Timestamp,
        entry: LogEntry,
    ) -> Result<usize, ChangeError> {
        let ended = self.write_as(by, move |tx| {
            let end_several = |tx: &mut Tx<'_>, scope| {
                let ended = end_matching(tx, &key, scope, (why, deny_until), entry.at)?;
                Ok::<_, StoreError>(ended.into_iter().filter(|expires_at| *expires_at > entry.at).count())
            };
            let ended = match which {
                SessionSelection::One(digest) => end_one(tx, &key, digest, (why, deny_until), entry.at)?,
                SessionSelection::All => end_several(tx, SessionScope::All)?,
                SessionSelection::AllBut(digest) => end_several(tx, SessionScope::AllBut(digest))?,
            };
            if ended > 0 {
                entry.clone().with_detail(format!("{ended} session(s) ended")).write(tx)?;
            }
            Ok(ended)
        });
        let ended = ended.await?;
        if let (SessionSelection::One(digest), 0) = (which, ended) {
            // Another node may have ended it.
            self.cache.apply(CacheChange::Session(digest));
        }
        Ok(ended)
    }
}

/// Ends a session, if it is the employee's and has not expired; returns the number of ended sessions.
pub(crate) fn end_one(
    tx: &mut Tx<'_>,
    key: &EmployeeKey,
    digest: Digest,
    (why, deny_until): (EndReason, Timestamp),
    now: Timestamp,
) -> Result<usize> {
    let text = "DELETE FROM session WHERE digest = $1 AND corp_id = $2 AND employee_key = $3 AND expires_at > $4";
    let ended = tx.execute(text, &args![digest, key.corp(), key.id(), now])?;
    if ended > 0 {
        deny(tx, digest, why, deny_until)?;
        end_with_session(tx, digest, now)?;
    }
    Ok(ended)
}
