//! One node among several, or alone: where it keeps things, and how it keeps in step with the others.

use std::sync::Arc;

use deskpass_auth::Progress;
use deskpass_store::{Location, Mode, OpenError, Postgres, Redis, Shared, Store, StoreError};
use tokio::task::JoinSet;

use deskpass_core::Clock;

use crate::config::Settings;

/// Opens the store where the settings say.
pub(super) async fn open_store(settings: &Settings, clock: &Clock) -> Result<Store, OpenError> {
    let mode = if settings.development { Mode::Development } else { Mode::Production };
    Store::open(location(settings), mode, settings.session.cache_entries, clock.now()).await
}

fn location(settings: &Settings) -> Location {
    match &settings.store.url {
        None => Location::Embedded(settings.data.clone()),
        Some(url) => Location::Postgres(Postgres {
            url: url.expose().to_owned(),
            connections: settings.store.connections,
            ca_file: settings.tls.ca_file.clone(),
        }),
    }
}

/// What flows leave for each other, in this process or where other nodes find it too.
pub(super) fn open_shared(settings: &Settings) -> Result<Shared<Progress>, StoreError> {
    match &settings.shared.url {
        None => Ok(Shared::in_process()),
        Some(url) => Shared::redis(Redis {
            url: url.expose().to_owned(),
            prefix: settings.shared.prefix.clone(),
            key: settings.sealing_key(),
            ca_file: settings.tls.ca_file.clone(),
        }),
    }
}

/// Tells other nodes at once that there is something to hear of, and listens when they do. Nothing depends on it but how
/// soon: everyone looks a moment later all the same.
pub(super) fn keep_in_step(store: &Store, shared: &Shared<Progress>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let (Some(changed), Some(bus)) = (store.changed(), shared.bus()) else { return tasks };
    let (changed, speaking) = (Arc::clone(changed), bus.clone());
    tasks.spawn(async move {
        loop {
            changed.notified().await;
            speaking.nudge();
        }
    });
    let (nudged, store) = (Arc::clone(bus.nudged()), store.clone());
    tasks.spawn(async move {
        loop {
            nudged.notified().await;
            store.catch_up();
        }
    });
    tasks
}
