//! The client for the platform: exchanges codes for identities, reads profiles, and sends messages to members.
//!
//! Only this crate knows the platform's HTTP API. Responses are untrusted until they have been parsed: body sizes are limited,
//! timeouts are short, and no text of the platform is passed on to a browser.

mod access_token;
mod api;
mod call_report;
mod circuit;
mod client;
mod department;
mod error;
mod error_message;
mod http_transport;
mod identity;
mod link;
mod message;
mod outage;
mod profile;
mod response;
mod sanitize;
mod settings;
mod shared_task;
mod tls;
mod token_cache;

pub mod errcode;

pub use call_report::{CallOutcome, CallReport};
pub use circuit::Circuit;
pub use client::{Application, Wecom};
pub use error::{Error, InvalidResponse, Unreachable};
pub use http_transport::ObservedDate;
pub use identity::Identity;
pub use link::Lang;
pub use profile::{Department, MemberStatus, Profile};
pub use settings::{Hosts, SettingsError, Timeouts, WecomSettings};
pub use tls::tls_config;
pub use token_cache::{CacheFuture, CachedToken, FETCH_LEASE, TokenCache};
pub use url::Url;
