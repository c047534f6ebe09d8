//! The statements that walk all sessions, or run often, for the test that requires them to use an index.

use deskpass_core::{Digest, Timestamp};

use super::end_all::{END_SESSIONS, NEXT_SESSIONS};
use super::last_use::RECORD_USE;
use super::lockout_preview::SESSIONS;
use super::lookup::FIND;
use crate::database::SqlValue;

/// The statements, each with its name and values.
pub(crate) fn statements() -> Vec<(&'static str, String, Vec<SqlValue<'static>>)> {
    let (digest, now) = (Digest::of(&[b"any"]), Timestamp::from_millis(10_000_000));
    vec![
        ("preview of a lockout", SESSIONS.to_owned(), args![""].to_vec()),
        ("session with its person", String::clone(&FIND), args![digest].to_vec()),
        ("last use", RECORD_USE.to_owned(), args![digest, now, now].to_vec()),
        ("end all sessions, next", NEXT_SESSIONS.to_owned(), args!["", now, 100_i64].to_vec()),
        ("end all sessions, batch", END_SESSIONS.to_owned(), args!["10", "1000", now].to_vec()),
    ]
}
