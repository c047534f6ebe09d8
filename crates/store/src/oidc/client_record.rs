//! A client as it is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use deskpass_core::oidc::{ClientKind, ClientRegistration, OidcScopes};
use deskpass_core::{Digest, EmployeeKey, Roles, Timestamp};

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

/// All clients in the database.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoredClients {
    /// Those that are registered, by identifier.
    pub(crate) registered: BTreeMap<String, Arc<OidcClient>>,
    /// Those that were removed and may still have to be told of the end of sessions, by identifier.
    pub(crate) removed: BTreeMap<String, Arc<OidcClient>>,
    /// The identifiers of those whose grants are being ended.
    pub(crate) ending: Vec<String>,
}

/// What a client may get.
type Permissions<'a> = (ClientKind, OidcScopes, Roles, &'a [String]);

fn permissions(registration: &ClientRegistration) -> Permissions<'_> {
    let ClientRegistration { kind, scopes, roles, corporations, .. } = registration;
    (*kind, *scopes, *roles, corporations.as_slice())
}

/// Whether a client with the stored registration may get the same as with another one.
pub(super) fn permits_the_same(stored: &str, other: &ClientRegistration) -> bool {
    registration_from_json(stored).is_some_and(|stored| permissions(&stored) == permissions(other))
}

/// Whether a code for a client with this registration would also be given to one with the stored registration.
pub(super) fn accepts_codes_of(stored: &str, other: &ClientRegistration) -> bool {
    registration_from_json(stored)
        .is_some_and(|stored| permissions(&stored) == permissions(other) && stored.redirect_uris == other.redirect_uris)
}

/// Reads a registration; `None` if it is unreadable.
fn registration_from_json(text: &str) -> Option<ClientRegistration> {
    serde_json::from_str(text).ok()
}

/// Reads all clients.
pub(crate) fn read_clients(sql: &Sql<'_>) -> Result<StoredClients> {
    let text =
        "SELECT id, registration, secret, old_secret, old_secret_until, created_at, created_by_corp, created_by_key,
        disabled_at, removed_at, ends_grants FROM oidc_client ORDER BY id";
    let read = |row: &Row<'_>| Ok((client(row)?, row.text(0)?, row.is_null(9)?, row.int(10)? == 1));
    let mut clients = StoredClients::default();
    for (client, id, is_registered, ends_grants) in sql.rows(text, &[], read)? {
        if ends_grants {
            clients.ending.push(id.clone());
        }
        let known = if is_registered { &mut clients.registered } else { &mut clients.removed };
        known.extend(client.map(|client| (id, Arc::new(client))));
    }
    Ok(clients)
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
