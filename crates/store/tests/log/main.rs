//! The log: read, pruned and verified, on the embedded database and on a real PostgreSQL with two nodes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test may stop at the first surprise"
)]

mod clock;
mod desk;
mod pages;
#[path = "../harness/places.rs"]
mod places;
mod properties;
mod pruning;
mod receipts;
mod tampering;
mod upgrade;
mod writers;
