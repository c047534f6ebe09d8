//! Grants: what a client got for a session. They begin when a code is redeemed.

use std::collections::HashMap;
use std::net::IpAddr;

use deskpass_core::oidc::{ClientRegistration, OidcScopes};
use deskpass_core::{Digest, Roles, Timestamp};

use super::client_record::accepts_codes_of;
use super::endings::delete_silently;
use super::grant_ends::end_of_code;
use super::record::{BATCH_VALUES, EndedGrant, placeholders, role_names};
use super::tokens::{TokenKind, insert as insert_token};
use crate::cache::CacheChange;
use crate::change_author::check_session;
use crate::database::{SqlValue, Tx};
use crate::directory::is_unconfirmed;
use crate::locks::{lock_enabled_client, lock_roles};
use crate::single_use::consume;
use crate::{Actor, LogEntry, Result, Revocation, Store};

/// The most grants of one session and client. A program that signs its user in again and again must not fill the table.
const MAX_GRANTS: usize = 20;

/// A grant to begin.
#[derive(Clone, Debug)]
pub struct NewGrant {
    /// Identifier of the grant: random, and never used before.
    pub id: String,
    /// The session, which must still be valid.
    pub actor: Actor,
    /// The client.
    pub client: GrantClient,
    /// The identifier by which clients know the employee.
    pub subject: String,
    /// The identifier by which the client knows the session.
    pub sid: String,
    /// The granted scopes.
    pub scopes: OidcScopes,
    /// The roles that the client is told, and those without which it would not get the grant. The employee must still hold them, and
    /// when one of them is revoked, the grant ends.
    pub roles: Roles,
    /// The decided address of the browser.
    pub address: IpAddr,
    /// The digest of the code, which the grant uses up.
    pub code: Digest,
    /// When the code expires: until then it is known that it was used.
    pub code_until: Timestamp,
    /// When the grant expires, if its session does not expire before.
    pub expires_at: Timestamp,
    /// The digest of the access token, and when it expires, if the grant does not expire before.
    pub access: (Digest, Timestamp),
    /// The digest of the refresh token, if there is one.
    pub refresh: Option<Digest>,
    /// The audit event.
    pub entry: LogEntry,
    /// The audit event if the code was used before and the grant made from it ends.
    pub reuse_entry: LogEntry,
}

/// The client of a new grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantClient {
    /// A client in the database, which must exist, be enabled, and still have what matters of the registration that its request was
    /// checked with: kind, scopes, roles, corporations and redirect URIs.
    Registered(String, Box<ClientRegistration>),
    /// A client in the settings file.
    FromFile(String),
}

impl GrantClient {
    /// Identifier of the client.
    #[must_use]
    pub fn id(&self) -> &str {
        let (Self::Registered(id, _) | Self::FromFile(id)) = self;
        id
    }
}

/// Outcome of beginning a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantOutcome {
    /// The grant has begun.
    Begun,
    /// The code was used before.
    CodeUsed {
        /// The grant that was made from the code, if it was ended now.
        ended: Option<EndedGrant>,
    },
    /// The client does not exist or is disabled. The code is not used up.
    ClientDisabled,
    /// The registration of the client has changed since it was read. The code is not used up.
    ClientChanged,
    /// The session is not valid any more, or a told role is not held any more. The code is not used up.
    Revoked(Revocation),
}

impl Store {
    /// Begins a grant with its tokens, uses its code up, and logs it. If the code was used before, the grant made from it ends. Of more
    /// than twenty grants of one session and client, the oldest are deleted.
    pub async fn begin_grant(&self, grant: NewGrant) -> Result<GrantOutcome> {
        let session = grant.actor.session;
        let outcome = self.database.write(move |tx| begin(tx, &grant)).await?;
        if let GrantOutcome::Revoked(_) = outcome {
            // Another node may have revoked the session, so the cached entry is stale.
            self.cache.apply(CacheChange::Session(session));
        }
        Ok(outcome)
    }

    /// Whether a client has a grant of this session, ended or not: the user was asked about the client.
    pub async fn has_met(&self, session: Digest, client_id: String) -> Result<bool> {
        let text = "SELECT 1 FROM oidc_grant WHERE session = $1 AND client_id = $2 LIMIT 1";
        self.database.read(move |sql| sql.exists(text, &args![session, &*client_id])).await
    }

