//! Opens the stores: those of a single node, or those that several nodes share.

use deskpass_auth::CodeExchange;
use deskpass_core::Timestamp;
use deskpass_store::{
    ChainKeys, Location, Mode, OpenError, PostgresSettings, RedisSettings, SharedState, Store, StoreError,
};

use crate::config::Settings;

/// Opens the store that the settings name.
pub(super) async fn open_store(settings: &Settings, now: Timestamp) -> Result<Store, OpenError> {
    let key = ChainKeys::new(&settings.sealing_keys());
    Store::open_with(location(settings), mode(settings), settings.session.cache_entries, now, Some(key)).await
}

/// The location of the data.
pub(crate) fn location(settings: &Settings) -> Location {
    postgres(settings).map_or_else(|| Location::Embedded(settings.data.clone()), Location::Postgres)
}

/// The mode of the data: development or production.
pub(crate) fn mode(settings: &Settings) -> Mode {
    if settings.development.enabled { Mode::Development } else { Mode::Production }
}

/// The settings of the shared database, if there is one.
pub(crate) fn postgres(settings: &Settings) -> Option<PostgresSettings> {
    let url = settings.store.url.as_ref()?.expose().to_owned();
    let (connections, timeout) = (settings.store.connections, settings.store.timeout);
    Some(PostgresSettings { url, connections, timeout, ca_file: settings.tls.ca_file.clone() })
}

/// The settings of the shared Redis, if there is one.
pub(crate) fn redis(settings: &Settings) -> Option<RedisSettings> {
    let url = settings.shared.url.as_ref()?.expose().to_owned();
    let (prefix, keys) = (settings.shared.prefix.to_string(), settings.sealing_keys());
    let timeout = settings.shared.timeout;
    let max_sign_ins = settings.shared.max_sign_ins;
    Some(RedisSettings { url, prefix, keys, timeout, max_sign_ins, ca_file: settings.tls.ca_file.clone() })
}

/// Opens the state that flows share, in this process or in Redis for all nodes.
pub(super) fn open_shared(settings: &Settings) -> Result<SharedState<CodeExchange>, StoreError> {
    redis(settings).map_or_else(|| Ok(SharedState::in_process()), SharedState::redis)
}
