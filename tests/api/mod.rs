//! One module for each path below /api.

mod auth;
mod dev;
mod health;
