//! The outcome of an OAuth callback.

use deskpass_core::{Answer, BindProof, Confirm, LoginSource, Pending, Secret, Ticket};
use serde::{Deserialize, Serialize};

use crate::QuestionKind;

/// The page that the browser is redirected to in the end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum RedirectTarget {
    /// The address that was requested at the start.
    Asked(String),
    /// A client's page.
    Client(LoginSource),
}

/// The outcome of a callback.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum CallbackOutcome {
    /// The phone scanned a QR code, and decides with this secret.
    Decide(#[serde(with = "deskpass_core::exposed")] Secret<Confirm>),
    /// The phone opened a question of this kind, and answers it with this secret.
    Answer(#[serde(with = "deskpass_core::exposed")] Secret<Answer>, QuestionKind),
    /// The user is signed in; the page collects the token with this ticket.
    SignedIn(#[serde(with = "deskpass_core::exposed")] Secret<Ticket>, RedirectTarget),
    /// The user must confirm, with this secret, that they started the sign-in.
    Continue(#[serde(with = "deskpass_core::exposed")] Secret<Pending>),
    /// The user must name the employee to act as.
    Bind {
        /// The proof that authorises it.
        #[serde(with = "deskpass_core::exposed")]
        proof: Secret<BindProof>,
        /// The page to return to.
        to: RedirectTarget,
        /// Whether a phone scanned a QR code, which it can repeat afterwards.
        scanned: bool,
    },
}
