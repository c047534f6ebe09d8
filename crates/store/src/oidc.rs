//! OpenID Connect: clients, signing keys, and what clients got for the sessions of their users.

mod browsers;
mod client_ends;
mod client_record;
mod clients;
mod direct_read;
pub(crate) mod endings;
mod grant_ends;
mod grants;
mod key_record;
mod keys;
mod logouts;
mod plans;
mod record;
mod refresh;
mod subjects;
mod tokens;
mod told_roles;

pub(crate) use client_ends::{SWEEP_REMOVED_CLIENTS, sweep_removed_clients};
pub use client_record::OidcClient;
pub(crate) use client_record::{StoredClients, read_clients};
pub use direct_read::read_oidc_clients;
pub use grants::{GrantClient, GrantOutcome, NewGrant};
pub use key_record::StoredSigningKey;
pub(crate) use key_record::read_keys;
pub use keys::KeyCondition;
pub use logouts::{LogoutBacklog, LogoutNotice};
pub(crate) use plans::{logout_statements, statements};
pub use record::{AccessTokenRecord, EndedGrant, GrantRecord};
pub use refresh::{RefreshOutcome, RefreshRequest};
