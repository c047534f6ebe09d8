//! The use of refresh tokens: each gives one successor.

use std::time::Duration;

use deskpass_core::{Digest, EmployeeKey, Timestamp};

use super::endings::end_alone;
use super::record::GrantRecord;
use super::tokens::{TokenKind, find_grant_of_refresh, insert, used_at};
use crate::cache::CacheChange;
use crate::database::{Sql, Tx};
use crate::locks::lock_session;
use crate::{LogEntry, Result, Store};

/// How long a used refresh token is recognised at least, and how many are however old they are. A working client uses four an hour.
const USED_LIFETIME: Duration = Duration::from_hours(1);
const MAX_USED: i64 = 100;

/// A request to use a refresh token.
#[derive(Clone, Debug)]
pub struct RefreshRequest {
    /// The digest of the token.
    pub token: Digest,
    /// The client that presents it.
    pub client_id: String,
    /// When it is used.
    pub now: Timestamp,
    /// The digest of the next refresh token.
    pub successor: Digest,
    /// The digest of the next access token.
    pub access: Digest,
    /// How long the access token is valid, if the grant does not expire before.
    pub access_lifetime: Duration,
    /// How long the same tokens are given again, in case the response was lost. It counts by the clocks of the nodes that use the token,
    /// so it is longer or shorter by as much as they differ.
    pub repeat_window: Duration,
    /// The audit event if the token was used before that and the grant ends.
    pub reuse_entry: LogEntry,
}

/// Outcome of using a refresh token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefreshOutcome {
    /// The token was used now, at this time, and the next tokens are valid.
    Rotated(GrantRecord, Timestamp),
    /// The token was used at this time, not long ago: the tokens that it gave are given again.
    Repeated(GrantRecord, Timestamp),
    /// The token was used before, and the grant was ended.
    Reused(GrantRecord),
    /// The token is unknown, of another client, or its grant has ended.
    Invalid,
}

impl Store {
    /// Uses a refresh token, if its grant has neither ended nor expired, its session is valid and its employee enabled. A second use
    /// after the window ends the grant, and is logged.
    pub async fn refresh_grant(&self, refresh: RefreshRequest) -> Result<RefreshOutcome> {
        self.database.write(move |tx| rotate(tx, &refresh)).await
    }
}

fn rotate(tx: &mut Tx<'_>, refresh: &RefreshRequest) -> Result<RefreshOutcome> {
    let RefreshRequest { token, client_id, now, successor, access, access_lifetime, repeat_window, reuse_entry } =
        refresh;
    let found = find_grant_of_refresh(tx, *token)?.filter(|grant| grant.client_id == *client_id);
    let Some(grant) = found else { return Ok(RefreshOutcome::Invalid) };
    if !lock_valid(tx, &grant, *now)? {
        return Ok(RefreshOutcome::Invalid);
    }
    let text = "UPDATE oidc_token SET used_at = $2 WHERE digest = $1 AND used_at IS NULL";
    if tx.execute(text, &args![*token, *now])? == 1 {
        let until = (*now + *access_lifetime).min(grant.expires_at);
        insert(tx, *successor, &grant.id, TokenKind::Refresh, (*now, grant.expires_at))?;
        insert(tx, *access, &grant.id, TokenKind::Access, (*now, until))?;
        delete_older(tx, &grant, refresh)?;
        return Ok(RefreshOutcome::Rotated(grant, *now));
    }
    let Some(used_at) = used_at(tx, *token)? else { return Ok(RefreshOutcome::Invalid) };
    if *now < used_at + *repeat_window {
        return Ok(RefreshOutcome::Repeated(grant, used_at));
    }
    end_alone(tx, "id = $1", &args![&*grant.id], *now, true)?;
    reuse_entry.write(tx)?;
    Ok(RefreshOutcome::Reused(GrantRecord { ended_at: Some(*now), ..grant }))
}

/// The access tokens that a refresh replaces: not those that came with the used refresh token, which a request may still carry, nor
/// those that a repetition may still give again.
const OLDER_ACCESS: &str = "kind = 'access' AND created_at < $2
    AND created_at < (SELECT t.created_at FROM oidc_token t WHERE t.digest = $3)";

/// Deletes what a grant has outgrown, so that a client which refreshes without end does not fill the table. A late use of a refresh
/// token must still be recognised, so used ones go only where there are very many, and not soon.
fn delete_older(tx: &mut Tx<'_>, grant: &GrantRecord, refresh: &RefreshRequest) -> Result<()> {
    let repeated_from = refresh.now - refresh.repeat_window;
    let text = format!("SELECT digest FROM oidc_token WHERE grant_id = $1 AND {OLDER_ACCESS}");
    let older = tx.rows(&text, &args![&*grant.id, repeated_from, refresh.token], |row| row.digest(0))?;
    for digest in &older {
        tx.record_change(CacheChange::Session(*digest));
        tx.execute("DELETE FROM oidc_token WHERE digest = $1", &args![*digest])?;
    }
    let text = "DELETE FROM oidc_token WHERE grant_id = $1 AND kind = 'refresh' AND used_at < $2
        AND $3 < (SELECT count(*) FROM oidc_token t WHERE t.grant_id = $1 AND t.used_at IS NOT NULL)";
    tx.execute(text, &args![&*grant.id, refresh.now - USED_LIFETIME, MAX_USED]).map(drop)
}

/// Whether a grant is valid; locks its session and itself until the transaction ends, in the order in which they end. Of several
/// concurrent uses of a token, the others wait here.
fn lock_valid(tx: &Tx<'_>, grant: &GrantRecord, now: Timestamp) -> Result<bool> {
    let session = lock_session(tx, grant.session, &grant.employee)?;
    if session.is_none_or(|session| session.expires_at <= now) {
        return Ok(false);
    }
    let text = "UPDATE oidc_grant SET id = id WHERE id = $1 AND ended_at IS NULL AND expires_at > $2";
    Ok(tx.execute(text, &args![&*grant.id, now])? == 1 && may_use_clients(tx, &grant.employee)?)
}

/// Whether an employee may use clients: enabled, not left, and confirmed.
fn may_use_clients(sql: &Sql<'_>, employee: &EmployeeKey) -> Result<bool> {
    let text = "SELECT 1 FROM employee WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL
        AND left_at IS NULL AND unconfirmed_at IS NULL";
    sql.exists(text, &args![employee.corp(), employee.id()])
}
