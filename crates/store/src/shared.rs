//! What may be lost: sign-ins under way, flows, codes seen. Whoever loses one tries again.

mod in_process;
mod limits;
mod mail;
mod redis;
mod shelf;

use std::fmt;
use std::sync::Arc;

use deskpass_core::{Digest, Identified, LoginSource, SignIn, Stage, Timestamp};
use serde::{Deserialize, Serialize};

use self::redis::Server;
use crate::StoreError;

pub use self::limits::{Counted, Limits};
pub use self::mail::{Admitted, Letter, Mail, Posted, Reader, Start, Unfit};
pub use self::redis::{Arrived, Ask, Bus, Counting, Redis, RedisExam, Round, examine_redis};
pub use shelf::{Changes, Perishable, Shelf};

/// The sign-ins kept at once. More are asked for only by a flood, and then those go first that nobody has scanned.
const SIGN_INS: usize = 50_000;

/// The other records kept at once, of each kind; some of them carry an address of two kilobytes.
const RECORDS: usize = 25_000;

/// What flows leave here for each other.
#[derive(Debug)]
pub struct Shared<Progress> {
    /// Sign-ins, by their ticket.
    pub sign_ins: Shelf<SignIn>,
    /// Which sign-in a scan id is about.
    pub scan_ids: Shelf<Pointer>,
    /// Which sign-in a phone's secret is about. Not beside the scan ids: a flood of those must not push out whoever is about
    /// to decide.
    pub claims: Shelf<Pointer>,
    /// OAuth sign-ins that a browser began, by its cookie.
    pub flows: Shelf<Flow>,
    /// People who must say that it was they who began.
    pub pending: Shelf<Held>,
    /// What the platform's codes were answered with.
    pub codes: Shelf<Code<Progress>>,
    /// The platform's access tokens, by what they are asked for with.
    pub tokens: Shelf<PlatformToken>,
    /// Who is at something that only one node should do at a time.
    pub leases: Shelf<Lease>,
    /// Who has asked how often.
    pub limits: Limits,
    /// Messages to those who are connected.
    pub mail: Mail,
    /// What all shelves have in common when they are not in this process.
    server: Option<Arc<Server>>,
}

impl<Progress> Shared<Progress> {
    /// For a single node: everything is in this process.
    #[must_use]
    pub fn in_process() -> Self {
        Self::at(None)
    }

    /// For several nodes: everything is in a Redis, which need not answer yet. To be called where tasks can be started;
    /// they end with this value.
    ///
    /// # Errors
    /// When the settings make no sense.
    pub fn redis(settings: Redis) -> Result<Self, StoreError> {
        Server::start(settings).map(|server| Self::at(Some(Arc::new(server))))
    }

    fn at(server: Option<Arc<Server>>) -> Self {
        Self {
            sign_ins: Shelf::new(server.as_ref(), "sign_in", SIGN_INS),
            scan_ids: Shelf::new(server.as_ref(), "scan_id", SIGN_INS),
            claims: Shelf::new(server.as_ref(), "claim", SIGN_INS),
            flows: Shelf::new(server.as_ref(), "flow", RECORDS),
            pending: Shelf::new(server.as_ref(), "pending", RECORDS),
            codes: Shelf::new(server.as_ref(), "code", RECORDS),
            tokens: Shelf::new(server.as_ref(), "token", RECORDS),
            leases: Shelf::new(server.as_ref(), "lease", RECORDS),
            limits: Limits::new(server.clone()),
            mail: Mail::new(server.as_ref()),
            server,
        }
    }

    /// Whether records can be kept right now.
    ///
    /// # Errors
    /// When they cannot.
    pub async fn probe(&self) -> Result<(), StoreError> {
        match &self.server {
            Some(server) => server.probe().await,
            None => Ok(()),
        }
    }

    /// Whether records could be kept when that was tried last.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.server.as_deref().is_none_or(Server::is_up)
    }

    /// Whether records are kept where others than this process may put them back.
    #[must_use]
    pub fn is_outside(&self) -> bool {
        self.server.is_some()
    }

    /// What carries word between the nodes, where there may be several.
    #[must_use]
    pub fn bus(&self) -> Option<&Bus> {
        self.server.as_deref().map(Server::bus)
    }
}

/// Leads to a sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointer {
    /// The ticket's digest.
    pub to: Digest,
    /// How long it leads there.
    pub until: Timestamp,
}

/// An OAuth sign-in that a browser began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Where the browser wants to be in the end, unless any page will do.
    pub destination: Option<String>,
    /// The client whose page that is.
    pub source: Option<LoginSource>,
    /// Whether it has come back and was let in.
    pub used: bool,
    /// When it is too late.
    pub until: Timestamp,
}

/// Somebody the platform vouches for, kept until they decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Who.
    pub who: Identified,
    /// When it is too late.
    pub until: Timestamp,
}

/// A code of the platform: whoever brings it first has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code<Progress> {
    /// The browser that brought it.
    pub browser: Digest,
    /// How far it has come.
    pub progress: Progress,
    /// How long it is remembered.
    pub until: Timestamp,
}

/// An access token of the platform.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlatformToken {
    /// The token.
    pub value: String,
    /// When it was asked for.
    pub asked_at: Timestamp,
    /// How long it is good.
    pub expires_at: Timestamp,
}

impl fmt::Debug for PlatformToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked_at, expires_at, .. } = self;
        write!(f, "PlatformToken(asked for at {}, until {})", asked_at.millis(), expires_at.millis())
    }
}

/// Somebody's right to do something alone for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Whose.
    pub holder: Digest,
    /// How long.
    pub until: Timestamp,
}

impl Perishable for PlatformToken {
    fn until(&self) -> Timestamp {
        self.expires_at
    }
}

impl Perishable for Lease {
    fn until(&self) -> Timestamp {
        self.until
    }
}

impl Perishable for SignIn {
    fn until(&self) -> Timestamp {
        self.expires_at
    }

    fn is_dispensable(&self) -> bool {
        matches!(self.stage, Stage::Waiting | Stage::Over)
    }
}

impl Perishable for Pointer {
    fn until(&self) -> Timestamp {
        self.until
    }
}

impl Perishable for Flow {
    fn until(&self) -> Timestamp {
        self.until
    }
}

impl Perishable for Held {
    fn until(&self) -> Timestamp {
        self.until
    }
}

impl<Progress> Perishable for Code<Progress> {
    fn until(&self) -> Timestamp {
        self.until
    }
}
