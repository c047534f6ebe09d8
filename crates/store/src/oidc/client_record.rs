//! A client as it is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use deskpass_core::oidc::ClientRegistration;
use deskpass_core::{Digest, EmployeeKey, Timestamp};

use crate::database::{Row, Sql};
use crate::{Result, StoreError};

/// A registered client. The store has only the digests of its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcClient {
    /// Identifier of the client.
    pub id: String,
    /// What it is registered with.
    pub registration: ClientRegistration,
    /// SHA-256 of its secret, if it has one.
    pub secret: Option<Digest>,
    /// SHA-256 of the secret before, and until when it counts.
    pub old_secret: Option<(Digest, Timestamp)>,
    /// When it was registered.
    pub created_at: Timestamp,
    /// The administrator who registered it; `None` if an operator did.
    pub created_by: Option<EmployeeKey>,
    /// When it was disabled.
    pub disabled_at: Option<Timestamp>,
}

/// Reads a registration; `None` if it is unreadable.
pub(super) fn registration_from_json(text: &str) -> Option<ClientRegistration> {
    serde_json::from_str(text).ok()
}

/// All clients, by identifier.
pub(crate) fn read_clients(sql: &Sql<'_>) -> Result<BTreeMap<String, Arc<OidcClient>>> {
    let text =
        "SELECT id, registration, secret, old_secret, old_secret_until, created_at, created_by_corp, created_by_key,
        disabled_at FROM oidc_client";
    let clients = sql.rows(text, &[], client)?;
    Ok(clients.into_iter().flatten().map(|client| (client.id.clone(), Arc::new(client))).collect())
}

/// Reads a client; `None` if its registration is unreadable: a later version may have written it. Then it gets nothing here, and the
/// other clients must not be affected.
fn client(row: &Row<'_>) -> Result<Option<OidcClient>> {
    let id = row.text(0)?;
    let Some(registration) = registration_from_json(&row.text(1)?) else {
        tracing::warn!(client = %id, "the registration of an OpenID Connect client is unreadable");
        return Ok(None);
    };
    let digest = |column| Ok::<_, StoreError>(row.maybe_text(column)?.and_then(|text| Digest::from_text(&text)));
    Ok(Some(OidcClient {
        id,
        registration,
        secret: digest(2)?,
        old_secret: digest(3)?.zip(row.maybe_timestamp(4)?),
        created_at: row.timestamp(5)?,
        created_by: row.maybe_employee(6)?,
        disabled_at: row.maybe_timestamp(8)?,
    }))
}
