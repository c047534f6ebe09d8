//! The command line, the settings, the server and its routes.

mod app;
mod body_memory;
pub mod cli;
mod client_limiter;
mod commands;
pub mod config;
mod connection_state;
mod failure_log;
pub mod http;
mod log_export;
mod platform_name;
mod recently_seen;
mod secret_files;
pub mod server;
mod server_tls;
pub mod service_manager;
mod site;
mod static_file;
mod telemetry;
mod timestamp;
mod unlisted_hosts;
mod untrusted_proxies;

pub use app::{App, StartError};

/// The version, the commit and the time of the build, as `deskpass --version` prints them.
pub const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("BUILD_COMMIT"), ", ", env!("BUILD_TIME"), ")");
