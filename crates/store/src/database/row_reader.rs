//! Reading the rows of a query, independent of the driver.

use super::Row;
use crate::Result;

/// Reads the rows of a query. The drivers take it as a trait object, so that they are compiled once and not again for each query: that
/// was nearly a megabyte of the program.
pub(crate) trait RowReader {
    /// Reads a row, and returns whether the next one is wanted.
    fn read(&mut self, row: &Row<'_>) -> Result<bool>;
}

impl<F: FnMut(&Row<'_>) -> Result<bool>> RowReader for F {
    fn read(&mut self, row: &Row<'_>) -> Result<bool> {
        self(row)
    }
}

/// All rows that `query` passes to its reader.
pub(super) fn all_rows<T>(
    query: impl FnOnce(&mut dyn RowReader) -> Result<()>,
    mut read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut all = Vec::new();
    query(&mut |row: &Row<'_>| -> Result<bool> {
        all.push(read(row)?);
        Ok(true)
    })?;
    Ok(all)
}

/// The first row that `query` passes to its reader, if there is one.
pub(super) fn first_row<T>(
    query: impl FnOnce(&mut dyn RowReader) -> Result<()>,
    mut read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let mut first = None;
    query(&mut |row: &Row<'_>| -> Result<bool> {
        first = Some(read(row)?);
        Ok(false)
    })?;
    Ok(first)
}
