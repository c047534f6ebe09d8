//! The log: read, pruned and verified, on the embedded database and on a real PostgreSQL with two nodes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test may stop at the first surprise"
)]

mod clock;
mod fixture;
mod pages;
mod properties;
mod pruning;
mod receipts;
#[path = "../harness/stores.rs"]
mod stores;
mod tampering;
mod upgrade;
mod writers;
