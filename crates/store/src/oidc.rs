//! OpenID Connect: clients, signing keys, and what clients got for the sessions of their users.

mod browsers;
mod clients;
pub(crate) mod endings;
mod grants;
mod keys;
mod logouts;
mod plans;
mod record;
mod refresh;
mod subjects;
mod tokens;

pub use clients::OidcClient;
pub(crate) use clients::read_clients;
pub use grants::{GrantClient, GrantOutcome, NewGrant};
pub(crate) use keys::read_keys;
pub use keys::{KeyCondition, StoredSigningKey};
pub use logouts::{LogoutBacklog, LogoutNotice};
pub(crate) use plans::statements;
pub use record::{AccessTokenRecord, EndedGrant, GrantRecord};
pub use refresh::{RefreshOutcome, RefreshRequest};
