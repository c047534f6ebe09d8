//! One module per path below /api.

mod admin;
mod agents;
pub(crate) mod auth;
mod dev;
mod health;
mod messages;
mod ws;
