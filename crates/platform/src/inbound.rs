//! What the platform sends by itself: checks of the address, changes of people, and answers to questions.

use deskpass_core::Timestamp;

/// A request of the platform, as it arrived.
#[derive(Clone, Copy)]
pub struct InboundRequest<'a> {
    /// Whether the method is GET; otherwise POST.
    pub is_get: bool,
    /// The raw query.
    pub query: &'a str,
    /// Returns the value of a header by its lower-case name.
    pub header: &'a dyn Fn(&str) -> Option<&'a str>,
    /// The raw body. Signatures are about these bytes.
    pub body: &'a [u8],
    /// When it arrived.
    pub at: Timestamp,
    /// Random bytes for an encrypted reply.
    pub random: [u8; 16],
}

/// The immediate reply, with status 200.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InboundReply {
    /// The media type.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}

/// What a request means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboundResult {
    /// The reply, to be sent before the events are handled.
    pub reply: InboundReply,
    /// The events. A platform may deliver an event more than once, and in any order.
    pub events: Vec<InboundEvent>,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboundEvent {
    /// The same for every delivery of this event, and for no other event.
    pub deduplication_key: String,
    /// When it happened, if the platform says so.
    pub at: Option<Timestamp>,
    /// What happened.
    pub change: PersonChange,
}

/// What happened at the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonChange {
    /// A member joined, came back, or came into the application's range.
    Joined {
        /// The member.
        userid: String,
    },
    /// The record of a member changed: it must be read again.
    Changed {
        /// The member.
        userid: String,
    },
    /// A member has another identifier.
    Renamed {
        /// The former identifier.
        from: String,
        /// The new identifier.
        to: String,
    },
    /// A member left the corporation.
    Left {
        /// The member.
        userid: String,
    },
    /// A member is no longer in the application's range, or left: the platform does not say which.
    OutOfRange {
        /// The member.
        userid: String,
    },
    /// A department changed.
    DepartmentChanged {
        /// The department.
        id: String,
    },
    /// A connected corporation was removed.
    CorporationRemoved {
        /// The corporation.
        corp_id: String,
    },
    /// A member answered a question.
    Answered {
        /// The id of the question.
        question: String,
        /// The key of the choice.
        choice: String,
        /// The member who answered.
        userid: String,
        /// The newest handle of the question, if the platform issued one.
        handle: Option<crate::CardHandle>,
    },
}

/// Why a request of the platform is refused. The answer to all of them is the same.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum InboundError {
    /// No token or key is configured.
    #[error("events are not configured")]
    NotConfigured,
    /// The signature is missing or wrong.
    #[error("wrong signature")]
    Signature,
    /// The time of the request is too far from now.
    #[error("too old, or from the future")]
    Time,
    /// The body is too large, cannot be decrypted, or is not what the platform sends.
    #[error("malformed")]
    Malformed,
    /// It is about another application or corporation.
    #[error("for another application or corporation")]
    Receiver,
}

/// Reads what the platform sends by itself.
pub trait Inbound: Send + Sync {
    /// Reads a request: authenticates and decrypts it. Does nothing else.
    fn read_inbound(&self, request: &InboundRequest<'_>) -> Result<InboundResult, InboundError>;
}
