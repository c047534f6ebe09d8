//! What is kept of requests that wait for their users: little, and a network's requests displace only its own.

use serde_json::json;

use super::{issuer, unlimited};
use crate::harness::{OidcBrowser, StoreBackend, TestApp, encoded, location, registration};

const SIGNED_OUT: &str = "https://rp.example/signed-out";
/// How many requests of one network are kept.
const SHARE: usize = 1_000;

/// Sends a request from another address, as the proxy in front of the service reports it; returns where the browser goes.
async fn from(address: &str, browser: &mut OidcBrowser, method: &str, path: &str, form: &str) -> String {
    let mut headers =
        vec![("x-forwarded-for", address), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
    headers.push(("sec-fetch-dest", "document"));
    if method == "POST" {
        headers.push(("content-type", "application/x-www-form-urlencoded"));
    }
    location(&browser.send(method, path, &headers, form.as_bytes()).await).to_owned()
}

fn behind_a_proxy() -> deskpass::config::Settings {
    unlimited(&[("trusted_proxies", "127.0.0.1")])
}

on_every_store! {
    /// Whoever has a whole IPv6 network sends each request from another /64 of it.
    async fn a_flood_of_requests_displaces_only_those_of_its_network() {
        let app = TestApp::with(behind_a_proxy()).await;
        let client = app.oidc_client(registration()).await;
        let mut office = app.oidc_browser().await;
        let waiting = from("192.0.2.9", &mut office, "GET", &client.authorization().path(), "").await;
        let sign_out = format!("client_id={}&post_logout_redirect_uri={}", client.id, encoded(SIGNED_OUT));
        let leaving = from("192.0.2.9", &mut office, "POST", "/oidc/logout", &sign_out).await;

        let mut flood = app.oidc_browser().await;
        let (mut requests, mut logouts) = (Vec::new(), Vec::new());
        for number in 0..=SHARE {
            let address = format!("2001:db8:77:{number:x}::1");
            let path = client.authorization().path();
            requests.push(from(&address, &mut flood, "GET", &path, "").await);
            logouts.push(from(&address, &mut flood, "POST", "/oidc/logout", &sign_out).await);
        }
        let id = |address: &str| address.split_once('=').unwrap().1.to_owned();
        for (place, kept) in [(0, false), (1, true), (SHARE, true)] {
            let prompt = flood.call("/api/auth/oidc/request", &json!({ "request": id(&requests[place]) })).await;
            assert_eq!(prompt.status == 200, kept, "{place}: {prompt:?}");
            let resumed = flood.navigate(logouts[place].strip_prefix(&issuer(&app)).unwrap()).await;
            let went_on = resumed.header("location") == Some(SIGNED_OUT);
            assert_eq!(went_on, kept, "{place}: {resumed:?}");
        }
        let prompt = office.call("/api/auth/oidc/request", &json!({ "request": id(&waiting) })).await;
        assert_eq!(prompt.status, 200, "{prompt:?}");
        let resumed = office.navigate(leaving.strip_prefix(&issuer(&app)).unwrap()).await;
        assert_eq!(location(&resumed), SIGNED_OUT);
    }
}

on_every_store! {
    /// An office whose sign-outs are finished as fast as they begin.
    async fn finished_requests_displace_none_that_waits() {
        let app = TestApp::with(behind_a_proxy()).await;
        let client = app.oidc_client(registration()).await;
        let mut office = app.oidc_browser().await;
        let sign_out = format!("client_id={}&post_logout_redirect_uri={}", client.id, encoded(SIGNED_OUT));
        let waiting = from("192.0.2.9", &mut office, "POST", "/oidc/logout", &sign_out).await;
        for _ in 0..=SHARE {
            let begun = from("192.0.2.9", &mut office, "POST", "/oidc/logout", &sign_out).await;
            let path = begun.strip_prefix(&issuer(&app)).unwrap().to_owned();
            assert_eq!(from("192.0.2.9", &mut office, "GET", &path, "").await, SIGNED_OUT);
        }
        let path = waiting.strip_prefix(&issuer(&app)).unwrap().to_owned();
        assert_eq!(from("192.0.2.9", &mut office, "GET", &path, "").await, SIGNED_OUT);
    }
}

on_one_store! {
    /// The state of a logout comes back byte for byte, up to the length of that of an authorization request. A longer one is left out.
    async fn the_state_of_a_logout_is_bounded() {
        let app = TestApp::with(unlimited(&[])).await;
        let client = app.oidc_client(registration()).await;
        let mut browser = app.oidc_browser().await;
        let long = "'".repeat(2_048);
        for (state, returned) in [("a b+c/ü='%\"", true), (&*long, true), (&*format!("{long}'"), false)] {
            let named = format!("client_id={}&post_logout_redirect_uri={}", client.id, encoded(SIGNED_OUT));
            let form = format!("{named}&state={}", encoded(state));
            let by_form = browser.submit("/oidc/logout", &form).await;
            let by_form = browser.navigate(location(&by_form).strip_prefix(&issuer(&app)).unwrap()).await;
            let by_link = browser.navigate(&format!("/oidc/logout?{form}")).await;
            for answer in [by_form, by_link] {
                let to = url::Url::parse(location(&answer)).unwrap();
                let back = to.query_pairs().find(|(name, _)| name == "state").map(|(_, value)| value.into_owned());
                assert_eq!(back.as_deref(), returned.then_some(state), "{to}");
                assert!(to.as_str().starts_with(SIGNED_OUT), "{to}");
            }
        }
    }
}

/// A record in Redis takes a third more than the state in it, whatever that consists of.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kept_logout_is_not_much_longer_than_its_state() {
    StoreBackend::ScaledOut
        .run(Box::pin(async {
            let app = TestApp::with(unlimited(&[])).await;
            let client = app.oidc_client(registration()).await;
            let mut browser = app.oidc_browser().await;
            for character in ["a", "'", "\u{1}", "\""] {
                let state = character.repeat(2_048);
                let named = format!("client_id={}&post_logout_redirect_uri={}", client.id, encoded(SIGNED_OUT));
                let kept = browser.submit("/oidc/logout", &format!("{named}&state={}", encoded(&state))).await;
                let records = app.cluster_store().store_records("oidc_logout");
                let longest = records.iter().map(|(_, record)| record.len()).max().unwrap();
                assert!(longest < 4_096, "{character:?}: {longest}");
                let back = browser.navigate(location(&kept).strip_prefix(&issuer(&app)).unwrap()).await;
                let to = url::Url::parse(location(&back)).unwrap();
                assert_eq!(to.query_pairs().last().unwrap().1, state);
            }
        }))
        .await;
}
