//! A session that is to begin.

use deskpass_core::{Digest, EmployeeKey, Roles, Session, Timestamp};

use crate::{LogEntry, Notice};

/// A session to begin.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// Digest of the token.
    pub digest: Digest,
    /// The session.
    pub session: Session,
    /// Whether the default role comes from the employee's agent record, which must then still have it.
    pub default_role_from_record: bool,
    /// The roles that the employee held when the session was made. A session with a default role begins only if they are the same.
    pub held_roles: Roles,
    /// When the platform was asked who the user is, if it was: the session begins only if nobody else has the identifier since.
    pub asked_at: Option<Timestamp>,
    /// The condition for beginning the session.
    pub precondition: Precondition,
    /// The maximum number of sessions of the employee; the oldest end.
    pub at_most: Option<usize>,
    /// How long the digests of the ended sessions are denied.
    pub deny_until: Timestamp,
    /// The network of the sign-in.
    pub network: SignInNetwork,
    /// The audit event.
    pub entry: LogEntry,
}

/// The condition for beginning a session, besides the enabled employee.
#[derive(Clone, Debug)]
pub enum Precondition {
    /// No condition.
    None,
    /// A proof, which the session consumes.
    Proof(Digest),
    /// A link in use, by which this identity acts as the employee.
    Link(EmployeeKey),
    /// A partial session, which the session completes.
    PartialSession(Digest),
}

/// The network that a session begins from.
#[derive(Clone, Debug)]
pub struct SignInNetwork {
    /// The network as text, such as `192.0.2.0/24`.
    pub name: String,
    /// The notice for the employee if the network is new; `None` for sign-in methods without such a notice.
    pub notice: Option<Notice>,
    /// Whether to notify also at the first sign-in: the phone that confirmed it was in another network.
    pub notify_on_first_sign_in: bool,
}
