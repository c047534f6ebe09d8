//! The platform's client: who a code stands for, what the platform says of that person, and messages to members.
//!
//! Only this crate knows the platform's HTTP API. What the platform answers is taken for hostile until it has been read:
//! bodies are small, times are short, and nothing it says is repeated to a browser.

mod access_token;
mod answer;
mod api;
mod circuit;
mod client;
mod department;
mod error;
mod flight;
mod identity;
mod line;
mod link;
mod message;
mod outage;
mod plain;
mod profile;
mod remark;
mod settings;
mod trust;
mod vault;

pub mod errcode;

pub use circuit::Circuit;
pub use client::{Application, Wecom};
pub use error::{Error, Garbled, Unreachable};
pub use identity::Identity;
pub use line::DateSeen;
pub use link::Lang;
pub use profile::{Department, Profile, Standing};
pub use settings::{Hosts, Patience, Settings, SettingsError};
pub use url::Url;
pub use vault::{CLAIM, Kept, Pending, Vault};
