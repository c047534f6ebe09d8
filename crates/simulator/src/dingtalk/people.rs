//! The users as this platform knows them: by userid inside the corporation, by unionId outside.

use std::sync::Arc;

use crate::SimulatorConfig;
use crate::address_book::{AddressBook, Person};
use crate::directory::PersonKind;

/// The corporation of people from elsewhere.
const OTHER_CORP_ID: &str = "dingpartner";

/// The id of a user over all corporations.
pub(super) fn union_id(who: &Person) -> String {
    format!("simUnion-{}", who.first_id.replace('/', "-"))
}

pub(super) fn by_union_id(id: &str, book: &AddressBook) -> Option<Arc<Person>> {
    book.people().find(|who| union_id(who) == id).cloned()
}

/// The id of a user for this app.
pub(super) fn open_id(who: &Person) -> String {
    format!("simOpen-{}", who.first_id.replace('/', "-"))
}

/// The name that users give themselves, which is not the name in the corporation's directory.
pub(super) fn nick(who: &Person) -> String {
    let first = who.name.split(' ').next().unwrap_or(&who.name);
    format!("{first} ☀")
}

/// The corporation that the user chooses on the login page.
pub(super) fn corp_id<'a>(config: &'a SimulatorConfig, who: &Person) -> &'a str {
    if who.kind == PersonKind::Partner { OTHER_CORP_ID } else { &config.corp_id }
}

/// A member of the corporation; those who left are gone from the directory.
pub(super) fn member(id: &str, book: &AddressBook) -> Option<Arc<Person>> {
    book.by_id(id).filter(|who| who.kind.is_own() && who.kind != PersonKind::Left)
}
