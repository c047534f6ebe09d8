//! OpenID Connect: other programs (clients) sign their users in here. What a client gets belongs to one session and one client (a
//! grant), and ends with either.

mod authorize;
mod claims;
mod client;
mod client_endings;
mod code;
mod email;
mod error;
mod grant;
mod id_token;
mod id_token_hint;
mod introspection;
pub(crate) mod jwt;
mod keys;
mod logout;
mod logout_delivery;
mod logout_queue;
mod logout_sender;
mod pending;
mod prompt;
mod refresh;
mod request_check;
mod revocation;
mod signing_key;
mod silent_entry;
mod sso;
mod subject;
mod userinfo;

pub use authorize::{AuthorizationFailure, AuthorizationPageError, AuthorizationStep, CheckedAuthorization};
pub use client::{ClientCredentials, ResolvedClient, SecretMethod, client_secret_digest};
pub use code::CodeRedemptionRequest;
pub use email::EmailDecision;
pub use error::OidcError;
pub use id_token::IssuedTokens;
pub use introspection::{IntrospectedToken, TokenDetails};
pub use keys::SigningKeys;
pub use logout::{LogoutStep, UnregisteredAddress};
pub use logout_sender::LogoutSender;
pub(crate) use logout_sender::shown_status;
pub use pending::{Continued, RequestOrigin};
pub use prompt::{AuthorizationPrompt, Needs};
pub use signing_key::SigningKey;
pub use sso::BrowserArrival;
