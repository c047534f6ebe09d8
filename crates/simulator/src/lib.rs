//! A simulator of the platforms WeCom, DingTalk and Feishu.
//!
//! It serves the authorization pages and the API of one of them that the service calls, so that the whole sign-in can be tested
//! without an account, a phone or a network. People can join, change and leave, and the service is told as that platform tells it.
//! It supports fault injection and reports the calls it received.

mod address_book;
mod authorize;
mod call;
mod calls;
mod codes;
mod config;
mod control;
mod dingtalk;
mod directory;
mod event;
mod event_log;
mod event_receiver;
mod events;
mod faults;
mod feishu;
mod guard;
mod inbox;
mod json_body;
mod kind;
mod language;
mod page;
mod people;
mod platforms;
mod query;
mod rate;
mod reply;
mod serve;
mod simulator;
mod state;
mod switches;
mod tokens;
mod user_tokens;
mod wecom;

pub use config::{Domains, SimulatorConfig};
pub use directory::{PEOPLE, PersonKind, SimulatedPerson};
pub use kind::Kind;
pub use serve::serve;
pub use simulator::Simulator;
pub use state::SimulatorReply;
