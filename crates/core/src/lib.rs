//! What is true about tokens, people, roles, sessions and addresses.
//!
//! Nothing here does I/O. Time and randomness are handed on from here: a [`Clock`] and an [`Entropy`] are made once, at the
//! top, and given to whoever needs them.

mod clock;
mod employee;
mod entropy;
mod login;
mod network;
mod role;
mod secret;
mod session;

pub use clock::{Clock, Timestamp};
pub use employee::{CorpId, EmployeeId, EmployeeKey, InvalidId, Person};
pub use entropy::{Entropy, NoEntropy};
pub use login::{LoginMethod, LoginSource, UserAgent, Visitor};
pub use network::{ClientAddress, Networks, counted_as};
pub use role::{Role, Roles};
pub use secret::{Access, Digest, Kind, Malformed, Secret};
pub use session::Session;
