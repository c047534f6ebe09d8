//! What a refusal means to the service, and who can fix its cause.

/// What a refusal means to the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The platform is busy: the same call may succeed in a moment.
    Retry,
    /// The access token is no longer valid: the call may succeed once with a new one.
    Refresh,
    /// The code is unknown, used or expired: the user starts the sign-in again.
    StartAgain,
    /// An administrator must act, in the platform's console or in the settings of this service.
    Administrator,
    /// This service made a mistake.
    Developer,
    /// The user is not, or no longer, a member of the corporation.
    Gone,
    /// The user or department exists, but the application may not see it.
    OutOfRange,
    /// There were too many calls; the circuit breaker knows until when.
    Limited,
    /// The platform will never accept this request, such as a message to this recipient.
    Rejected,
}

/// Who can fix the cause of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixableBy {
    /// The user who signs in, by starting again.
    Person,
    /// An administrator, in the platform's console or in this service's settings.
    Administrator,
    /// The developers of this service.
    Developer,
    /// No action is needed: the error is temporary or harmless.
    Nobody,
}

/// The explanation of an error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Who can fix the cause.
    pub fixable_by: FixableBy,
    /// The meaning and the fix, in English and in Chinese.
    pub text: [&'static str; 2],
}
