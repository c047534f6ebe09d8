//! One node among several, or alone: where it keeps things.

use deskpass_auth::CodeExchange;
use deskpass_core::Timestamp;
use deskpass_store::{
    ChainKey, Location, Mode, OpenError, PostgresSettings, RedisSettings, SharedState, Store, StoreError,
};

use crate::config::Settings;

/// Opens the store where the settings say.
pub(super) async fn open_store(settings: &Settings, now: Timestamp) -> Result<Store, OpenError> {
    let key = ChainKey::new(&settings.sealing_key());
    Store::open_with(location(settings), mode(settings), settings.session.cache_entries, now, Some(key)).await
}

/// Where the data is.
pub(crate) fn location(settings: &Settings) -> Location {
    postgres(settings).map_or_else(|| Location::Embedded(settings.data.clone()), Location::Postgres)
}

/// What the data is for.
pub(crate) fn mode(settings: &Settings) -> Mode {
    if settings.development { Mode::Development } else { Mode::Production }
}

/// The database that nodes share, where they do.
pub(crate) fn postgres(settings: &Settings) -> Option<PostgresSettings> {
    let url = settings.store.url.as_ref()?.expose().to_owned();
    Some(PostgresSettings { url, connections: settings.store.connections, ca_file: settings.tls.ca_file.clone() })
}

/// Where nodes leave things for each other, where they do.
pub(crate) fn redis(settings: &Settings) -> Option<RedisSettings> {
    let url = settings.shared.url.as_ref()?.expose().to_owned();
    let (prefix, key) = (settings.shared.prefix.clone(), settings.sealing_key());
    Some(RedisSettings { url, prefix, key, ca_file: settings.tls.ca_file.clone() })
}

/// What flows leave for each other, in this process or where other nodes find it too.
pub(super) fn open_shared(settings: &Settings) -> Result<SharedState<CodeExchange>, StoreError> {
    redis(settings).map_or_else(|| Ok(SharedState::in_process()), SharedState::redis)
}