    /// The clients that have a grant of each of these sessions which has not ended, by identifier. Sessions without one are left out.
    pub async fn clients_of_sessions(&self, sessions: Vec<Digest>) -> Result<HashMap<Digest, Vec<String>>> {
        self.database
            .read(move |sql| {
                let mut clients = HashMap::<_, Vec<String>>::new();
                for some in sessions.chunks(BATCH_VALUES) {
                    let places = placeholders(some.len());
                    let text = format!(
                        "SELECT DISTINCT session, client_id FROM oidc_grant WHERE session IN ({places}) AND ended_at IS NULL
                         ORDER BY session, client_id"
                    );
                    let values: Vec<_> = some.iter().map(|session| SqlValue::from(*session)).collect();
                    for (session, client) in sql.rows(&text, &values, |row| Ok((row.digest(0)?, row.text(1)?)))? {
                        clients.entry(session).or_default().push(client);
                    }
                }
                Ok(clients)
            })
            .await
    }
}

fn begin(tx: &mut Tx<'_>, new: &NewGrant) -> Result<GrantOutcome> {
    // Before everything else: the second use of a code ends what the first one got, whatever has changed since.
    if is_used(tx, new.code)? {
        return end_reused(tx, new);
    }
    // Locks the session: it ends before, and no grant begins, or afterwards, and the grant ends with it.
    let session = match check_session(tx, &new.actor)? {
        Ok(session) => session,
        Err(revoked) => return Ok(GrantOutcome::Revoked(revoked)),
    };
    let Actor { employee, now, .. } = &new.actor;
    if is_unconfirmed(tx, employee)? {
        // The nearest word: the client begins again, and the user is then told why.
        return Ok(GrantOutcome::Revoked(Revocation::RoleTakenAway(session.active)));
    }
    if let Some(role) = lock_roles(tx, employee, new.roles, session.default_role, *now)? {
        return Ok(GrantOutcome::Revoked(Revocation::RoleTakenAway(role)));
    }
    if let GrantClient::Registered(id, registration) = &new.client {
        let Some(stored) = lock_enabled_client(tx, id)? else { return Ok(GrantOutcome::ClientDisabled) };
        if !accepts_codes_of(&stored, registration) {
            return Ok(GrantOutcome::ClientChanged);
        }
    }
    // Of several concurrent uses of a code, one gets further.
    if !consume(tx, new.code, Digest::of(&[b"oidc grant", new.id.as_bytes()]), new.code_until)? {
        return end_reused(tx, new);
    }
    insert(tx, new, new.expires_at.min(session.expires_at))?;
    delete_oldest(tx, new)?;
    new.entry.write(tx)?;
    Ok(GrantOutcome::Begun)
}

/// Whether a code was used.
fn is_used(tx: &Tx<'_>, code: Digest) -> Result<bool> {
    let text = "SELECT 1 FROM used_once WHERE digest = $1 UNION ALL SELECT 1 FROM oidc_grant WHERE code = $1";
    tx.exists(text, &args![code])
}

fn end_reused(tx: &mut Tx<'_>, new: &NewGrant) -> Result<GrantOutcome> {
    let ended = end_of_code(tx, new.code, new.client.id(), new.actor.now, &new.reuse_entry)?;
    Ok(GrantOutcome::CodeUsed { ended })
}

/// Writes a grant and its tokens.
fn insert(tx: &Tx<'_>, new: &NewGrant, expires_at: Timestamp) -> Result<()> {
    let text = "INSERT INTO oidc_grant (id, session, client_id, corp_id, employee_key, subject, sid, scopes, roles, address, code,
        created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    let Actor { session, employee, now, .. } = &new.actor;
    let (scopes, roles) = (new.scopes.to_string(), role_names(new.roles));
    let values = args![
        &*new.id,
        *session,
        new.client.id(),
        employee.corp(),
        employee.id(),
        &*new.subject,
        &*new.sid,
        &*scopes,
        &*roles,
        new.address,
        new.code,
        *now,
        expires_at
    ];
    tx.execute(text, &values)?;
    let (access, access_until) = new.access;
    insert_token(tx, access, &new.id, TokenKind::Access, (*now, access_until.min(expires_at)))?;
    new.refresh.map_or(Ok(()), |refresh| insert_token(tx, refresh, &new.id, TokenKind::Refresh, (*now, expires_at)))
}

/// Deletes the grants of the same session and client beyond the newest ones: first those that have ended.
fn delete_oldest(tx: &mut Tx<'_>, new: &NewGrant) -> Result<()> {
    let text = format!(
        "SELECT id FROM oidc_grant WHERE session = $1 AND client_id = $2 AND id <> $3
         ORDER BY CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END, created_at DESC, id DESC LIMIT {BATCH_VALUES} OFFSET {}",
        MAX_GRANTS - 1
    );
    let oldest = tx.rows(&text, &args![new.actor.session, new.client.id(), &*new.id], |row| row.text(0))?;
    let oldest: Vec<_> = oldest.iter().map(String::as_str).collect();
    delete_silently(tx, &oldest)
}
