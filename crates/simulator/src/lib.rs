//! A simulator of the platforms WeCom, DingTalk and Feishu.
//!
//! It serves the authorization pages and the API of one of them that the service calls, so that the whole sign-in can be tested
//! without an account, a phone or a network. It supports fault injection and reports the calls it received.

mod authorize;
mod call;
mod calls;
mod codes;
mod config;
mod control;
mod dingtalk;
mod directory;
mod faults;
mod feishu;
mod guard;
mod inbox;
mod kind;
mod language;
mod page;
mod platforms;
mod query;
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
