//! Tests of the simulated platform over real connections.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a test may stop at the first surprise"
)]

mod authorize;
mod cards;
mod contacts;
mod control;
mod dingtalk;
mod events;
mod faults;
mod feishu;
mod harness;
mod identity;
mod message;
mod page;
mod people;
mod receiver;
mod serve;
mod tags;
mod token;
