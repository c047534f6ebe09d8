//! Starts desks and talks to them.

mod browser;
mod client;
mod desk;
mod phone;
mod process;

pub(crate) use browser::{Browser, Driver, Options};
pub(crate) use client::{Client, Response, request};
pub(crate) use desk::{PRODUCTION, TestDesk, query, settings};
pub(crate) use phone::{Platform, cookies, encoded, fragment, location, target};
pub(crate) use process::{Process, binary};

/// Runs a test on every store, under a name that says which.
macro_rules! on_every_store {
    ($($(#[$meta:meta])* async fn $name:ident($desk:ident) $body:block)*) => {$(
        $(#[$meta])*
        mod $name {
            #[allow(unused_imports, clippy::allow_attributes, reason = "not every test needs all of its neighbours")]
            use super::*;

            async fn run($desk: crate::harness::TestDesk) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn embedded() {
                run(crate::harness::TestDesk::start().await).await;
            }
        }
    )*};
}
