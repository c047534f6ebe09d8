//! What a client got, as it is stored.

use std::any::Any;
use std::net::IpAddr;
use std::sync::OnceLock;

use deskpass_core::oidc::OidcScopes;
use deskpass_core::{Digest, EmployeeKey, Role, Roles, Timestamp};

use crate::database::{Row, SqlValue};
use crate::{Result, StoreError};

/// What one client got for one session, from one authorization code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantRecord {
    /// Identifier of the grant. It grants no access.
    pub id: String,
    /// The session, by the digest of its token.
    pub session: Digest,
    /// The client.
    pub client_id: String,
    /// The employee of the session.
    pub employee: EmployeeKey,
    /// The identifier by which clients know the employee.
    pub subject: String,
    /// The identifier by which the client knows the session.
    pub sid: String,
    /// The granted scopes.
    pub scopes: OidcScopes,
    /// The roles that it depends on: those that the client was told last, and those without which it would not have got it.
    pub roles: Roles,
    /// The decided address of the browser that the grant began in.
    pub address: IpAddr,
    /// When it began.
    pub created_at: Timestamp,
    /// When it expires: never after its session.
    pub expires_at: Timestamp,
    /// When it ended before its session.
    pub ended_at: Option<Timestamp>,
}

/// A grant that has just been ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedGrant {
    /// Identifier of the grant.
    pub id: String,
    /// The client.
    pub client_id: String,
    /// The employee of its session.
    pub employee: EmployeeKey,
    /// The identifier by which the client knows the session.
    pub sid: String,
}

/// An access token of a client, with a slot for one value that the application derives from its grant.
///
/// The slot is part of the entry because the hot path has the entry in hand: a cache of derived values of its own would
/// cost a second lookup, and would have to be invalidated as well. The store does not know what is in the slot: a type
/// parameter instead of `Any` would spread to every type that contains a [`crate::Store`].
#[derive(Debug)]
pub struct AccessTokenRecord {
    /// The grant.
    pub grant: GrantRecord,
    /// When the token expires.
    pub expires_at: Timestamp,
    derived: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl AccessTokenRecord {
    pub(super) fn new(grant: GrantRecord, expires_at: Timestamp) -> Self {
        Self { grant, expires_at, derived: OnceLock::new() }
    }

    /// The value in the slot, which the first call derives; `None` when that was a value of another type.
    pub fn derived<T: Any + Send + Sync>(&self, derive: impl FnOnce(&GrantRecord) -> T) -> Option<&T> {
        self.derived.get_or_init(|| Box::new(derive(&self.grant))).downcast_ref()
    }
}

/// The columns of `oidc_grant g` that [`grant`] reads.
pub(super) const GRANT_COLUMNS: &str =
    "g.id, g.session, g.client_id, g.corp_id, g.employee_key, g.subject, g.sid, g.scopes,
    g.roles, g.address, g.created_at, g.expires_at, g.ended_at";

/// The first column after those of [`GRANT_COLUMNS`].
pub(super) const NEXT_COLUMN: usize = 13;

/// Reads a grant from the first columns of a row.
pub(super) fn grant(row: &Row<'_>) -> Result<GrantRecord> {
    Ok(GrantRecord {
        id: row.text(0)?,
        session: row.digest(1)?,
        client_id: row.text(2)?,
        employee: row.employee(3)?,
        subject: row.text(5)?,
        sid: row.text(6)?,
        scopes: OidcScopes::parse(&row.text(7)?),
        roles: row.text(8)?.split(' ').filter_map(Role::from_name).collect(),
        address: row.text(9)?.parse().map_err(|_| StoreError::damaged("unreadable address of a grant"))?,
        created_at: row.timestamp(10)?,
        expires_at: row.timestamp(11)?,
        ended_at: row.maybe_timestamp(12)?,
    })
}

/// Roles as the column `roles` has them: names, separated by blanks.
pub(super) fn role_names(roles: Roles) -> String {
    roles.iter().map(Role::name).collect::<Vec<_>>().join(" ")
}

/// The most values that one statement lists.
pub(super) const BATCH_VALUES: usize = 100;

/// The placeholders `$1` to `$count`, separated by commas.
pub(super) fn placeholders(count: usize) -> String {
    (1..=count).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ")
}

/// Texts as the values of a statement.
pub(super) fn texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<SqlValue<'a>> {
    texts.into_iter().map(SqlValue::from).collect()
}
