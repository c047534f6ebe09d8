//! The statements that run often, for the test that requires them to use an index.

use deskpass_core::{Digest, Timestamp};

use super::checks::watched_people;
use super::events::{DUE_EVENTS, LOCKS_DUE, PENDING_OF, claim};
use super::watch::PEOPLE_WITH_SESSIONS;
use crate::database::SqlValue;

/// The statements, each with its name and values.
pub(crate) fn statements() -> Vec<(&'static str, String, Vec<SqlValue<'static>>)> {
    let now = Timestamp::from_millis(1_000);
    vec![
        ("people to check", watched_people(50), args!["ww", now, now].to_vec()),
        ("people with sessions", PEOPLE_WITH_SESSIONS.to_owned(), args!["ww", ""].to_vec()),
        ("due events", DUE_EVENTS.to_owned(), args![now, 50_i64, 1_i64].to_vec()),
        ("pending events", PENDING_OF.to_owned(), args![2_i64, now, Digest::from_bytes([0; 32]), 50_i64].to_vec()),
        ("leavers to lock", LOCKS_DUE.to_owned(), args![50_i64].to_vec()),
    ]
}

/// The statement that claims events, with its name and values.
pub(crate) fn claim_statement() -> (&'static str, String, Vec<SqlValue<'static>>) {
    let now = Timestamp::from_millis(1_000);
    ("claim events", claim(), args![now, 10_i64, 1_i64, now].to_vec())
}
