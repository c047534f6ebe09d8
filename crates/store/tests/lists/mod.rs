//! Lists of people and sessions, and the global rules, on the embedded database and on a real PostgreSQL with two nodes.

mod people;
mod plans;
mod properties;
mod roles;
mod rules;
pub(crate) mod scene;
mod sessions;
