//! What the desk does: one file for each flow, one place where sessions are born.

mod admin;
mod agent;
mod anonymous;
mod arrival;
mod bind;
mod code;
mod dev;
mod entrant;
mod error;
mod hasher;
mod locker;
mod log;
mod mint;
mod notice;
mod oauth;
mod once;
mod otp;
mod password;
mod permission;
mod policy;
mod qr;
mod reason;
mod recent;
mod session;
mod socket;
mod statistics;

use std::sync::Arc;

use deskpass_core::{Clock, CorpId, EmployeeId, EmployeeKey, Entropy, Timestamp};
use deskpass_store::{ChainKey, Shared, Store};
use deskpass_wecom::Wecom;
use tokio::sync::Notify;

pub use admin::{
    Administrator, DeviceReset, LogWanted, NewServiceKey, PasswordReset, PeopleAsked, PeopleFound, Reach,
    SessionsWanted, ShutOutOf, TriedOut,
};
pub use agent::{AgentEntry, Evidence, HalfSignIn, Knock};
pub use anonymous::AnonymousRefusals;
pub use code::Progress;
pub use dev::{DEV_USERS, DevUser};
pub use entrant::{Entrant, Halfway};
pub use error::{Error, Internal, Refusal, TokenProblem};
pub use locker::Locker;
pub use mint::{Lent, SignedIn};
pub use oauth::{Answer, Callback, Destination, PROOF_LIFETIME, Waiting};
pub use otp::{BoundDevice, DeviceSetup, DeviceStatus, FreshCode};
pub use password::PasswordChange;
pub use policy::{AgentPolicy, BindPolicy, Fallback, Policy};
pub use qr::{Decision, Issued, Poll, Poller};
pub use reason::Reason;
pub use recent::RECENT_SIGN_IN;
pub use session::{Caller, Holder};
pub use socket::{Delivery, End, Socket, Sockets, Word};

/// The desk: everything a flow needs, handed in.
#[derive(Debug)]
pub struct Auth {
    /// Where things are kept.
    pub store: Store,
    /// What flows leave for each other.
    pub shared: Arc<Shared<Progress>>,
    /// Who says who people are.
    pub platform: Wecom,
    /// What time it is.
    pub clock: Clock,
    /// Where secrets come from.
    pub entropy: Entropy,
    /// What agents' secrets are kept with.
    pub locker: Locker,
    /// What the rows of the log are chained with.
    pub chain: ChainKey,
    /// Refusals that name no employee.
    pub anonymous: AnonymousRefusals,
    /// Fires when there is something to tell agents.
    pub noticed: Notify,
    /// Who is connected to this node.
    pub sockets: Arc<Sockets>,
    /// What this deployment allows.
    pub policy: Policy,
}

impl Auth {
    /// The key of an employee; without a corporation, of the home one.
    #[must_use]
    pub fn key(&self, corp: Option<&CorpId>, id: &EmployeeId) -> EmployeeKey {
        EmployeeKey::new(corp.unwrap_or(&self.policy.home), id, &self.policy.home)
    }

    fn deny_until(&self, now: Timestamp) -> Timestamp {
        now + self.policy.lifetime
    }
}
