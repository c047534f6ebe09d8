//! OpenID Connect: the service as a provider for other programs.

mod bounded_rows;
mod changed_clients;
mod claims;
mod conformance;
mod conformance_config;
mod conformance_logout;
mod corporations;
mod endings;
mod endings_outages;
mod hostile;
mod hostile_requests;
mod kept_requests;
mod keys;
mod kinds;
mod public_clients;
mod races;
mod shared_browser;
mod sign_in_page;
mod sudden_ends;
mod visits;

use deskpass::config::Settings;
use deskpass_core::oidc::ClientRegistration;

use crate::cluster::soon;
use crate::harness::{Client, OidcClient, Response, TestApp, development, registration};

/// The settings of these tests: the clock stands still and all requests come from one address, so nothing is limited.
fn unlimited(more: &[(&'static str, &str)]) -> Settings {
    development(&[&[("limits.enabled", "false")][..], more].concat())
}

/// A service with a client.
async fn desk() -> (TestApp, OidcClient) {
    let app = TestApp::with(unlimited(&[])).await;
    let client = app.oidc_client(registration()).await;
    (app, client)
}

/// Two nodes of a cluster under one public address. Only for the scaled-out store.
async fn two_nodes() -> [TestApp; 2] {
    let one = TestApp::with(unlimited(&[("public_url", "http://desk.test")])).await;
    let other = one.second_node().await;
    [one, other]
}

/// Registers a client on the first node and waits until every node knows it.
async fn registered(nodes: &[TestApp; 2], registration: ClientRegistration) -> OidcClient {
    let client = nodes[0].oidc_client(registration).await;
    known_to(&nodes[1], &client).await;
    client
}

/// Waits until a node knows a client.
async fn known_to(node: &TestApp, client: &OidcClient) {
    let (mut http, path) = (node.client().await, client.authorization().with("prompt", "none").path());
    soon("a new client", async || http.get(&path, &[]).await.status == 303).await;
}

async fn clients([one, other]: &[TestApp; 2]) -> [Client; 2] {
    [one.client().await, other.client().await]
}

/// Runs tests on the scaled-out store.
macro_rules! on_two_nodes {
    ($($(#[$meta:meta])* async fn $name:ident() $body:block)*) => {$(
        $(#[$meta])*
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            crate::harness::StoreBackend::ScaledOut.run(Box::pin(async $body)).await;
        }
    )*};
}
pub(crate) use on_two_nodes;

/// The issuer of a service in development mode without a public address of its own.
fn issuer(app: &TestApp) -> String {
    format!("http://{}", app.address)
}

/// Asserts that a response keeps the browser here.
fn assert_stays(app: &TestApp, answer: &Response) {
    let leaves = answer.header("location").is_some_and(|to| !to.starts_with(&format!("{}/", issuer(app))));
    assert!(!leaves && answer.header("refresh").is_none(), "{answer:?}");
}

/// Asserts that a response is the page for requests that cannot be sent back to their client.
fn assert_error_page(answer: &Response) {
    assert_eq!(answer.status, 400, "{answer:?}");
    assert!(answer.header("location").is_none() && answer.header("refresh").is_none(), "{answer:?}");
    assert!(answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html")), "{answer:?}");
}
