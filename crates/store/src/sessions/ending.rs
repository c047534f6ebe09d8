//! Sessions that their owner ends elsewhere, or somebody else ends for them.

use deskpass_core::{Digest, EmployeeKey, Timestamp};

use super::{Ended, Which, deny, end_those};
use crate::agents::half;
use crate::cache::Change;
use crate::database::Tx;
use crate::{By, ChangeError, LogEntry, Store, StoreError};

/// Which sessions of an employee are to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All of them, and the halves of sign-ins too.
    All,
    /// The same, but not this one.
    AllBut(Digest),
    /// This one, if it is theirs.
    One(Digest),
}

impl Store {
    /// Ends sessions of an employee; returns how many ended. Where any did, it is logged, with how many. One that had expired
    /// had ended already.
    ///
    /// # Errors
    /// When the store fails; then no session may be taken for ended.
    pub async fn end_sessions(
        &self,
        by: By,
        key: EmployeeKey,
        which: Ending,
        why: Ended,
        deny_until: Timestamp,
        entry: LogEntry,
    ) -> Result<usize, ChangeError> {
        let ended = self.acting(by).write(move |tx| {
            let ended = match which {
                Ending::One(digest) => end_one(tx, &key, digest, (why, deny_until), entry.at)?,
                Ending::All => end_several(tx, &key, Which::All, (why, deny_until), entry.at)?,
                Ending::AllBut(digest) => end_several(tx, &key, Which::AllBut(digest), (why, deny_until), entry.at)?,
            };
            if ended > 0 {
                entry.clone().saying(format!("{ended} session(s) ended")).write(tx)?;
            }
            Ok(ended)
        });
        let ended = ended.await?;
        if let (Ending::One(digest), 0) = (which, ended) {
            // Another node may have ended it.
            self.cache.apply(Change::Session(digest));
        }
        Ok(ended)
    }
}

/// Ends a session, if it is theirs and lives; returns how many that are.
pub(crate) fn end_one(
    tx: &mut Tx<'_>,
    key: &EmployeeKey,
    digest: Digest,
    (why, deny_until): (Ended, Timestamp),
    now: Timestamp,
) -> Result<usize, StoreError> {
    let text = "DELETE FROM session WHERE digest = $1 AND corp_id = $2 AND employee_key = $3 AND expires_at > $4";
    let ended = tx.execute(text, &args![digest, key.corp(), key.id(), now])?;
    if ended > 0 {
        deny(tx, digest, why, deny_until)?;
    }
    Ok(ended)
}

fn end_several(
    tx: &mut Tx<'_>,
    key: &EmployeeKey,
    which: Which,
    (why, deny_until): (Ended, Timestamp),
    now: Timestamp,
) -> Result<usize, StoreError> {
    let ended = end_those(tx, key, which, why, deny_until)?;
    // Otherwise whoever is about to sign in with a password would be signed in a moment later.
    half::end_all(tx, key, why, deny_until)?;
    Ok(ended.into_iter().filter(|expires_at| *expires_at > now).count())
}
