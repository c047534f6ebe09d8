//! Statements of PostgreSQL for many rows of values at once. A statement for each row costs a start, a plan's set-up and a message of its
//! own, more than the row itself.

use std::iter::repeat;

use super::SqlValue;

/// A list of rows as part of a statement: a table of this name, with its columns. Places without a row are NULL, so that a statement has
/// one text, however many rows there are.
#[derive(Debug)]
pub(crate) struct RowList {
    size: usize,
    width: usize,
    /// The statement.
    pub(crate) text: String,
}

impl RowList {
    /// A statement for so many rows. `statement` makes it of the table, which follows `FROM`; each column has a name and a type.
    pub(crate) fn new(size: usize, columns: &[(&str, &str)], statement: impl FnOnce(&str) -> String) -> Self {
        let row = |row: usize| {
            let places = columns.iter().zip(row * columns.len() + 1..);
            let places: Vec<_> = places.map(|((_, kind), place)| format!("${place}::{kind}")).collect();
            format!("({})", places.join(", "))
        };
        let rows: Vec<_> = (0..size).map(row).collect();
        let table = format!("(VALUES {}) AS new ({})", rows.join(", "), names(columns));
        Self { size, width: columns.len(), text: statement(&table) }
    }

    /// The values of the statement for the first rows, for those after them, and so on.
    pub(crate) fn values<'v>(&self, rows: Vec<Vec<SqlValue<'v>>>) -> Vec<Vec<SqlValue<'v>>> {
        let (size, mut rows) = (self.size * self.width, rows.into_iter().peekable());
        let mut lists = Vec::new();
        while rows.peek().is_some() {
            let list = rows.by_ref().take(self.size).flatten();
            lists.push(list.chain(repeat(SqlValue::Null)).take(size).collect());
        }
        lists
    }
}

/// The names of columns, separated by commas.
pub(crate) fn names(columns: &[(&str, &str)]) -> String {
    columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_places_for_all_rows_and_those_left_over_are_null() {
        let columns = [("id", "text"), ("at", "bigint")];
        let list = RowList::new(2, &columns, |new| format!("SELECT {} FROM {new}", names(&columns)));
        let text = "SELECT id, at FROM (VALUES ($1::text, $2::bigint), ($3::text, $4::bigint)) AS new (id, at)";
        assert_eq!(list.text, text);
        let rows = ["a", "b", "c"].map(|id| args![id, 1_i64].to_vec());
        let one = SqlValue::Int(1);
        assert_eq!(
            list.values(rows.to_vec()),
            [
                ["a".into(), one.clone(), "b".into(), one.clone()].to_vec(),
                ["c".into(), one, SqlValue::Null, SqlValue::Null].to_vec()
            ]
        );
        assert!(list.values(Vec::new()).is_empty());
    }
}
