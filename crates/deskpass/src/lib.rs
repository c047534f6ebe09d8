//! How the desk is asked: command line, settings, server, routes.

pub mod cli;
mod client_limiter;
mod commands;
pub mod config;
mod desk;
pub mod http;
mod log_export;
mod secret_files;
pub mod server;
mod telemetry;
mod untrusted_proxies;

pub use desk::{Desk, StartError};
