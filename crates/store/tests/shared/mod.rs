//! The state that nodes share, on real servers.

mod alike;
mod bus;
mod deployments;
mod limits;
mod messages;
mod networks;
mod outages;
mod races;
mod retries;
mod sealed;
mod server;
