//! The statements that run often, for the test that requires them to use an index.

use deskpass_core::Timestamp;

use super::checks::people_to_check;
use super::events::DUE_EVENTS;
use crate::database::SqlValue;

/// The statements, each with its name and values.
pub(crate) fn statements() -> Vec<(&'static str, String, Vec<SqlValue<'static>>)> {
    let now = Timestamp::from_millis(1_000);
    vec![
        ("people to check", people_to_check(50), args!["ww", now, now].to_vec()),
        ("due events", DUE_EVENTS.to_owned(), args![now, 50_i64].to_vec()),
    ]
}
