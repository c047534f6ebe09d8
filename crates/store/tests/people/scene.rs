//! Helpers of these tests.

use deskpass_core::{EmployeeKey, Person, Role};
use deskpass_store::{AuditEvent, ChangeAuthor, LogFilter, Store};

use crate::agents::fixture::{Fixture, entry};

pub(crate) fn key(id: &str) -> EmployeeKey {
    EmployeeKey::from_parts("ww", id)
}

/// The employee as stored, whatever the cache has.
pub(crate) async fn stored(store: &Store, key: &EmployeeKey) -> Person {
    store.listed_person(key.clone()).await.unwrap().unwrap().person
}

/// The details of the rows of an event in a corporation, newest first.
pub(crate) async fn details(store: &Store, corp: &str, event: AuditEvent) -> Vec<String> {
    let filter = LogFilter { corp: corp.to_owned(), event: Some(event), ..LogFilter::default() };
    store.log_page(filter, None, 1_000).await.unwrap().rows.into_iter().map(|row| row.detail).collect()
}

/// Adds an administrator.
pub(crate) async fn with_admin(fixture: &Fixture, id: &str) {
    fixture.employ(id).await;
    assert!(fixture.store().grant(ChangeAuthor::NoSession, key(id), Role::Admin, entry()).await.unwrap());
}
