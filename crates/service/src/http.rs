//! The HTTP interface: requests, responses, handlers, and the table of routes.

mod admin;
mod admission;
mod agents;
mod api_document;
mod approval_sentence;
mod auth;
mod dispatcher;
mod error;
mod handler;
mod head_rules;
mod held_refusals;
mod high_risk;
mod messages;
mod oidc;
mod openapi;
mod pages;
mod phone_questions;
mod platform;
mod rate_limit;
mod request;
mod response;
mod route;
mod routes;
mod system;
mod verifications;
mod ws;

pub use api_document::description;
pub(crate) use dispatcher::Dispatcher;
pub use request::RequiredAccess;
pub(crate) use request::ReserveConnection;
pub(crate) use request::user_agent::device_names;
pub(crate) use response::landing::refusal_word;
pub use route::{OtherSites, RateLimit, Route};
pub use routes::routes;
pub(crate) use ws::PendingUpgrade;
