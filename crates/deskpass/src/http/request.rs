//! The parts of a request that handlers read: tokens, authority, the client's address, fields of body, query and path.

pub(crate) mod access;
pub(crate) mod authority;
pub(crate) mod body;
pub(crate) mod change;
pub(crate) mod client;
pub(crate) mod context;
pub(crate) mod cookies;
pub(crate) mod describe;
pub(crate) mod detached;
pub(crate) mod fields;
pub(crate) mod language;
pub(crate) mod opener;
pub(crate) mod query;
pub(crate) mod restricted;
pub(crate) mod service;
pub(crate) mod token;
pub(crate) mod user_agent;
