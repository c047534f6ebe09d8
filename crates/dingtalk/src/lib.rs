//! The client for DingTalk (钉钉).
//!
//! DingTalk has two APIs on two hosts, with an error shape each, and two kinds of codes: one from the login page, which is
//! exchanged in three calls, and one from the script inside DingTalk's own client, which is exchanged in one.
//!
//! The organization has a monthly number of calls, so every call counts:
//!
//! | what | calls |
//! |---|---|
//! | sign-in through the login page | 3, and 1 for the profile |
//! | sign-in through the script | 1, and 1 for the profile |
//! | name of a department | 1 an hour for each department of people who sign in |
//! | access token | 1 in about two hours, for all nodes |
//! | message | 1 |
//! | whether the platform is down | 2 in thirty seconds, only while sign-ins fail or nobody signed in for two minutes |
//! | directory | 1 for each department, and 1 for each 100 members of a department |
//! | roles | 1 for each 200 roles, and 1 for each 100 members of a role |
//! | whether users still work here | at most 100 a day |

mod api;
mod check;
mod client;
mod directory;
mod errcode;
mod inbound;
mod messenger;
mod notify;
mod protocol;
mod redeem;
mod refusal;
mod roles;
mod settings;
mod sign_in;

pub use client::Dingtalk;
pub use inbound::EventSettings;
pub use settings::{DingtalkSettings, Hosts};
