//! The users as this platform knows them: by userid inside the corporation, by unionId outside.

use crate::SimulatorConfig;
use crate::directory::{PEOPLE, PersonKind, SimulatedPerson};

/// The corporation of people from elsewhere.
const OTHER_CORP_ID: &str = "dingpartner";

/// The id of a user over all corporations.
pub(super) fn union_id(who: &SimulatedPerson) -> String {
    format!("simUnion-{}", who.id.replace('/', "-"))
}

pub(super) fn by_union_id(id: &str) -> Option<&'static SimulatedPerson> {
    PEOPLE.iter().find(|who| union_id(who) == id)
}

/// The id of a user for this app.
pub(super) fn open_id(who: &SimulatedPerson) -> String {
    format!("simOpen-{}", who.id.replace('/', "-"))
}

/// The name that users give themselves, which is not the name in the corporation's directory.
pub(super) fn nick(who: &SimulatedPerson) -> String {
    let first = who.name.split(' ').next().unwrap_or(who.name);
    format!("{first} ☀")
}

/// The corporation that the user chooses on the login page.
pub(super) fn corp_id<'a>(config: &'a SimulatorConfig, who: &SimulatedPerson) -> &'a str {
    if who.kind == PersonKind::Partner { OTHER_CORP_ID } else { &config.corp_id }
}

/// A member of the corporation; those who left are gone from the directory.
pub(super) fn member(id: &str) -> Option<&'static SimulatedPerson> {
    SimulatedPerson::by_id(id).filter(|who| matches!(who.kind, PersonKind::Member | PersonKind::Hidden))
}
