//! What the platform sends by itself: checks of the address, changes of people, and answers to questions.

use std::borrow::Cow;
use std::time::Duration;

use deskpass_core::Timestamp;
use percent_encoding::percent_decode_str;

use crate::PlatformKind;

const MAX_QUERY_BYTES: usize = 8 * 1024;
/// How far the clock of a platform may be ahead.
const MAX_AHEAD: Duration = Duration::from_mins(10);

/// A request of the platform, as it arrived.
#[derive(Clone, Copy)]
pub struct InboundRequest<'a> {
    /// Whether the method is GET; otherwise POST.
    pub is_get: bool,
    /// The raw query.
    pub query: &'a str,
    /// Returns the value of a header by its lower-case name.
    pub header: &'a (dyn Fn(&str) -> Option<&'a str> + Sync),
    /// The raw body. Signatures are about these bytes.
    pub body: &'a [u8],
    /// When it arrived.
    pub at: Timestamp,
    /// Random bytes for an encrypted reply.
    pub random: [u8; 16],
}

impl<'a> InboundRequest<'a> {
    /// Refuses a request that is too large for this platform, before anything of it is read.
    pub const fn check_size(&self, kind: PlatformKind) -> Result<(), InboundError> {
        if self.body.len() > kind.max_event_bytes() || self.query.len() > MAX_QUERY_BYTES {
            return Err(InboundError::Malformed);
        }
        Ok(())
    }

    /// The value of a query parameter. A `+` stays a `+`: values are base64, which not every sender encodes, and none has blanks.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<Cow<'a, str>> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        let (_, value) = pairs.find(|(key, _)| *key == name)?;
        percent_decode_str(value).decode_utf8().ok()
    }

    /// Refuses a request that was sent too long ago, in the future, or at no time at all.
    pub fn check_time(&self, sent: Option<Timestamp>, max_age: Duration) -> Result<(), InboundError> {
        let sent = sent.ok_or(InboundError::Time)?;
        let fits = self.at.since(sent) <= max_age && sent.since(self.at) <= MAX_AHEAD;
        fits.then_some(()).ok_or(InboundError::Time)
    }
}

/// The unit of a time that a platform writes as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds since 1970.
    Seconds,
    /// Milliseconds since 1970.
    Milliseconds,
}

impl TimeUnit {
    /// Parses a time: digits only.
    #[must_use]
    pub fn parse(self, text: &str) -> Option<Timestamp> {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number: i64 = Some(text).filter(|_| digits)?.parse().ok()?;
        let millis = match self {
            Self::Seconds => number.checked_mul(1_000)?,
            Self::Milliseconds => number,
        };
        Some(Timestamp::from_millis(millis))
    }
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
    /// The account of a member is disabled.
    Suspended {
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
    /// The application may see fewer people, who are not named: all who are signed in must be looked up.
    RangeReduced,
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

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    fn request<'a>(query: &'a str, body: &'a [u8]) -> InboundRequest<'a> {
        InboundRequest { is_get: false, query, header: &|_| None, body, at: NOW, random: [0; 16] }
    }

    #[test]
    fn parameters_are_decoded_and_a_plus_stays() {
        let request = request("a=1&echostr=x+y%2Bz%3D%3d&empty=&a=2&flag&broken=%ff&%61=3", b"");
        let parameter = |name| request.parameter(name);
        assert_eq!(parameter("echostr").as_deref(), Some("x+y+z=="));
        assert_eq!(parameter("a").as_deref(), Some("1"), "the first one");
        assert_eq!(parameter("empty").as_deref(), Some(""));
        for missing in ["flag", "broken", "echo", "A", ""] {
            assert_eq!(parameter(missing), None, "{missing}");
        }
    }

    #[test]
    fn large_requests_are_refused() {
        for kind in PlatformKind::ALL {
            let (body, query) = (vec![b'x'; kind.max_event_bytes() + 1], "x".repeat(MAX_QUERY_BYTES + 1));
            assert_eq!(request("", &body).check_size(kind), Err(InboundError::Malformed));
            assert_eq!(request(&query, b"").check_size(kind), Err(InboundError::Malformed));
            assert_eq!(request("", body.split_at(kind.max_event_bytes()).0).check_size(kind), Ok(()));
        }
    }

    #[test]
    fn times_have_a_limit_in_both_directions() {
        let (age, millisecond) = (Duration::from_mins(10), Duration::from_millis(1));
        let request = request("", b"");
        for fits in [NOW, NOW - age, NOW + age] {
            assert_eq!(request.check_time(Some(fits), age), Ok(()), "{fits:?}");
        }
        let extremes = [Timestamp::from_millis(i64::MIN), Timestamp::from_millis(i64::MAX)];
        for off in [NOW - age - millisecond, NOW + age + millisecond].into_iter().chain(extremes) {
            assert_eq!(request.check_time(Some(off), age), Err(InboundError::Time), "{off:?}");
        }
        assert_eq!(request.check_time(None, age), Err(InboundError::Time));
    }

    #[test]
    fn times_are_digits() {
        assert_eq!(TimeUnit::Seconds.parse("1700000000"), Some(NOW));
        assert_eq!(TimeUnit::Milliseconds.parse("1700000000000"), Some(NOW));
        for wrong in ["", "-1", "+1", "1.5", " 1", "9223372036854775807", "1e9", "\u{661}"] {
            assert_eq!(TimeUnit::Seconds.parse(wrong), None, "{wrong}");
        }
    }
}
