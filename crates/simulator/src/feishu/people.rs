//! The identifiers of users: one in the tenant, one for the app, one for all apps of a developer.

use crate::SimulatorConfig;
use crate::directory::{PEOPLE, PersonKind, SimulatedPerson};

/// The tenant of a user who belongs to none that is connected to this one.
const STRANGE_TENANT: &str = "tenantstranger";

/// Whether a user belongs to the app's own tenant.
pub(super) fn is_own(who: &SimulatedPerson) -> bool {
    matches!(who.kind, PersonKind::Member | PersonKind::Left | PersonKind::Hidden)
}

pub(super) fn tenant_key<'a>(who: &SimulatedPerson, config: &'a SimulatorConfig) -> &'a str {
    match who.id.split_once('/') {
        Some((tenant, _)) => tenant,
        None if is_own(who) => &config.corp_id,
        None => STRANGE_TENANT,
    }
}

pub(super) fn user_id(who: &SimulatedPerson) -> &'static str {
    who.id.split_once('/').map_or(who.id, |(_, id)| id)
}

pub(super) fn open_id(who: &SimulatedPerson) -> String {
    format!("ou_{}", user_id(who))
}

pub(super) fn union_id(who: &SimulatedPerson) -> String {
    format!("on_{}", user_id(who))
}

/// The user with an identifier of this kind; `None` also for a kind that does not exist.
pub(super) fn find(kind: &str, id: &str) -> Option<&'static SimulatedPerson> {
    PEOPLE.iter().find(|who| match kind {
        "open_id" => open_id(who) == id,
        "union_id" => union_id(who) == id,
        "user_id" => is_own(who) && who.id == id,
        _ => false,
    })
}
