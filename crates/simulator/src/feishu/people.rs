//! The identifiers of users: one in the tenant, one for the app, one for all apps of a developer.

use std::sync::Arc;

use crate::SimulatorConfig;
use crate::address_book::{AddressBook, Person};

/// The tenant of a user who belongs to none that is connected to this one.
const STRANGE_TENANT: &str = "tenantstranger";

pub(super) fn tenant_key<'a>(who: &'a Person, config: &'a SimulatorConfig) -> &'a str {
    match who.id.split_once('/') {
        Some((tenant, _)) => tenant,
        None if who.kind.is_own() => &config.corp_id,
        None => STRANGE_TENANT,
    }
}

pub(crate) fn user_id(who: &Person) -> &str {
    without_tenant(&who.id)
}

pub(crate) fn open_id(who: &Person) -> String {
    format!("ou_{}", without_tenant(&who.first_id))
}

pub(crate) fn union_id(who: &Person) -> String {
    format!("on_{}", without_tenant(&who.first_id))
}

fn without_tenant(id: &str) -> &str {
    id.split_once('/').map_or(id, |(_, id)| id)
}

/// The user with an identifier of this kind; `None` also for a kind that does not exist.
pub(super) fn find(kind: &str, id: &str, book: &AddressBook) -> Option<Arc<Person>> {
    let with_first_id = |first_id: &str| book.people().find(|who| without_tenant(&who.first_id) == first_id).cloned();
    match kind {
        "open_id" => with_first_id(id.strip_prefix("ou_")?),
        "union_id" => with_first_id(id.strip_prefix("on_")?),
        "user_id" => book.by_id(id).filter(|who| who.kind.is_own()),
        _ => None,
    }
}
