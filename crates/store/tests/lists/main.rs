//! Lists of people and sessions, and the global rules, on the embedded database and on a real PostgreSQL with two nodes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test may stop at the first surprise"
)]

#[path = "../agents/fixture.rs"]
#[expect(dead_code, reason = "what agents need is not needed here")]
mod fixture;
mod people;
mod plans;
mod properties;
mod roles;
mod rules;
mod scene;
mod sessions;
#[path = "../harness/stores.rs"]
mod stores;
