//! The command line, the settings, the server and its routes.

mod app;
pub mod cli;
mod client_limiter;
mod client_stream;
mod commands;
pub mod config;
mod failure_log;
pub mod http;
mod log_export;
mod secret_files;
pub mod server;
mod server_tls;
mod site;
mod static_file;
mod telemetry;
mod timestamp;
mod untrusted_proxies;

pub use app::{App, StartError};
