//! What is true about tokens, people, roles, sessions and addresses.
//!
//! Nothing here does I/O. Time and randomness are handed on from here: a [`Clock`] and an [`Entropy`] are made once, at the
//! top, and given to whoever needs them.

mod allow;
mod base32;
mod clock;
mod department;
mod employee;
mod entropy;
mod guesses;
mod host;
mod kind;
mod limit;
mod login;
mod message;
mod network;
mod password;
mod permission;
mod role;
mod secret;
mod service;
mod session;
mod spare;
mod term;
mod ticket;
mod totp;
mod unseen;

pub use allow::AllowLists;
pub use clock::{Clock, ClockTrust, Doubt, DoubtReason, MachineClock, Timestamp, Witness, WitnessSource};
pub use department::{entered_department_id, is_entered_department, is_platform_department};
pub use employee::{CorpId, EmployeeId, EmployeeKey, Identified, InvalidId, Person};
pub use entropy::{Entropy, NoEntropy};
pub use guesses::{Guesses, Shut};
pub use host::{Host, HostNames};
pub use kind::{
    Access, BindProof, Browser, Confirm, Flow, Half, Kind, KindName, KnownBrowser, Pending, ScanId, ServiceKey, Ticket,
};
pub use limit::{Debt, Rate};
pub use login::{LoginMethod, LoginSource, UserAgent, Visitor};
pub use message::{
    Chunk, Message, MessageId, MessageKind, NoMessageId, OpenFrame, OutOfStream, Recipient, SocketKind, StreamId,
    StreamProgress,
};
pub use network::{
    ClientAddress, Networks, NoNetwork, counted_as, is_private, network_around, parse_network, unlisted_hop,
};
pub use password::{Password, Weakness, weakness};
pub use permission::{Matrix, Operation, Resource, Scope};
pub use role::{Role, Roles};
pub use secret::{Digest, Malformed, Sealed, Secret, exposed};
pub use service::{KeyName, ServiceScope, ServiceScopes, UnknownScope};
pub use session::{Session, Vouched};
pub use spare::SpareCode;
pub use term::{beginning_with, terms};
pub use ticket::{Asked, Claim, OutOfStep, REPEATS, Shown, SignIn, Stage};
pub use totp::{OneTimeCode, Seed, Step};
pub use unseen::is_unseen;
