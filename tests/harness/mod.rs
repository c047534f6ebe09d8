//! Starts services and talks to them.

mod agent;
mod app;
mod browser;
mod client;
mod cluster_store;
mod download;
mod faketime;
mod fault_proxy;
mod messenger;
mod metrics;
mod name_server;
mod oidc;
mod openapi_check;
mod operator;
mod phone;
mod phone_answer;
mod process;
mod prometheus;
mod proxy;
mod reply_backend;
mod servers;
mod service;
mod socket;
mod stopwatch;
mod store_backend;
mod wait;

pub(crate) use agent::{Device, PASSWORD, STEP};
pub(crate) use app::{PRODUCTION, TestApp, development, production_pairs, query, settings};
pub(crate) use browser::{Browser, Driver, Feature, Key, Network, Options, Viewport, full_picture, picture};
pub(crate) use client::{Client, Response, request};
pub(crate) use cluster_store::ClusterStore;
pub(crate) use download::Download;
pub(crate) use faketime::FakeClock;
pub(crate) use fault_proxy::{Fault, FaultProxy, Fired, Trigger};
pub(crate) use messenger::{Messenger, message_text, on_platform, platform_kind};
pub(crate) use metrics::metric;
pub(crate) use name_server::NameServer;
pub(crate) use oidc::{
    ALL_SCOPES, Authorization, LogoutAnswer, OidcBrowser, OidcClient, Receiver, Returned, Tokens, decoded, oauth_error,
    public, registration, registration_at, signed_by_us,
};
pub(crate) use openapi_check::assert_documented;
pub(crate) use operator::Operator;
pub(crate) use phone::{Platform, cookies, encoded, fragment, location, target};
pub(crate) use process::{Process, binary, finished, program, with_settings};
pub(crate) use prometheus::{Prometheus, deployed, promtool};
pub(crate) use proxy::{Proxy, free_address};
pub(crate) use reply_backend::{BackendAnswer, REPLY_SECRET, ReceivedReply, ReplyBackend};
pub(crate) use servers::{PASSWORDS, Servers, root};
pub(crate) use socket::{Frame, TestSocket, handshake, masked};
pub(crate) use stopwatch::Stopwatch;
pub(crate) use store_backend::{StoreBackend, rounds};
pub(crate) use wait::until;

/// Runs a test on every store, under a name that says which. The test gets a service in development mode, or starts its own.
macro_rules! on_every_store {
    ($($(#[$meta:meta])* async fn $name:ident($($app:ident)?) $body:block)*) => {$(
        $(#[$meta])*
        mod $name {
            #[allow(unused_imports, clippy::allow_attributes, reason = "not every test needs all of its neighbours")]
            use super::*;

            async fn run($($app: crate::harness::TestApp)?) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn embedded() {
                crate::harness::StoreBackend::Embedded.run(async { run($(crate::harness::on_every_store!(@start $app))?).await }).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn scaled_out() {
                crate::harness::StoreBackend::ScaledOut.run(async { run($(crate::harness::on_every_store!(@start $app))?).await }).await;
            }
        }
    )*};
    (@start $app:ident) => { crate::harness::TestApp::start().await };
}
pub(crate) use on_every_store;

/// Runs a test of what no store has a part in: parsing, refusals by form, protocols, the platform. One store is enough.
macro_rules! on_one_store {
    ($($(#[$meta:meta])* async fn $name:ident($($app:ident)?) $body:block)*) => {$(
        $(#[$meta])*
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            $(let $app = crate::harness::TestApp::start().await;)?
            $body
        }
    )*};
}

/// Runs a test on every platform, under a name that says which. The test gets a service in development mode on the embedded store,
/// or starts its own. With `both stores:` it also runs scaled out, except on WeCom, for which the whole suite does that.
macro_rules! on_every_platform {
    (both stores: $($(#[$meta:meta])* async fn $name:ident($($app:ident)?) $body:block)*) => {$(
        $(#[$meta])*
        mod $name {
            #[allow(unused_imports, clippy::allow_attributes, reason = "not every test needs all of its neighbours")]
            use super::*;

            async fn run($($app: crate::harness::TestApp)?) $body

            crate::harness::on_every_platform!(@test wecom Wecom Embedded $($app)?);
            crate::harness::on_every_platform!(@test dingtalk Dingtalk Embedded $($app)?);
            crate::harness::on_every_platform!(@test dingtalk_scaled_out Dingtalk ScaledOut $($app)?);
            crate::harness::on_every_platform!(@test feishu Feishu Embedded $($app)?);
            crate::harness::on_every_platform!(@test feishu_scaled_out Feishu ScaledOut $($app)?);
        }
    )*};
    (@test $test:ident $kind:ident $store:ident $($app:ident)?) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() {
            let test = async { run($(crate::harness::on_every_store!(@start $app))?).await };
            let test = crate::harness::on_platform(deskpass_platform::PlatformKind::$kind, test);
            crate::harness::StoreBackend::$store.run(test).await;
        }
    };
    ($($(#[$meta:meta])* async fn $name:ident($($app:ident)?) $body:block)*) => {$(
        $(#[$meta])*
        mod $name {
            #[allow(unused_imports, clippy::allow_attributes, reason = "not every test needs all of its neighbours")]
            use super::*;

            async fn run($($app: crate::harness::TestApp)?) $body

            crate::harness::on_every_platform!(@test wecom Wecom Embedded $($app)?);
            crate::harness::on_every_platform!(@test dingtalk Dingtalk Embedded $($app)?);
            crate::harness::on_every_platform!(@test feishu Feishu Embedded $($app)?);
        }
    )*};
}
pub(crate) use on_every_platform;
