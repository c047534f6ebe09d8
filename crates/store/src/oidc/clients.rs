//! Clients that administrators registered.

use deskpass_core::oidc::ClientRegistration;
use deskpass_core::{Digest, Timestamp};

use super::client_record::{OidcClient, registration_from_json};
use super::endings::{delete_of_client, end_of_client};
use crate::cache::CacheChange;
use crate::database::Tx;
use crate::{ChangeAuthor, ChangeError, LogEntry, Result, Store, StoreError};

/// Begins the status of the end of a session for a client that was removed; its address follows.
const REMOVED_CLIENT_STATUS: &str = "backchannel:";

impl Store {
    /// Registers a client and logs it; `false`, with no change, when there is one with this identifier.
    pub async fn add_oidc_client(
        &self,
        by: ChangeAuthor,
        client: OidcClient,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        let registration = to_json(&client.registration)?;
        self.write_as(by, move |tx| {
            let OidcClient { id, secret, old_secret, created_at, created_by, disabled_at, .. } = &client;
            let (old_secret, old_until) = old_secret.unzip();
            let (corp, maker) = created_by.as_ref().map(|maker| (maker.corp(), maker.id())).unzip();
            let text = "INSERT INTO oidc_client (id, registration, secret, old_secret, old_secret_until, created_at,
                created_by_corp, created_by_key, disabled_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                ON CONFLICT (id) DO NOTHING";
            let (json, disabled_at) = (&*registration, *disabled_at);
            let values = args![&**id, json, *secret, old_secret, old_until, *created_at, corp, maker, disabled_at];
            if tx.execute(text, &values)? == 0 {
                return Ok(false);
            }
            changed(tx, &entry)
        })
        .await
    }

    /// Changes the registration of a client and logs it; `false` when there is none. What it got ends if the kind, the scopes, the roles
    /// or the corporations are other ones: it may have got more than it could get now.
    pub async fn change_oidc_client(
        &self,
        by: ChangeAuthor,
        id: String,
        registration: ClientRegistration,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        let json = to_json(&registration)?;
        self.write_as(by, move |tx| {
            // Locked, so that no grant begins with the former registration after its grants have ended.
            let text = "UPDATE oidc_client SET id = id WHERE id = $1 RETURNING registration";
            let Some(before) = tx.first(text, &args![&*id], |row| row.text(0))? else { return Ok(false) };
            tx.execute("UPDATE oidc_client SET registration = $2 WHERE id = $1", &args![&*id, &*json])?;
            if !permits_the_same(&before, &registration) {
                end_of_client(tx, &id, entry.at)?;
            }
            changed(tx, &entry)
        })
        .await
    }

    /// Replaces the secret of a client and logs it; `false` when there is none. The former secret counts until `old_until`.
    pub async fn set_oidc_secret(
        &self,
        by: ChangeAuthor,
        id: String,
        secret: Digest,
        old_until: Timestamp,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        self.write_as(by, move |tx| {
            let text = "UPDATE oidc_client SET old_secret = secret, old_secret_until = $3, secret = $2 WHERE id = $1";
            if tx.execute(text, &args![&*id, secret, old_until])? == 0 {
                return Ok(false);
            }
            changed(tx, &entry)
        })
        .await
    }

    /// Enables or disables a client and logs it; `false` when there is none. What a disabled client got ends, and it is told. If the
    /// store fails, the client must not be treated as disabled.
    pub async fn set_oidc_client_enabled(
        &self,
        by: ChangeAuthor,
        id: String,
        enabled: bool,
        at: Timestamp,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        self.write_as(by, move |tx| {
            let (disabled_at, other) = if enabled { (None, "IS NOT NULL") } else { (Some(at), "IS NULL") };
            let text = format!("UPDATE oidc_client SET disabled_at = $2 WHERE id = $1 AND disabled_at {other}");
            if tx.execute(&text, &args![&*id, disabled_at])? == 0 {
                return tx.exists("SELECT 1 FROM oidc_client WHERE id = $1", &args![&*id]);
            }
            if !enabled {
                end_of_client(tx, &id, at)?;
            }
            changed(tx, &entry)
        })
        .await
    }

    /// Removes a client and what it got, and logs it; `false` when there is none. It is still told of the sessions that end with it.
    pub async fn remove_oidc_client(
        &self,
        by: ChangeAuthor,
        id: String,
        at: Timestamp,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        self.write_as(by, move |tx| {
            let text = "DELETE FROM oidc_client WHERE id = $1 RETURNING registration";
            let Some(registration) = tx.first(text, &args![&*id], |row| row.text(0))? else { return Ok(false) };
            delete_of_client(tx, &id, at)?;
            let address =
                registration_from_json(&registration).and_then(|registration| registration.backchannel_logout_uri);
            keep_address(tx, &id, address.as_deref())?;
            changed(tx, &entry)
        })
        .await
    }

    /// Ends what a client got that is no longer in the settings file, and logs it unless there is nothing; returns the number of ended
    /// grants. It is still told at its former address.
    pub async fn end_oidc_grants_of_client(
        &self,
        id: String,
        backchannel: Option<String>,
        at: Timestamp,
        entry: LogEntry,
    ) -> Result<usize> {
        self.database
            .write(move |tx| {
                let ended = end_of_client(tx, &id, at)?;
                if ended > 0 {
                    keep_address(tx, &id, backchannel.as_deref())?;
                    changed(tx, &entry)?;
                }
                Ok(ended)
            })
            .await
    }
}

/// Keeps the address of a client that is not registered any more with the ends of sessions that it is to be told. Without an address,
/// it is told nothing.
fn keep_address(tx: &Tx<'_>, id: &str, address: Option<&str>) -> Result<()> {
    let Some(address) = address else {
        return tx.execute("DELETE FROM oidc_logout WHERE client_id = $1", &args![id]).map(drop);
    };
    let status = format!("{REMOVED_CLIENT_STATUS}{address}");
    tx.execute("UPDATE oidc_logout SET status = $2 WHERE client_id = $1", &args![id, &*status]).map(drop)
}

/// Records that a client changed, and logs it.
fn changed(tx: &mut Tx<'_>, entry: &LogEntry) -> Result<bool> {
    tx.record_change(CacheChange::Rules);
    entry.write(tx)?;
    Ok(true)
}

fn to_json(registration: &ClientRegistration) -> Result<String> {
    serde_json::to_string(registration).map_err(|error| StoreError::unavailable(&error))
}

/// Whether a client may get the same as before.
fn permits_the_same(before: &str, now: &ClientRegistration) -> bool {
    let permitted = |registration: &ClientRegistration| {
        let ClientRegistration { kind, scopes, roles, corporations, .. } = registration;
        (*kind, *scopes, *roles, corporations.clone())
    };
    registration_from_json(before).is_some_and(|before| permitted(&before) == permitted(now))
}
