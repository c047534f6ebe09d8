//! A simulator of the WeCom platform.
//!
//! It serves the authorization pages and the API that the service calls, so that the whole sign-in can be tested without an
//! account, a phone or a network. It supports fault injection and reports the calls it received.

mod api;
mod authorize;
mod authorize_error;
mod calls;
mod codes;
mod config;
mod control;
mod directory;
mod endpoint;
mod errcode;
mod faults;
mod guard;
mod inbox;
mod language;
mod page;
mod query;
mod reply;
mod serve;
mod simulator;
mod state;
mod switches;
mod tokens;

pub use config::{Domains, SimulatorConfig};
pub use directory::{PEOPLE, PersonKind, SimulatedPerson};
pub use serve::serve;
pub use simulator::Simulator;
pub use state::SimulatorReply;
