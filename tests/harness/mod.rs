//! Starts desks and talks to them.

mod agent;
mod browser;
mod client;
mod described;
mod desk;
mod download;
mod faketime;
mod operator;
mod phone;
mod place;
mod process;
mod proxy;
mod servers;
mod service;
mod socket;
mod stage;

pub(crate) use agent::{Device, PASSWORD, STEP};
pub(crate) use browser::{Browser, Driver, Key, Network, Options, Viewport, full_picture, picture};
pub(crate) use client::{Client, Response, request};
pub(crate) use described::hold;
pub(crate) use desk::{PRODUCTION, TestDesk, query, settings};
pub(crate) use download::Download;
pub(crate) use faketime::WrongClock;
pub(crate) use operator::Operator;
pub(crate) use phone::{Platform, cookies, encoded, fragment, location, target};
pub(crate) use place::Place;
pub(crate) use process::{Process, binary, with_settings};
pub(crate) use proxy::{Proxy, free_address};
pub(crate) use servers::{PASSWORDS, Servers};
pub(crate) use socket::{Frame, TestSocket, handshake, masked};
pub(crate) use stage::Stage;

/// Runs a test on every store, under a name that says which. It gets a desk in development mode, or starts its own.
macro_rules! on_every_store {
    ($($(#[$meta:meta])* async fn $name:ident($($desk:ident)?) $body:block)*) => {$(
        $(#[$meta])*
        mod $name {
            #[allow(unused_imports, clippy::allow_attributes, reason = "not every test needs all of its neighbours")]
            use super::*;

            async fn run($($desk: crate::harness::TestDesk)?) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn embedded() {
                crate::harness::Stage::Embedded.run(async { run($(crate::harness::on_every_store!(@start $desk))?).await }).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn scaled_out() {
                crate::harness::Stage::ScaledOut.run(async { run($(crate::harness::on_every_store!(@start $desk))?).await }).await;
            }
        }
    )*};
    (@start $desk:ident) => { crate::harness::TestDesk::start().await };
}
pub(crate) use on_every_store;
