//! The platform that the data belongs to. Employees are keyed by the identifiers of one platform, which mean nothing at another.

use crate::database::{Sql, read_version, schema_version};
use crate::{DirectReadError, Location, Mode, Result, Store, StoreError};

/// The first version of the tables that records the platform.
const RECORDED_SINCE: i64 = 15;

/// The platform that the data belongs to. It is recorded at the first start and never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPlatform {
    /// The name of the platform in the settings, such as `wecom`.
    pub kind: String,
    /// Which of the platform's identifiers employees are keyed by, such as `userid`.
    pub person_id: String,
}

/// The data belongs to another platform than the settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlatformMismatch {
    /// It is another platform.
    #[error(
        "its data belongs to platform.kind = {found:?}, and the settings have platform.kind = {wanted:?}, where no \
         employee of this data is known"
    )]
    Kind {
        /// The platform of the data.
        found: String,
        /// The platform of the settings.
        wanted: String,
    },
    /// It is the same platform, but employees are keyed by another of its identifiers.
    #[error(
        "its employees are known by platform.user_id = {found:?}, and the settings have platform.user_id = {wanted:?}, \
         with which everyone would be unknown: roles, agents, passwords and devices belong to the former identifiers"
    )]
    PersonId {
        /// The identifier that keys the data.
        found: String,
        /// The identifier of the settings.
        wanted: String,
    },
}

impl PlatformMismatch {
    /// The setting with which the data can be used.
    #[must_use]
    pub fn fitting_setting(&self) -> String {
        match self {
            Self::Kind { found, .. } => format!("platform.kind = {found:?}"),
            Self::PersonId { found, .. } => format!("platform.user_id = {found:?}"),
        }
    }
}

impl DataPlatform {
    /// The platform with these names.
    #[must_use]
    pub fn new(kind: &str, person_id: &str) -> Self {
        Self { kind: kind.to_owned(), person_id: person_id.to_owned() }
    }

    /// Requires that data of this platform can be used with settings of the platform `wanted`.
    pub fn require(&self, wanted: &Self) -> Result<(), PlatformMismatch> {
        if self.kind != wanted.kind {
            return Err(PlatformMismatch::Kind { found: self.kind.clone(), wanted: wanted.kind.clone() });
        }
        if self.person_id != wanted.person_id {
            let (found, wanted) = (self.person_id.clone(), wanted.person_id.clone());
            return Err(PlatformMismatch::PersonId { found, wanted });
        }
        Ok(())
    }
}

impl Store {
    /// Returns the platform that the data belongs to. Data without one gets `own`; of nodes that start at once, the first decides.
    pub async fn claim_platform(&self, own: DataPlatform) -> Result<DataPlatform> {
        // Usually it is recorded, and a start need not write.
        if let Some(recorded) = self.database.read(recorded_platform).await? {
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
    read_version(location, mode, 1, read).await
}

/// The platform that the data belongs to, in tables of the newest version.
pub(crate) fn recorded_platform(sql: &Sql<'_>) -> Result<Option<DataPlatform>> {
    let text = "SELECT platform_kind, person_id FROM desk";
    let recorded = sql.first(text, &[], |row| Ok(row.maybe_text(0)?.zip(row.maybe_text(1)?)))?.flatten();
    Ok(recorded.map(|(kind, person_id)| DataPlatform { kind, person_id }))
}
