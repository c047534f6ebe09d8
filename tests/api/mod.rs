//! One module for each path below /api.

mod admin;
mod agents;
mod auth;
mod dev;
mod health;
