//! The store from outside: on the embedded database, on a real PostgreSQL with two nodes, and on real servers of Redis.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test may stop at the first surprise"
)]

mod agents;
#[path = "../../../tests/harness/fault_proxy.rs"]
mod fault_proxy;
mod journal;
mod lists;
mod log;
mod oidc;
mod people;
mod plans;
mod roles;
mod shared;
#[path = "../../../tests/harness/stopwatch.rs"]
mod stopwatch;
#[path = "harness/stores.rs"]
mod stores;
