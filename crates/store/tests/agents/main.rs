//! Agents and their credentials, on the embedded database and on a real PostgreSQL with two nodes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test may stop at the first surprise"
)]

mod actors;
#[expect(dead_code, reason = "other tests look at the database past the store")]
mod desk;
mod devices;
mod failed_attempts;
mod notices;
mod once;
mod partial_sessions;
mod passwords;
#[path = "../harness/places.rs"]
mod places;
mod races;
mod records;
mod sweeping;
