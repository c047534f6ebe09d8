//! Tests of the client against a scripted platform, over real connections.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may stop at the first surprise, and a slip in an index is one"
)]

mod answers;
mod application;
mod cards;
mod circuit;
mod codes;
mod directory;
mod events;
#[path = "../../../platform/tests/support/forgery.rs"]
mod forgery;
mod invitations;
mod links;
mod notices;
mod outage;
mod platform;
mod profiles;
mod secrets;
mod settings;
mod simulator;
mod tags;
mod test_cache;
mod token_cache;
mod tokens;
