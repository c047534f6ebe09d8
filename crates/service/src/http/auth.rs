//! Handlers below `/api/auth`.

pub(crate) mod approvals;
pub(crate) mod bind;
mod callback_query;
pub(crate) mod code_claims;
pub(crate) mod entry;
mod login_state;
pub(crate) mod oauth2;
pub(crate) mod oidc;
pub(crate) mod otp;
pub(crate) mod permissions;
mod pkce;
pub(crate) mod platform_link;
mod qr_client;
pub(crate) mod scan;
pub(crate) mod scan_events;
pub(crate) mod scan_outcome;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod sign_ins;
mod state_binding;
mod state_seal;
pub(crate) mod token_info;
