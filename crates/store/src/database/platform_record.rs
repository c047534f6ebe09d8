//! The platform that the data belongs to. Employees are keyed by the identifiers of one platform, which mean nothing at another.

use super::sql::Sql;
use crate::Result;

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

/// The platform that the data belongs to, in tables of the newest version.
pub(crate) fn recorded_platform(sql: &Sql<'_>) -> Result<Option<DataPlatform>> {
    let text = "SELECT platform_kind, person_id FROM desk";
    let recorded = sql.first(text, &[], |row| Ok(row.maybe_text(0)?.zip(row.maybe_text(1)?)))?.flatten();
    Ok(recorded.map(|(kind, person_id)| DataPlatform { kind, person_id }))
}
