//! Ends what may have ended since the backup, in data that was restored from it.

use deskpass_core::Timestamp;

use super::end_all::{end_pending, end_setups_and_codes};
use crate::database::Tx;
use crate::deny_list::EndReason;
use crate::oidc::endings::end_with_deleted_sessions;
use crate::{Chore, Result};

/// What a restore ended, since it may have ended or been used after the backup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedByRestore {
    /// The number of sessions that had not expired.
    pub sessions: usize,
    /// The names of the service keys that were revoked and had not expired.
    pub service_keys: Vec<String>,
    /// The number of recovery codes that were deleted.
    pub recovery_codes: usize,
    /// The identifiers of the OpenID Connect clients that are enabled: their registrations and secrets are those of the backup.
    pub oidc_clients: Vec<String>,
    /// The number of signing keys for OpenID Connect that were withdrawn.
    pub signing_keys: usize,
    /// The number of temporary roles that were taken back.
    pub timed_roles: usize,
}

/// Ends everything in restored data that may have ended since the backup: sessions, what OpenID Connect clients got for them,
/// sign-ins and setups in progress, setup codes, one-time passwords, service keys, signing keys, recovery codes, cookies of known
/// browsers and temporary roles. People may have left since, so a synchronisation is requested. No service uses the data yet, so one
/// transaction may take long.
pub(crate) fn end_restored(tx: &mut Tx<'_>, now: Timestamp, deny_until: Timestamp) -> Result<EndedByRestore> {
    let sessions = tx.first("SELECT COUNT(*) FROM session WHERE expires_at > $1", &args![now], |row| row.int(0))?;
    let text = "INSERT INTO denied_token (digest, reason, until) SELECT digest, $1, $2 FROM session WHERE 1 = 1
        ON CONFLICT DO NOTHING";
    tx.execute(text, &args![EndReason::Kicked.name(), deny_until])?;
    tx.execute("DELETE FROM session", &[])?;
    // Their clients may have been told already. To be told twice does no harm.
    end_with_deleted_sessions(tx, now)?;
    for table in ["oidc_token", "oidc_browser"] {
        tx.execute(&format!("DELETE FROM {table}"), &[])?;
    }
    // They may have been withdrawn since. The first use makes new ones.
    let signing_keys = tx.execute("UPDATE oidc_key SET withdrawn_at = $1 WHERE withdrawn_at IS NULL", &args![now])?;
    let text = "SELECT id FROM oidc_client WHERE disabled_at IS NULL AND removed_at IS NULL ORDER BY id";
    let oidc_clients = tx.rows(text, &[], |row| row.text(0))?;
    end_pending(tx, deny_until)?;
    end_setups_and_codes(tx, now)?;
    let text = "SELECT name FROM service_key WHERE revoked_at IS NULL AND expires_at > $1 ORDER BY name, id";
    let service_keys = tx.rows(text, &args![now], |row| row.text(0))?;
    tx.execute("UPDATE service_key SET revoked_at = $1 WHERE revoked_at IS NULL", &args![now])?;
    let recovery_codes = tx.execute("DELETE FROM recovery_code", &[])?;
    tx.execute("DELETE FROM known_browser", &[])?;
    let timed_roles = end_timed_roles(tx)?;
    request_synchronisation(tx, now)?;
    let sessions = usize::try_from(sessions.unwrap_or(0)).unwrap_or(0);
    Ok(EndedByRestore { sessions, service_keys, recovery_codes, oidc_clients, signing_keys, timed_roles })
}

/// Takes back roles that were given until a time; returns their number. One that a rule gives as well stays.
fn end_timed_roles(tx: &Tx<'_>) -> Result<usize> {
    let text = "DELETE FROM user_role WHERE until IS NOT NULL AND by_hand = 0 AND by_rule = 0";
    let ended = tx.execute(text, &[])?;
    let text = "UPDATE user_role SET until = NULL, reason = NULL, told_at = NULL WHERE until IS NOT NULL";
    tx.execute(text, &[])?;
    Ok(ended)
}

/// Has the directory synchronised as soon as a service runs. What the synchronisation remembers is not in a backup.
fn request_synchronisation(tx: &Tx<'_>, now: Timestamp) -> Result<()> {
    let (text, state) = ("UPDATE chore SET state = $1 WHERE name = $2", Chore::due_state(now));
    tx.execute(text, &args![&*state, Chore::Synchronise.name()]).map(drop)
}
