//! How the desk is asked: command line, settings, server, routes.

pub mod cli;
pub mod config;
mod desk;
mod errand;
pub mod http;
mod log_export;
mod secret_files;
pub mod server;
mod tally;
mod telemetry;
mod untrusted;

pub use desk::{Desk, StartError};
