//! The platform in a box: a stand-in for the hosts of WeCom.
//!
//! It serves the pages people authorise on and the API the service asks, so that the whole sign-in can be tried with no
//! account, no phone and no network. It can be told to misbehave, and it says who called it how.

mod api;
mod authorize;
mod authorize_error;
mod calls;
mod codes;
mod config;
mod control;
mod directory;
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
mod switches;
mod tokens;

pub use config::{Domains, SimulatorConfig};
pub use directory::{PEOPLE, PersonKind, SimulatedPerson};
pub use serve::serve;
pub use simulator::{Simulator, SimulatorReply};
