//! The state that nodes share, on real servers.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at the first surprise")]

mod alike;
mod bus;
mod deployments;
mod limits;
mod messages;
mod outages;
mod races;
mod sealed;
mod server;
