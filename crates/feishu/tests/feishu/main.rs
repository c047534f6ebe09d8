//! Tests of the client against a scripted platform and against the simulated one, over real connections.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may stop at the first surprise, and a slip in an index is one"
)]

mod answers;
mod circuit;
mod directory;
mod events;
#[path = "../../../platform/tests/support/forgery.rs"]
mod forgery;
mod groups;
mod notices;
mod platform;
#[path = "../../../platform/tests/support/scripted_server.rs"]
mod scripted_server;
mod secrets;
mod settings;
mod sign_in;
mod simulator;
mod tokens;
