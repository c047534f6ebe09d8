//! What a handler reads of a request: tokens, authority, the client's address, fields of body, query and path.

pub(crate) mod authority;
pub(crate) mod cookies;
pub(crate) mod extract;
pub(crate) mod field_formats;
pub(crate) mod fields;
pub(crate) mod language;
pub(crate) mod opener;
pub(crate) mod query;
pub(crate) mod user_agent;
