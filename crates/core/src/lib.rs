//! What is true about tokens, people, roles, sessions and addresses.
//!
//! Nothing here does I/O or knows a clock or a random source of its own: both are handed in.

mod clock;
mod employee;
mod entropy;
mod login;
mod network;
mod role;
mod secret;
mod session;

pub use clock::{Clock, Timestamp};
pub use employee::{CorpId, EmployeeId, EmployeeKey, InvalidId, Keepsake, Person};
pub use entropy::{Entropy, NoEntropy};
pub use login::{LoginMethod, LoginSource, UserAgent, Visitor};
pub use network::{ClientAddress, Networks};
pub use role::{Role, Roles};
pub use secret::{Access, Digest, Kind, Malformed, Secret};
pub use session::Session;
