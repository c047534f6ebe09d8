//! Agents and their credentials, on the embedded database and on a real PostgreSQL with two nodes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test may stop at the first surprise"
)]

mod actors;
mod devices;
mod failed_attempts;
#[expect(dead_code, reason = "other tests look at the database past the store")]
mod fixture;
mod notices;
mod once;
mod partial_sessions;
mod passwords;
mod races;
mod records;
#[path = "../harness/stores.rs"]
mod stores;
mod sweeping;
