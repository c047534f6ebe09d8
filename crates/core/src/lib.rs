//! The domain types of deskpass: tokens, employees, roles, sessions and addresses.
//!
//! This crate does no I/O. Time and randomness are injected: a [`Clock`] and an [`Entropy`] are created once, at the top, and
//! passed to the code that needs them.

mod allow;
mod clock;
mod department;
mod employee;
mod encryption_keys;
mod entropy;
mod failed_attempts;
mod holder;
mod host;
mod invisible;
mod limit;
mod login;
mod message;
mod named_enum;
mod network;
mod number_match;
pub mod oidc;
mod opaque_debug;
mod password;
mod pending_sign_in;
mod permission;
mod phone_question;
mod preference;
mod reason;
mod recovery_code;
mod reference;
mod role;
mod role_rule;
mod search_term;
mod secret;
mod secret_kind;
mod service;
mod session;
mod ticketed_token;
mod totp;
mod trace_parent;

pub use allow::AllowLists;
pub use clock::{
    Clock, ClockDoubt, ClockDoubtReason, ClockTrust, DatabaseClock, LEASE_CLOCK_ERROR, MAX_CLOCK_SKEW, MachineClock,
    RECOVERED_CLOCK_SKEW, ReferenceSource, ReferenceTime, Timestamp,
};
pub use department::{entered_department_id, is_entered_department, is_platform_department};
pub use employee::{
    CorpId, Email, EmailSource, EmployeeId, EmployeeKey, IdentifiedPerson, InvalidId, LeftReason, Person,
};
pub use encryption_keys::{EncryptionKeys, KeyBytes, key_id};
pub use entropy::{Entropy, NoEntropy};
pub use failed_attempts::{FailedAttempts, Lockout};
pub use holder::{Holder, HolderChange, Sameness};
pub use host::{Host, HostNames};
pub use invisible::{is_blank, is_invisible};
pub use limit::{Debt, Rate};
pub use login::{ClientInfo, LoginMethod, LoginSource, UserAgent};
pub use message::{
    Chunk, ChunkOutOfOrder, FrameDraft, InvalidMessageId, Message, MessageId, MessageKind, Recipient, SocketKind,
    StreamId, StreamProgress,
};
pub use network::{
    ClientAddress, InvalidNetwork, Networks, enclosing_networks, is_private, nearby_network, parse_network,
    rate_limit_address, unlisted_proxy,
};
pub use number_match::{MatchNumber, NumberMatch};
pub use password::{Password, Weakness, weakness};
pub use pending_sign_in::{
    EarlyEnd, InvalidTransition, OUTCOME_PERIOD, PendingSignIn, PersonPreview, PhoneClaim, SignInOrigin, SignInStage,
};
pub use permission::{Operation, PermissionMatrix, PermissionScope, Resource};
pub use phone_question::{
    AskerPreview, InvalidAnswer, PhoneQuestion, QUESTION_LIFETIME, QuestionRefusal, QuestionStage, QuestionStatus,
    QuestionSubject, ShownField, VERIFIED_PERIOD, operation_digest,
};
pub use preference::{preferences, preferred};
pub use reason::{MAX_REASON_CHARS, parse_reason};
pub use recovery_code::RecoveryCode;
pub use reference::Reference;
pub use role::{Role, Roles};
pub use role_rule::{Memberships, RoleRule, RuleGroup};
pub use search_term::{search_range, search_terms};
pub use secret::{Digest, MalformedSecret, SealedToken, Secret, exposed};
pub use secret_kind::{
    Access, Answer, AuthorizationCode, AuthorizationRequestId, BindProof, Browser, ClientSecret, Confirm, Flow, Half,
    KnownBrowser, OidcAccess, Pending, Question, RefreshToken, ScanId, SecretKind, SecretKindName, ServiceKey,
    SingleSignOn, Ticket,
};
pub use service::{ServiceKeyName, ServiceScope, ServiceScopes, UnknownServiceScope};
pub use session::{PlatformVouching, Session};
pub use ticketed_token::TicketedToken;
pub use totp::{OneTimeCode, TotpSecret, TotpStep};
pub use trace_parent::TraceParent;
