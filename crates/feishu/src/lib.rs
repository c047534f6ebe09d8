//! The client for Feishu and Lark: identifies users, knows members and departments, and reaches members.
//!
//! Only this crate knows the platform's hosts, parameters and error codes. What all clients share, such as the access token, the
//! circuit breakers and the limits of calls, is in [`deskpass_platform::client`].

mod api;
mod card;
mod check;
mod client;
mod directory;
mod errcode;
mod groups;
mod identity;
mod inbound;
mod member;
mod messenger;
mod notify;
mod protocol;
mod settings;
mod sign_in;
mod user_id;
mod user_token;

pub use client::Feishu;
pub use errcode::explain;
pub use inbound::EventSettings;
pub use settings::{FeishuSettings, Hosts};
pub use user_id::UserIdKind;
