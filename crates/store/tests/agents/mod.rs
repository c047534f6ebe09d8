//! Agents and their credentials, on the embedded database and on a real PostgreSQL with two nodes.

mod actors;
pub(crate) mod desk;
mod devices;
mod failed_attempts;
mod notices;
mod once;
mod partial_sessions;
mod passwords;
mod races;
mod records;
mod sweeping;
