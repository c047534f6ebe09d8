//! The platform that the data belongs to. Employees are keyed by the identifiers of one platform, which mean nothing at another.

use super::sql::Sql;
use crate::Result;

/// The platform that the data belongs to. It is recorded at the first start and never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPlatform {
    /// The name of the platform in the settings, such as `wecom`.
    pub kind: String,
    /// Which of the platform's identifiers employees are keyed by, such as `userid`; with the application if each has its own
    /// identifiers, such as `open_id:CLIENT_ID`.
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
    /// It is the same kind of identifier, but of another application.
    #[error(
        "its employees are known by the identifiers of the application platform.client_id = {found:?}, and the settings \
         have platform.client_id = {wanted:?}, which has other identifiers for the same people, so that everyone would be \
         unknown: roles, agents, passwords and devices belong to the former identifiers"
    )]
    Application {
        /// The application whose identifiers key the data.
        found: String,
        /// The application of the settings.
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
            Self::Application { found, .. } => format!("platform.client_id = {found:?}"),
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
        let [found, wanted] = [self, wanted].map(Self::person_id_parts);
        if found.0 != wanted.0 {
            return Err(PlatformMismatch::PersonId { found: found.0.to_owned(), wanted: wanted.0.to_owned() });
        }
        if found.1 != wanted.1 {
            return Err(PlatformMismatch::Application { found: found.1.to_owned(), wanted: wanted.1.to_owned() });
        }
        Ok(())
    }

    /// The kind of identifier, and the application that it belongs to, if that makes a difference.
    fn person_id_parts(&self) -> (&str, &str) {
        self.person_id.split_once(':').unwrap_or((self.person_id.as_str(), ""))
    }
}

/// The platform that the data belongs to, in tables of the newest version.
pub(crate) fn recorded_platform(sql: &Sql<'_>) -> Result<Option<DataPlatform>> {
    let text = "SELECT platform_kind, person_id FROM desk";
    let recorded = sql.first(text, &[], |row| Ok(row.maybe_text(0)?.zip(row.maybe_text(1)?)))?.flatten();
    Ok(recorded.map(|(kind, person_id)| DataPlatform { kind, person_id }))
}
