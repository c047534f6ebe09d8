//! Ends a subset of an employee's sessions.

use deskpass_core::{Digest, EmployeeKey, Timestamp};

use crate::Result;
use crate::agents::partial_session;
use crate::cache::CacheChange;
use crate::database::{SqlValue, Tx};
use crate::deny_list::{EndReason, deny_all};
use crate::locks::lock_employee;
use crate::oidc::endings::end_with_sessions_of;

/// Which sessions of an employee; except for those with a default role and those through a link, all partial sessions are included.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SessionScope {
    All,
    AllBut(Digest),
    ByPassword,
    /// Those with a default role.
    WithDefaultRole,
    ByPasswordOrDefaultRole,
    /// Those that began through a link, as [`deskpass_core::PlatformVouching::Through`] is stored.
    ThroughLink,
    BeganBefore(Timestamp),
}

impl SessionScope {
    const fn condition(self) -> &'static str {
        match self {
            Self::All | Self::AllBut(_) => "1 = 1",
            Self::ByPassword => "login_method = 'password'",
            Self::WithDefaultRole => "lent_role_id IS NOT NULL",
            Self::ByPasswordOrDefaultRole => "(login_method = 'password' OR lent_role_id IS NOT NULL)",
            Self::ThroughLink => "proven = 2",
            Self::BeganBefore(_) => "created_at < $4",
        }
    }

    /// The time of the condition, if it has one.
    const fn time(self) -> Option<Timestamp> {
        if let Self::BeganBefore(time) = self { Some(time) } else { None }
    }

    /// The digest of the session to keep; otherwise an empty text, which equals no digest.
    fn but(self) -> String {
        if let Self::AllBut(digest) = self { digest.to_text() } else { String::new() }
    }
}

/// Ends some sessions of an employee, and what clients got for them; returns their number.
pub(crate) fn end_sessions_of(
    tx: &mut Tx<'_>,
    key: &EmployeeKey,
    which: SessionScope,
    (why, deny_until): (EndReason, Timestamp),
    at: Timestamp,
) -> Result<usize> {
    end_matching(tx, key, which, (why, deny_until), at).map(|ended| ended.len())
}

/// Does the same; returns when each of them would have expired.
pub(super) fn end_matching(
    tx: &mut Tx<'_>,
    key: &EmployeeKey,
    which: SessionScope,
    (why, deny_until): (EndReason, Timestamp),
    at: Timestamp,
) -> Result<Vec<Timestamp>> {
    // Of two transactions that end or begin sessions of one employee, the second waits here, and not for a session row.
    lock_employee(tx, key)?;
    let (condition, but) = (which.condition(), which.but());
    let text = format!(
        "DELETE FROM session WHERE corp_id = $1 AND employee_key = $2 AND digest <> $3 AND {condition}
         RETURNING digest, expires_at"
    );
    let mut values = args![key.corp(), key.id(), &*but].to_vec();
    values.extend(which.time().map(SqlValue::from));
    let ended = tx.rows(&text, &values, |row| Ok((row.digest(0)?, row.timestamp(1)?)))?;
    let digests: Vec<_> = ended.iter().map(|(digest, _)| digest.to_text()).collect();
    deny_all(tx, &digests, why, deny_until)?;
    for (digest, _) in &ended {
        tx.record_change(CacheChange::Session(*digest));
    }
    if !ended.is_empty() {
        end_with_sessions_of(tx, key, at)?;
    }
    if !matches!(which, SessionScope::WithDefaultRole | SessionScope::ThroughLink) {
        // Otherwise a sign-in with a password that is under way would complete a moment later.
        partial_session::end_all(tx, key, why, deny_until)?;
    }
    Ok(ended.into_iter().map(|(_, expires_at)| expires_at).collect())
}
