//! A row of a query result, from either database.

use deskpass_core::{Digest, Role, Timestamp};
use rusqlite::types::ValueRef;
use tokio_postgres::types::Type;

use crate::StoreError;

/// A row of a query result.
pub(crate) enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(&'a tokio_postgres::Row),
}

impl Row<'_> {
    pub(crate) fn text(&self, column: usize) -> Result<String, StoreError> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => Ok(row.try_get(column)?),
        }
    }

    pub(crate) fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.maybe_int(column)?.ok_or_else(|| StoreError::damaged("missing number"))
    }

    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<String>, StoreError> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => Ok(row.try_get(column)?),
        }
    }

    pub(crate) fn maybe_int(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => number(row, column),
        }
    }

    pub(crate) fn is_null(&self, column: usize) -> Result<bool, StoreError> {
        match self {
            Self::Sqlite(row) => Ok(row.get_ref(column)? == ValueRef::Null),
            Self::Postgres(row) => is_null(row, column),
        }
    }

    pub(crate) fn timestamp(&self, column: usize) -> Result<Timestamp, StoreError> {
        self.int(column).map(Timestamp::from_millis)
    }

    pub(crate) fn role(&self, column: usize) -> Result<Role, StoreError> {
        Role::from_id(self.int(column)?).ok_or_else(|| StoreError::damaged("unknown role id"))
    }

    pub(crate) fn digest(&self, column: usize) -> Result<Digest, StoreError> {
        Digest::from_text(&self.text(column)?).ok_or_else(|| StoreError::damaged("unreadable digest"))
    }
}

/// Reads a number of either size: PostgreSQL returns INT4 for plain numbers in a query.
fn number(row: &tokio_postgres::Row, column: usize) -> Result<Option<i64>, StoreError> {
    match row.columns().get(column).map(tokio_postgres::Column::type_) {
        Some(&Type::INT4) => Ok(row.try_get::<_, Option<i32>>(column)?.map(i64::from)),
        _ => Ok(row.try_get(column)?),
    }
}

fn is_null(row: &tokio_postgres::Row, column: usize) -> Result<bool, StoreError> {
    match row.columns().get(column).map(tokio_postgres::Column::type_) {
        Some(&Type::TEXT) => Ok(row.try_get::<_, Option<&str>>(column)?.is_none()),
        _ => number(row, column).map(|number| number.is_none()),
    }
}
