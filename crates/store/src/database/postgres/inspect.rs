//! Reads the status of the PostgreSQL server, for diagnosis.

use deskpass_core::Timestamp;

use super::PostgresSettings;
use super::address::PostgresAddress;
use super::connection::PostgresConnection;
use super::dedicated::run_on;
use crate::database::{SchemaFit, Sql, migrate};
use crate::{Result, StoreError};

/// The status of a PostgreSQL server.
#[derive(Clone, Debug)]
pub struct PostgresStatus {
    /// The version as a number: 150004 is 15.4.
    pub version: u32,
    /// Whether the server takes no writes, because it is a standby or is configured as read-only.
    pub read_only: bool,
    /// Whether the connection is encrypted.
    pub encrypted: bool,
    /// How the version of the tables fits this program.
    pub tables: SchemaFit,
    /// The newest schema version that this program knows.
    pub known: i64,
    /// The time by the server's clock.
    pub now: Timestamp,
}

/// Reads the status of the PostgreSQL server and changes nothing there.
pub async fn inspect_postgres(at: &PostgresSettings) -> Result<PostgresStatus> {
    let address = PostgresAddress::new(at).map_err(|error| StoreError::unavailable(&error))?;
    let inspected = run_on(address.clone(), inspect).await;
    match inspected {
        Ok(status) => status,
        // The server may be read-only.
        Err(error) => run_on(address.allow_read_only(), inspect).await.map_err(|_| error)?,
    }
}

fn inspect(connection: &PostgresConnection) -> Result<PostgresStatus> {
    let sql = Sql::Postgres(connection);
    let text = "SELECT current_setting('server_version_num')::bigint,
        CASE WHEN pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' THEN 1 ELSE 0 END,
        (SELECT COUNT(*) FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl),
        (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let (known, tables) = (migrate::newest_version(), migrate::schema_fit(&sql)?);
    let status = sql.first(text, &[], |row| {
        let version = u32::try_from(row.int(0)?).unwrap_or_default();
        let (read_only, encrypted, now) = (row.int(1)? == 1, row.int(2)? == 1, row.timestamp(3)?);
        Ok(PostgresStatus { version, read_only, encrypted, tables, known, now })
    })?;
    status.ok_or_else(|| StoreError::unavailable(&"the server did not report its version"))
}
