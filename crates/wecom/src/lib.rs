//! The client of WeCom: exchanges codes for identities, reads the directory, sends messages, and reads events.
//!
//! Only this crate knows WeCom's API, its pages and its error codes. [`Wecom`] is a [`Messenger`](deskpass_platform::Messenger).

mod advice;
mod api;
mod application;
mod client;
mod directory;
mod errcode;
mod error_message;
mod identity;
mod inbound;
mod message;
mod messenger;
mod profile;
mod protocol;
mod settings;
mod sign_in;

pub use client::Wecom;
pub use deskpass_platform::{SettingsError, Timeouts, Url};
pub use inbound::EventSettings;
pub use settings::{Hosts, WecomSettings};
