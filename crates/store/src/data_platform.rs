//! The first start decides which platform the data belongs to.

use deskpass_core::Timestamp;

use crate::database::{DataPlatform, Sql, read_version, recorded_platform, schema_version};
use crate::{DirectReadError, Location, Mode, Result, Store, StoreError};

/// The first version of the tables that records the platform.
const RECORDED_SINCE: i64 = 15;

/// The first version of the tables that keeps the platform's events.
const EVENTS_SINCE: i64 = 18;

impl Store {
    /// The platform that the data belongs to, if it is decided.
    pub async fn data_platform(&self) -> Result<Option<DataPlatform>> {
        self.database.read(recorded_platform).await
    }

    /// Returns the platform that the data belongs to. Data without one gets `own`; of nodes that start at once, the first decides.
    pub async fn claim_platform(&self, own: DataPlatform) -> Result<DataPlatform> {
        // Usually it is recorded, and a start need not write.
        if let Some(recorded) = self.data_platform().await? {
            return Ok(recorded);
        }
        let text = "UPDATE desk SET platform_kind = $1, person_id = $2 WHERE platform_kind IS NULL";
        self.database
            .write(move |tx| {
                // A second node waits here for the first one, and then finds no row to change.
                tx.execute(text, &args![&*own.kind, &*own.person_id])?;
                recorded_platform(tx)?.ok_or_else(|| StoreError::damaged("the database does not record its platform"))
            })
            .await
    }
}

/// The platform that the data belongs to, read next to a running service and from data of any earlier version. `None` if it is not
/// decided yet.
pub async fn read_data_platform(location: &Location, mode: Mode) -> Result<Option<DataPlatform>, DirectReadError> {
    let read = |sql: &Sql<'_>| {
        if schema_version(sql)? >= RECORDED_SINCE {
            return recorded_platform(sql);
        }
        // As the migration decides it.
        let has_people = "SELECT 1 WHERE EXISTS (SELECT 1 FROM employee) OR EXISTS (SELECT 1 FROM session)";
        Ok(sql.exists(has_people, &[])?.then(|| DataPlatform::new("wecom", "userid")))
    };
    read_version(location, mode, 1.., read).await
}

/// The corporations in which people have roles, read next to a running service and from data of any earlier version.
pub async fn read_corporations_with_roles(location: &Location, mode: Mode) -> Result<Vec<String>, DirectReadError> {
    let text = "SELECT DISTINCT corp_id FROM user_role ORDER BY corp_id";
    read_version(location, mode, 1.., move |sql| sql.rows(text, &[], |row| row.text(0))).await
}

/// When the newest event of the platform arrived, read next to a running service. Events of the last days are known.
pub async fn read_latest_event(location: &Location, mode: Mode) -> Result<Option<Timestamp>, DirectReadError> {
    let text = "SELECT MAX(received_at) FROM platform_event";
    let read = move |sql: &Sql<'_>| sql.first(text, &[], |row| row.maybe_timestamp(0)).map(Option::flatten);
    read_version(location, mode, EVENTS_SINCE.., read).await
}
