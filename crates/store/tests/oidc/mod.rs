//! Clients of OpenID Connect and what they got, on the embedded database and on a real PostgreSQL with two nodes.

mod clients;
mod emails;
mod endings;
mod grants;
mod keys;
mod logouts;
mod plans;
mod races;
mod refreshing;
pub(crate) mod scene;
