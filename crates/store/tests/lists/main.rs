//! Lists of people and sessions, and the global rules, on the embedded database and on a real PostgreSQL with two nodes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test may stop at the first surprise"
)]

#[path = "../agents/desk.rs"]
#[expect(dead_code, reason = "what agents need is not needed here")]
mod desk;
mod people;
#[path = "../harness/places.rs"]
mod places;
mod plans;
mod properties;
mod roles;
mod rules;
mod scene;
mod sessions;
