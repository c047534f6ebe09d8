//! Reading clients next to a running service.

use std::sync::Arc;

use super::client_record::{OidcClient, read_clients};
use crate::database::{Sql, read_version};
use crate::{DirectReadError, Location, Mode};

/// The first version of the tables with clients.
const CLIENTS_SINCE: i64 = 16;

/// The registered clients, read next to a running service. Fails for data of an earlier version, which has none.
pub async fn read_oidc_clients(location: &Location, mode: Mode) -> Result<Vec<Arc<OidcClient>>, DirectReadError> {
    let read = |sql: &Sql<'_>| read_clients(sql).map(|clients| clients.registered.into_values().collect());
    read_version(location, mode, CLIENTS_SINCE.., read).await
}
