//! What happened at the desk, one row for each event, written with the event itself.

use deskpass_core::{EmployeeKey, LoginMethod, LoginSource, Role, Timestamp, Visitor};

use crate::database::Tx;
use crate::{Store, StoreError};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Somebody signed in.
    SignIn,
    /// Somebody signed out.
    Logout,
    /// Somebody chose another role.
    SwitchRole,
}

impl Event {
    /// The word in the log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SignIn => "sign_in",
            Self::Logout => "logout",
            Self::SwitchRole => "switch_role",
        }
    }
}

/// One row of the log.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// Sixteen bytes that begin with the time, in hexadecimal.
    pub id: String,
    /// When.
    pub at: Timestamp,
    /// What.
    pub event: Event,
    /// Who.
    pub employee: EmployeeKey,
    /// The role that was active afterwards, or last.
    pub role: Role,
    /// How they had signed in.
    pub method: LoginMethod,
    /// Which client they had signed in to.
    pub source: LoginSource,
    /// From where.
    pub visitor: Visitor,
}

impl LogEntry {
    pub(crate) fn write(&self, tx: &Tx<'_>) -> Result<(), StoreError> {
        let Visitor { address, user_agent } = &self.visitor;
        let values = args![
            &*self.id,
            self.at,
            self.event.name(),
            self.employee.corp(),
            self.employee.id(),
            self.role,
            self.method.name(),
            self.source.name(),
            address.logged,
            address.peer,
            user_agent.as_str()
        ];
        tx.execute(
            "INSERT INTO login_log (id, at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address,
             peer_address, user_agent) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            &values,
        )
        .map(drop)
    }
}

impl Store {
    /// The newest time on record: the clock must not start before it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn newest_moment(&self) -> Result<Option<Timestamp>, StoreError> {
        let newest = "SELECT MAX(at) FROM (SELECT at FROM (SELECT at FROM login_log ORDER BY id DESC LIMIT 1) AS newest
            UNION ALL SELECT at FROM probe) AS moments";
        self.database.read(move |sql| sql.first(newest, &[], |row| row.moment(0))).await
    }
}
