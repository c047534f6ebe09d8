//! The statements that walk all sessions, or run often, for the test that requires them to use an index.

use deskpass_core::{Digest, Timestamp};

use super::begin::INSERT_LIST;
use super::end_all::{END_SESSIONS, NEXT_SESSIONS};
use super::held_roles::HELD_LIST;
use super::last_use::RECORD_USE;
use super::lockout_preview::SESSIONS;
use super::lookup::{FIND, FIND_LISTS};
use super::network::SEEN_LIST;
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

/// The statements that only PostgreSQL runs.
pub(crate) fn list_statements() -> Vec<(&'static str, String, Vec<SqlValue<'static>>)> {
    let digest = SqlValue::from(Digest::of(&[b"any"]));
    let names = ["few sessions with their people", "many sessions with their people"];
    let lists = names.into_iter().zip(&*FIND_LISTS);
    let lists = lists.map(|(name, list)| (name, list.text.clone(), vec![digest.clone(); list.size]));
    let groups = [
        ("sessions of a group", INSERT_LIST.text.clone(), INSERT_LIST.no_rows()),
        ("roles of a group", HELD_LIST.text.clone(), HELD_LIST.no_rows()),
        ("networks of a group", SEEN_LIST.text.clone(), SEEN_LIST.no_rows()),
    ];
    lists.chain(groups).collect()
}
