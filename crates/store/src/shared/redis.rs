//! Ephemeral stores in Redis, for several nodes. The records are sealed: a third party with access to Redis cannot read
//! or forge them. It can only restore an older state of a record, or delete it.

mod address;
mod bus;
mod connection;
mod feed;
mod inspect;
mod limits;
mod log_end;
mod messages;
mod network_index;
mod peers;
mod read_position;
mod server;
mod store;
mod warning_throttle;
mod watchers;

pub use bus::Bus;
pub use feed::MessageFeed;
pub use inspect::{RedisStatus, inspect_redis};
pub(super) use messages::RedisMessageLog;
pub(super) use server::RedisBackend;
pub use server::RedisSettings;
pub(super) use store::RedisStore;
pub(super) use watchers::WatchedRecord;
