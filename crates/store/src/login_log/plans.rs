//! The statements that prune and verify the log, and find rows by reference, for the test that requires them to use an index.

use super::by_reference::{NEXT_CORP, with_references};
use super::chain_walk::{FIRST_BETWEEN, UP_TO, end_of_batch, last_row, rows_of_batch};
use super::prune::{OLDEST, delete_records, delete_rows};
use super::row_check::with_predecessors;
use super::verify::unchained_statements;
use crate::database::SqlValue;

/// The statements that only read, in a snapshot, each with its name and values.
pub(crate) fn reading_statements() -> Vec<(&'static str, String, Vec<SqlValue<'static>>)> {
    let (chain, after, last) = (3_i64, 100_i64, 200_i64);
    let between = || args![chain, after, last].to_vec();
    let batch = || args![chain, after, last, 10_i64].to_vec();
    let mut statements = vec![
        ("prune, oldest row", OLDEST.to_owned(), args![chain, after].to_vec()),
        ("chain, end of a batch", end_of_batch(), batch()),
        ("chain, rows of a batch", rows_of_batch(), batch()),
        ("verify, rows up to a position", UP_TO.to_owned(), args![chain, 1_i64].to_vec()),
        ("verify, first row between positions", FIRST_BETWEEN.to_owned(), between()),
        ("verify, last row", last_row(), args![chain].to_vec()),
        ("references, rows", with_references(2), args!["ww", "12345678", "87654321"].to_vec()),
        ("references, next corporation", NEXT_CORP.to_owned(), args![""].to_vec()),
        ("rows with their predecessors", with_predecessors(2), args!["one", "other"].to_vec()),
    ];
    statements.extend(unchained_statements());
    statements
}

/// The statements that remove rows, each with its name and values.
pub(crate) fn pruning_statements() -> Vec<(&'static str, String, Vec<SqlValue<'static>>)> {
    let values = || args![3_i64, 100_i64, 110_i64].to_vec();
    vec![("prune, rows", delete_rows(), values()), ("prune, records about rows", delete_records(), values())]
}
