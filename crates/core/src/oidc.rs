//! OpenID Connect: the clients (relying parties) that sign users in here, and what they send and get. No I/O.

mod authorization;
mod client;
mod key_schedule;
mod parameters;
mod pkce;
mod redirect_uri;
mod scope;

pub use authorization::{
    AuthorizationCodeRecord, AuthorizationRequest, PendingAuthorization, PendingLogout, Prompts, SignInRequirement,
};
pub use client::{
    ClientKind, ClientRegistration, InvalidRegistration, PkceRequirement, RoleClaims, SigningAlgorithm, SsoMode,
    is_client_id,
};
pub use key_schedule::{KEY_LIFETIME, KEY_PUBLICATION, KEY_RETENTION, KeyTimes, active_key, is_published};
pub use parameters::{OAuthError, OAuthErrorCode, Parameters, RepeatedParameter, authorization_request};
pub use pkce::{CodeChallenge, CodeVerifier};
pub use redirect_uri::{InvalidRedirectUri, check_redirect_uri, is_registered, with_parameters};
pub use scope::{OidcScope, OidcScopes};
