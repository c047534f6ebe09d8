//! Shelves in Redis: for several nodes. What is there is sealed, so that whoever reads it learns nothing and whoever writes to
//! it forges nothing; what it can do is bring an older state of a record back, or lose it.

mod address;
mod bus;
mod connection;
mod inspect;
mod limits;
mod messages;
mod peers;
mod script;
mod server;
mod store;
mod warning_throttle;
mod watchers;

pub use bus::Bus;
pub use inspect::{RedisStatus, inspect_redis};
pub use messages::MessageFeed;
pub(super) use messages::RedisMessageLog;
pub(super) use server::RedisBackend;
pub use server::RedisSettings;
pub(super) use store::RedisStore;
pub(super) use watchers::WatchedRecord;
