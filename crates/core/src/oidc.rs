//! OpenID Connect: the clients (relying parties) that sign users in here, and what they send and get. No I/O.

mod authorization;
mod backchannel;
mod client;
mod client_choice;
mod key_schedule;
mod parameters;
mod pkce;
mod redirect_uri;
mod scope;

pub use authorization::{
    AuthorizationCodeRecord, AuthorizationRequest, PendingAuthorization, PendingLogout, Prompts, SignInRequirement,
};
pub use backchannel::{is_written_for_logouts, may_receive_logouts};
pub use client::{ClientRegistration, InvalidRegistration, is_client_id};
pub use client_choice::{ClientKind, PkceRequirement, RoleClaims, SigningAlgorithm, SsoMode};
pub use key_schedule::{KEY_LIFETIME, KEY_PUBLICATION, KEY_RETENTION, KeyTimes, active_key, is_published};
pub use parameters::{OAuthError, OAuthErrorCode, Parameters, RepeatedParameter, authorization_request};
pub use pkce::{CodeChallenge, CodeVerifier};
pub use redirect_uri::{InvalidRedirectUri, is_on_loopback, is_registered, with_parameters};
pub use scope::{OidcScope, OidcScopes};
