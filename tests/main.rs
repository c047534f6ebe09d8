//! The black-box suite: it mirrors the URLs, starts its own services, owns the clock and does not sleep.

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

mod access_decisions;
mod account_enumeration;
mod ambiguous_commits;
mod anonymous_refusals;
mod api;
mod bodies;
mod browser;
mod brute_force;
mod canary;
mod cli;
mod cli_administrators;
mod cli_agent;
mod cli_audit;
mod cli_backup;
mod cli_clock;
mod cli_cluster;
mod cli_copy;
mod cli_data;
mod cli_doctor;
mod cli_explain;
mod cli_explain_left;
mod cli_explain_ref;
mod cli_ip_rule;
mod cli_link;
mod cli_matrix;
mod cli_oidc;
mod cli_people;
mod cli_service_key;
mod cli_session_end_all;
mod cli_simulate;
mod cli_slips;
mod clock;
mod cluster;
mod command_socket;
mod connections;
mod data_platform;
mod departments;
mod dependencies;
mod device_owners;
mod disabled;
mod disk_full;
mod durability;
mod envelope;
mod failover;
mod first_hour;
mod first_role;
mod flood;
mod framing;
mod frequent_requests;
mod guarantees;
mod hardening;
mod host_names;
mod key_rotation;
mod leases;
mod limits;
mod log_lines;
mod lost_answers;
mod migrations;
mod notices;
mod oathtool;
mod oidc;
mod openapi;
mod openapi_client;
mod other_sites;
mod otp_cluster;
mod outages;
mod own_pages;
mod packages;
mod pages;
mod pages_admin;
mod pages_history;
mod pages_http;
mod pages_modules;
mod pages_rules;
mod pages_versions;
mod pages_weight;
mod password_fallback;
mod people;
mod platform;
mod platform_boundary;
mod platforms;
mod prometheus;
mod proxies;
mod proxy_trust;
mod qr_flaws;
mod questions;
mod races;
mod redirects;
mod redis_replays;
mod reload;
mod relying_parties;
mod revocation_races;
mod rolling_restart;
mod routes;
mod server;
mod server_tls;
mod session_model;
mod sign_in_proof;
mod sockets;
mod sockets_browser;
mod sockets_cluster;
mod sockets_model;
mod sockets_proxied;
mod sockets_raw;
mod stolen_database;
mod stolen_session;
mod tenant_isolation;
mod tls;
mod torture;
mod traces;
mod translations;
mod tutorial;
mod upgrade;
mod verify_file;
