//! What may be lost: sign-ins under way, flows, codes seen. Whoever loses one tries again.

mod shelf;

use deskpass_core::{Digest, Identified, SignIn, Stage, Timestamp};

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
}

impl<Progress> Default for Shared<Progress> {
    fn default() -> Self {
        Self {
            sign_ins: Shelf::new(SIGN_INS),
            scan_ids: Shelf::new(SIGN_INS),
            claims: Shelf::new(SIGN_INS),
            flows: Shelf::new(RECORDS),
            pending: Shelf::new(RECORDS),
            codes: Shelf::new(RECORDS),
        }
    }
}

/// Leads to a sign-in.
#[derive(Clone, Copy, Debug)]
pub struct Pointer {
    /// The ticket's digest.
    pub to: Digest,
    /// How long it leads there.
    pub until: Timestamp,
}

/// An OAuth sign-in that a browser began.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Where the browser wants to be in the end, unless any page will do.
    pub destination: Option<String>,
    /// Whether it has come back and was let in.
    pub used: bool,
    /// When it is too late.
    pub until: Timestamp,
}

/// Somebody the platform vouches for, kept until they decide.
#[derive(Clone, Debug)]
pub struct Held {
    /// Who.
    pub who: Identified,
    /// When it is too late.
    pub until: Timestamp,
}

/// A code of the platform: whoever brings it first has it.
#[derive(Clone, Debug)]
pub struct Code<Progress> {
    /// The browser that brought it.
    pub browser: Digest,
    /// How far it has come.
    pub progress: Progress,
    /// How long it is remembered.
    pub until: Timestamp,
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
