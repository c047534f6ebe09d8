//! A row of a query result, from either database.

use deskpass_core::{Digest, EmployeeKey, Role, Timestamp};
use rusqlite::types::ValueRef;
use tokio_postgres::types::Type;

use crate::{Result, StoreError};

pub(crate) enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(&'a tokio_postgres::Row),
}

impl Row<'_> {
    pub(crate) fn text(&self, column: usize) -> Result<String> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => Ok(row.try_get(column)?),
        }
    }

    pub(crate) fn int(&self, column: usize) -> Result<i64> {
        self.maybe_int(column)?.ok_or_else(|| StoreError::damaged("missing number"))
    }

    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<String>> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => Ok(row.try_get(column)?),
        }
    }

    pub(crate) fn maybe_int(&self, column: usize) -> Result<Option<i64>> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => number(row, column),
        }
    }

    pub(crate) fn is_null(&self, column: usize) -> Result<bool> {
        match self {
            Self::Sqlite(row) => Ok(row.get_ref(column)? == ValueRef::Null),
            Self::Postgres(row) => is_null(row, column),
        }
    }

    pub(crate) fn timestamp(&self, column: usize) -> Result<Timestamp> {
        self.int(column).map(Timestamp::from_millis)
    }

    pub(crate) fn maybe_timestamp(&self, column: usize) -> Result<Option<Timestamp>> {
        Ok(self.maybe_int(column)?.map(Timestamp::from_millis))
    }

    /// Reads an employee from this column and the next.
    pub(crate) fn employee(&self, column: usize) -> Result<EmployeeKey> {
        Ok(EmployeeKey::from_parts(&self.text(column)?, &self.text(column + 1)?))
    }

    /// Reads an employee from this column and the next, unless they are NULL.
    pub(crate) fn maybe_employee(&self, column: usize) -> Result<Option<EmployeeKey>> {
        let parts = self.maybe_text(column)?.zip(self.maybe_text(column + 1)?);
        Ok(parts.map(|(corp, id)| EmployeeKey::from_parts(&corp, &id)))
    }

    pub(crate) fn maybe_role(&self, column: usize) -> Result<Option<Role>> {
        if self.is_null(column)? { Ok(None) } else { self.role(column).map(Some) }
    }

    pub(crate) fn role(&self, column: usize) -> Result<Role> {
        Role::from_id(self.int(column)?).ok_or_else(|| StoreError::damaged("unknown role id"))
    }

    pub(crate) fn digest(&self, column: usize) -> Result<Digest> {
        Digest::from_text(&self.text(column)?).ok_or_else(|| StoreError::damaged("unreadable digest"))
    }
}

/// Reads a number of either size: PostgreSQL returns INT4 for plain numbers in a query.
fn number(row: &tokio_postgres::Row, column: usize) -> Result<Option<i64>> {
    match row.columns().get(column).map(tokio_postgres::Column::type_) {
        Some(&Type::INT4) => Ok(row.try_get::<_, Option<i32>>(column)?.map(i64::from)),
        _ => Ok(row.try_get(column)?),
    }
}

fn is_null(row: &tokio_postgres::Row, column: usize) -> Result<bool> {
    match row.columns().get(column).map(tokio_postgres::Column::type_) {
        Some(&Type::TEXT) => Ok(row.try_get::<_, Option<&str>>(column)?.is_none()),
        _ => number(row, column).map(|number| number.is_none()),
    }
}
