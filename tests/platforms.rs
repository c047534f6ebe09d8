//! Sign-in on every platform, by one set of tests. On WeCom the rest of the suite tests far more; what is here holds on each.

mod bad_answers;
mod begun_here;
mod code_claims;
mod commands;
mod entry_script;
mod event_sdks;
mod notices;
mod oauth2;
mod outages;
mod pages;
mod people;
mod qrcode;
mod sdks;

use serde_json::Value;

use crate::harness::{Client, Response, encoded, fragment, location};

/// Begins in a browser, is identified as `who`, and returns; yields the callback's response and the browser's cookies.
async fn come_back_as(client: &mut Client, page: &str, who: &str) -> (Response, String) {
    let (link, cookies) = client.begin_oauth(page).await;
    let back = client.authorize(&link, who).await;
    (client.oauth_callback(&back, &cookies).await, cookies)
}

/// Signs in as `who`; returns the address of the landing page.
async fn land(client: &mut Client, page: &str, who: &str) -> String {
    location(&come_back_as(client, page, who).await.0).to_owned()
}

/// Asks for the platform's link as a browser does that followed a link, and so gets no cookie.
async fn link_without_cookie(client: &mut Client, page: &str) -> String {
    let path = format!("/api/auth/oauth2/url?redirect_uri={}", encoded(page));
    let answer = client.get(&path, &[("sec-fetch-mode", "navigate")]).await;
    assert_eq!(answer.header("set-cookie"), None, "{answer:?}");
    answer.data()["authorize_url"].as_str().unwrap().to_owned()
}

/// Trades a ticket for the token.
async fn trade(client: &mut Client, landed: &str, cookies: &str) -> Value {
    let path = format!("/api/auth/scan/status?ticket={}", fragment(landed, "ticket"));
    client.get(&path, &[("cookie", cookies), ("sec-fetch-site", "same-origin")]).await.data()
}

/// Clears a control of the simulated platform.
async fn clear(client: &mut Client, control: &str) {
    let answer = client.send(&crate::harness::request("DELETE", &format!("/sim/{control}"), &[], b"")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
}
