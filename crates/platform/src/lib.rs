//! What an enterprise messenger is to the service.
//!
//! A messenger has four small capabilities: [`SignIn`] identifies users, [`Directory`] knows them, [`Notify`] reaches them, and
//! [`Inbound`] reads what the platform sends by itself. [`Messenger`] is all four, and what operators need to know about it.
//!
//! A client crate implements them for one platform, and only that crate knows the platform's hosts, parameters and error codes.
//! [`client`] is what all clients share, and [`envelope`] is how platforms sign and encrypt events. Responses are untrusted until
//! they have been parsed: body sizes are limited, timeouts are short, and no text of a platform is passed on to a browser.

pub mod client;
pub mod envelope;

mod check;
mod directory;
mod error;
mod error_code;
mod identity;
mod inbound;
mod kind;
mod meaning;
mod messenger;
mod notify;
mod sign_in;
mod user_tokens;

use std::pin::Pin;

pub use check::{Check, CheckOutcome, Deployment};
pub use client::{
    CacheFuture, CachedToken, CallListener, CallOutcome, CallReport, Circuit, FETCH_LEASE, ObservedDate, SettingsError,
    Timeouts, TokenCache, tls_config,
};
pub use directory::{
    Department, Directory, DirectoryDepartment, DirectoryMember, DirectoryPage, DirectoryTag, MemberStatus, Profile,
    TagMember,
};
pub use error::{Error, InvalidResponse, Refused, Unreachable};
pub use error_code::ErrorCode;
pub use identity::Identity;
pub use inbound::{
    Inbound, InboundError, InboundEvent, InboundReply, InboundRequest, InboundResult, PersonChange, TimeUnit,
};
pub use kind::PlatformKind;
pub use meaning::{Explanation, FixableBy, Meaning};
pub use messenger::Messenger;
pub use notify::{CardHandle, Choice, Invitation, Notify, Question};
pub use sign_in::{
    CallbackReturn, CodeRedemption, EntryPoint, EntryScript, LinkLanguage, LinkRequest, RedirectRule, SignIn,
};
pub use url::Url;
pub use user_tokens::UserTokens;

/// The future of a call to a platform.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A future that cannot fail.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
