//! Agents and their credentials, on the embedded database and on a real PostgreSQL with two nodes.

mod actors;
mod devices;
mod end_all;
mod failed_attempts;
pub(crate) mod fixture;
mod lookups;
mod notices;
mod once;
mod partial_sessions;
mod passwords;
mod races;
mod records;
mod statistics;
mod sweeping;
