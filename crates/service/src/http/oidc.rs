//! Handlers below /oidc and /.well-known, for OpenID Connect clients. Their bodies are those of the standards, without the envelope.

pub(crate) mod authorize;
mod client_auth;
pub(crate) mod cors;
pub(crate) mod discovery;
mod error_page;
pub(crate) mod introspect;
mod invalid_tokens;
pub(crate) mod logout;
mod provider;
mod reply;
pub(crate) mod revoke;
pub(crate) mod token;
pub(crate) mod userinfo;
