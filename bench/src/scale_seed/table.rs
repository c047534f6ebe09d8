//! Tables and the values of their rows, for both databases.

use rusqlite::ToSql as SqliteValue;
use rusqlite::types::{ToSqlOutput, ValueRef};
use tokio_postgres::types::{ToSql as PostgresValue, Type};

/// A table that is filled.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: &'static [Column],
    /// Whether rows that are there already are removed. No other table refers to them.
    pub(super) is_replaced: bool,
}

/// A column and its type.
#[derive(Clone, Copy, Debug)]
pub(super) enum Column {
    Int(&'static str),
    Text(&'static str),
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    Null,
    Int(i64),
    Text(String),
}

impl Table {
    /// The names of the columns, separated by commas.
    pub(super) fn column_names(&self) -> String {
        let names: Vec<_> = self.columns.iter().map(|column| column.name()).collect();
        names.join(", ")
    }
}

impl Column {
    const fn name(self) -> &'static str {
        match self {
            Self::Int(name) | Self::Text(name) => name,
        }
    }

    /// The type of the column in PostgreSQL.
    pub(super) const fn postgres_type(self) -> Type {
        match self {
            Self::Int(_) => Type::INT8,
            Self::Text(_) => Type::TEXT,
        }
    }
}

impl Cell {
    /// The value for a column of PostgreSQL, where an absent value has a type as well.
    pub(super) fn postgres(&self, column: Column) -> &(dyn PostgresValue + Sync) {
        match (self, column) {
            (Self::Int(number), _) => number,
            (Self::Text(text), _) => text,
            (Self::Null, Column::Int(_)) => &None::<i64>,
            (Self::Null, Column::Text(_)) => &None::<&'static str>,
        }
    }
}

impl SqliteValue for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
