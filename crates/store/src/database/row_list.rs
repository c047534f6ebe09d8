//! Statements of PostgreSQL for many rows of values at once. A statement for each row costs a start, a plan's set-up and a message of its
//! own, more than the row itself.

use super::SqlValue;
use crate::{Result, StoreError};

/// A statement for a list of rows with so many columns. Places without a row are NULL, so that the statement has one text, however many
/// rows there are.
#[derive(Debug)]
pub(crate) struct RowList<const WIDTH: usize> {
    size: usize,
    pub(crate) text: String,
}

impl<const WIDTH: usize> RowList<WIDTH> {
    /// A statement for so many rows. `statement` makes it of the table `new`, which follows `FROM`; each column has a name and a type.
    pub(crate) fn new(size: usize, columns: [(&str, &str); WIDTH], statement: impl FnOnce(&str) -> String) -> Self {
        let row = |row: usize| {
            let places = columns.iter().zip(row * WIDTH + 1..);
            let places: Vec<_> = places.map(|((_, kind), place)| format!("${place}::{kind}")).collect();
            format!("({})", places.join(", "))
        };
        let rows: Vec<_> = (0..size).map(row).collect();
        let table = format!("(VALUES {}) AS new ({})", rows.join(", "), names(&columns));
        Self { size, text: statement(&table) }
    }

    /// The values of the statement for the first rows, for those after them, and so on.
    pub(crate) fn values<'v>(&self, rows: Vec<[SqlValue<'v>; WIDTH]>) -> Vec<Vec<SqlValue<'v>>> {
        let mut rows = rows.into_iter().peekable();
        let mut lists = Vec::new();
        while rows.peek().is_some() {
            let mut list: Vec<_> = rows.by_ref().take(self.size).flatten().collect();
            list.resize(self.size * WIDTH, SqlValue::Null);
            lists.push(list);
        }
        lists
    }

    /// The values of the statement without rows.
    pub(crate) fn no_rows(&self) -> Vec<SqlValue<'static>> {
        vec![SqlValue::Null; self.size * WIDTH]
    }
}

/// The entry of a list that a row is about, by the place that was sent with its values.
pub(crate) fn at_place<T>(list: &mut [T], place: i64) -> Result<&mut T> {
    let found = usize::try_from(place).ok().and_then(|place| list.get_mut(place));
    found.ok_or_else(|| StoreError::damaged("a row of an unknown place"))
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
        let list = RowList::new(2, columns, |new| format!("SELECT {} FROM {new}", names(&columns)));
        let text = "SELECT id, at FROM (VALUES ($1::text, $2::bigint), ($3::text, $4::bigint)) AS new (id, at)";
        assert_eq!(list.text, text);
        let rows = ["a", "b", "c"].map(|id| args![id, 1_i64]);
        let one = SqlValue::Int(1);
        assert_eq!(
            list.values(rows.to_vec()),
            [
                ["a".into(), one.clone(), "b".into(), one.clone()].to_vec(),
                ["c".into(), one, SqlValue::Null, SqlValue::Null].to_vec()
            ]
        );
        assert!(list.values(Vec::new()).is_empty());
        assert_eq!(list.no_rows(), [const { SqlValue::Null }; 4]);
    }
}
