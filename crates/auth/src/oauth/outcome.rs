//! What becomes of a browser that comes back from the platform.

use deskpass_core::{BindProof, Confirm, LoginSource, Pending, Secret, Ticket};
use serde::{Deserialize, Serialize};

/// Where a browser goes in the end: where it wanted, or to the page of a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum RedirectTarget {
    /// The address it asked for when it began.
    Asked(String),
    /// A client's page.
    Client(LoginSource),
}

/// What becomes of somebody who came back from the platform.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum CallbackOutcome {
    /// Their phone scanned a code, and they decide with this.
    Decide(#[serde(with = "deskpass_core::exposed")] Secret<Confirm>),
    /// They are signed in; the page collects the token with this.
    SignedIn(#[serde(with = "deskpass_core::exposed")] Secret<Ticket>, RedirectTarget),
    /// They must say that it was they who began, with this.
    Continue(#[serde(with = "deskpass_core::exposed")] Secret<Pending>),
    /// They must say which employee they are.
    Bind {
        /// With this.
        #[serde(with = "deskpass_core::exposed")]
        proof: Secret<BindProof>,
        /// There.
        to: RedirectTarget,
        /// Whether it was a phone that scanned a code, which it can do again afterwards.
        scanned: bool,
    },
}
