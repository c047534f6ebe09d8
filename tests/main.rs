//! The black-box suite: it mirrors the URLs, starts its own desks, owns the clock and does not sleep.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise, and says where"
)]
#![expect(clippy::disallowed_methods, reason = "a test may measure and read the environment")]

#[macro_use]
mod harness;

mod anonymous;
mod api;
mod browser;
mod canary;
mod cli;
mod cli_agent;
mod cli_audit;
mod cli_clock;
mod cli_copy;
mod cli_doctor;
mod cli_explain;
mod cli_ip_rule;
mod cli_link;
mod cli_matrix;
mod cli_pair;
mod cli_service_key;
mod cli_simulate;
mod clock;
mod cluster;
mod connections;
mod corporations;
mod decisions;
mod departments;
mod disabled;
mod durability;
mod envelope;
mod fallback;
mod faults;
mod flood;
mod framing;
mod guessing;
mod hardening;
mod held;
mod hosts;
mod limits;
mod lookalike;
mod migrations;
mod model;
mod notices;
mod oathtool;
mod openapi;
mod otp_nodes;
mod outages;
mod pages;
mod pages_admin;
mod pages_kept;
mod pages_rules;
mod pages_served;
mod pages_wire;
mod platform;
mod proven;
mod proxies;
mod qr_flaws;
mod races;
mod redirects;
mod replays;
mod rolling;
mod routes;
mod server;
mod sockets;
mod sockets_browser;
mod sockets_model;
mod sockets_nodes;
mod sockets_proxied;
mod sockets_raw;
mod stolen;
mod stolen_session;
mod tls;
mod translations;
mod trust;
mod tutorial;
mod verify_file;
