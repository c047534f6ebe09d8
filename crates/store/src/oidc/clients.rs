//! Clients that administrators registered.
//!
//! A client may have got more than one transaction can end without delaying sign-ins. So a change that takes something away commits
//! alone, with a mark that what the client got is to end; that follows in batches ([`super::client_ends`]). Meanwhile each use of a
//! token is checked against the new registration.

use deskpass_core::oidc::ClientRegistration;
use deskpass_core::{Digest, Timestamp};

use super::client_record::{OidcClient, permits_the_same};
use crate::cache::CacheChange;
use crate::database::Tx;
use crate::{ChangeAuthor, ChangeError, LogEntry, Result, Store, StoreError};

impl Store {
    /// Registers a client and logs it; `false`, with no change, when there is one with this identifier, or there was one that is not
    /// told of all ends yet.
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

    /// Changes the registration of a client and logs it; `false` when there is none. If the kind, the scopes, the roles or the
    /// corporations are other ones, what it got is to end: it may have got more than it could get now.
    pub async fn change_oidc_client(
        &self,
        by: ChangeAuthor,
        id: String,
        registration: ClientRegistration,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        let json = to_json(&registration)?;
        self.write_as(by, move |tx| {
            // Locked, so that no grant begins with the former registration after this change.
            let text = "UPDATE oidc_client SET id = id WHERE id = $1 AND removed_at IS NULL RETURNING registration";
            let Some(before) = tx.first(text, &args![&*id], |row| row.text(0))? else { return Ok(false) };
            tx.execute("UPDATE oidc_client SET registration = $2 WHERE id = $1", &args![&*id, &*json])?;
            if !permits_the_same(&before, &registration) {
                tx.execute("UPDATE oidc_client SET ends_grants = 1 WHERE id = $1", &args![&*id])?;
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
            let text = "UPDATE oidc_client SET old_secret = secret, old_secret_until = $3, secret = $2
                WHERE id = $1 AND removed_at IS NULL";
            if tx.execute(text, &args![&*id, secret, old_until])? == 0 {
                return Ok(false);
            }
            changed(tx, &entry)
        })
        .await
    }

    /// Enables or disables a client and logs it; `false` when there is none. What a disabled client got is to end, also if it is
    /// enabled again before. If the store fails, the client must not be treated as disabled.
    pub async fn set_oidc_client_enabled(
        &self,
        by: ChangeAuthor,
        id: String,
        enabled: bool,
        at: Timestamp,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        self.write_as(by, move |tx| {
            let (change, other) = if enabled {
                ("disabled_at = NULL", "IS NOT NULL")
            } else {
                ("disabled_at = $2, ends_grants = 1", "IS NULL")
            };
            let text =
                format!("UPDATE oidc_client SET {change} WHERE id = $1 AND removed_at IS NULL AND disabled_at {other}");
            let mut values = args![&*id].to_vec();
            if !enabled {
                values.push(at.into());
            }
            if tx.execute(&text, &values)? == 0 {
                return tx.exists("SELECT 1 FROM oidc_client WHERE id = $1 AND removed_at IS NULL", &args![&*id]);
            }
            changed(tx, &entry)
        })
        .await
    }

    /// Removes a client and logs it; `false` when there is none. What it got is to end, and its registration stays until it was told.
    pub async fn remove_oidc_client(
        &self,
        by: ChangeAuthor,
        id: String,
        at: Timestamp,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        self.write_as(by, move |tx| {
            let text = "UPDATE oidc_client SET removed_at = $2, ends_grants = 1, secret = NULL, old_secret = NULL,
                old_secret_until = NULL WHERE id = $1 AND removed_at IS NULL";
            if tx.execute(text, &args![&*id, at])? == 0 {
                return Ok(false);
            }
            changed(tx, &entry)
        })
        .await
    }

    /// Records that a client left the settings file, or is there with other permissions, and logs it: what it got is to end, and its
    /// former registration stays until it was told. `false`, with no change, when it has nothing and was told of every end.
    pub async fn end_oidc_grants_of_client(
        &self,
        id: String,
        former: ClientRegistration,
        at: Timestamp,
        entry: LogEntry,
    ) -> Result<bool> {
        let registration = to_json(&former)?;
        self.database
            .write(move |tx| {
                let text = "SELECT 1 FROM oidc_grant WHERE client_id = $1 AND ended_at IS NULL
                    UNION ALL SELECT 1 FROM oidc_logout WHERE client_id = $1 LIMIT 1";
                if !tx.exists(text, &args![&*id])? {
                    return Ok(false);
                }
                // A client in the database with the same identifier takes its place, and is told instead.
                let text = "INSERT INTO oidc_client (id, registration, created_at, removed_at, ends_grants)
                    VALUES ($1, $2, $3, $3, 1) ON CONFLICT (id) DO UPDATE SET ends_grants = 1, registration =
                    CASE WHEN oidc_client.removed_at IS NULL THEN oidc_client.registration ELSE excluded.registration END";
                tx.execute(text, &args![&*id, &*registration, at])?;
                changed(tx, &entry)
            })
            .await
    }
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
