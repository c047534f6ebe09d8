//! What was in progress in Redis when the nodes of the previous release stopped: the upgraded nodes go on with it.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Holdings, SECOND, load};
use crate::harness::{Client, ClusterStore, OidcBrowser, Platform, Servers, TestApp, Tokens, fragment, location};

const REDIS: &str = include_str!("../fixtures/0.2.0/redis.json");
const SETTINGS: [(&str, &str); 1] = [("limits.enabled", "false")];

/// A node of this version on the data, and on the records in Redis.
async fn upgraded(records: &Value, platform: &Platform) -> (TestApp, Holdings) {
    let prefix = records["prefix"].as_str().unwrap().to_owned();
    let place = ClusterStore { prefix, ..Servers::shared().cluster_store() };
    let directory = tempfile::tempdir().unwrap();
    load(SECOND, directory.path(), Some(&place)).await;
    let kept = records["records"].as_array().unwrap().iter().map(|record| {
        let value = STANDARD.decode(record[1].as_str().unwrap()).unwrap();
        (record[0].as_str().unwrap().to_owned(), value)
    });
    // The probe and the numbers of messages are not records of a sign-in.
    let kept: Vec<_> = kept.filter(|(key, _)| !key.ends_with(":probe") && !key.contains("{mail}")).collect();
    place.restore_records(&kept);
    let holdings = Holdings::of(SECOND);
    let clock = holdings.clock(Duration::from_secs(5));
    (TestApp::at_time(&place, platform.settings(&SETTINGS), clock).await, holdings)
}

/// The phone confirms, and the browser that waits gets a token.
async fn confirmed(client: &mut Client, ticket: &Value, confirm: &str) {
    client.decide("confirm", confirm).await.data();
    let status = client.scan_status(ticket.as_str().unwrap()).await;
    assert_eq!(client.verify(status["token"].as_str().unwrap()).await["employee_id"], "user01", "{status}");
}

async fn oauth(client: &mut Client, platform: &Platform, begun: &Value) {
    let cookies = begun["cookies"].as_str().unwrap();
    let back = platform.client().await.authorize(begun["authorize_url"].as_str().unwrap(), "agent01").await;
    let landed = client.oauth_callback(&back, cookies).await;
    let path = format!("/api/auth/scan/status?ticket={}", fragment(location(&landed), "ticket"));
    let traded = client.get(&path, &[("cookie", cookies), ("sec-fetch-site", "same-origin")]).await.data();
    assert_eq!(client.verify(traded["token"].as_str().unwrap()).await["employee_id"], "agent01", "{traded}");
}

async fn program(app: &TestApp, holdings: &Holdings, requests: &Value) {
    let program = holdings.program();
    let mut client = app.client().await;
    let text = |pointer: &str| requests.pointer(pointer).unwrap().as_str().unwrap();
    let redeemed = program.redeem(&mut client, text("/code/value"), text("/code/verifier")).await;
    assert_eq!(client.userinfo(&Tokens::of(&redeemed).access).await.status, 200);
    let cookies: BTreeMap<String, String> = serde_json::from_value(requests["request"]["cookies"].clone()).unwrap();
    let mut browser = OidcBrowser::at(&app.address).await;
    browser.cookies = cookies;
    browser.token = Some(holdings.text("/sessions/agent01").to_owned());
    let code = browser.proceed_to_client(text("/request/id")).await.code();
    let redeemed = program.redeem(&mut client, &code, text("/request/verifier")).await;
    assert_eq!(client.userinfo(&Tokens::of(&redeemed).access).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_in_progress_goes_on() {
    let records: Value = serde_json::from_str(REDIS).unwrap();
    let begun = &records["in_progress"];
    let platform = Platform::start("desk.example.com").await;
    let (app, holdings) = upgraded(&records, &platform).await;
    let mut client = app.client().await;
    confirmed(&mut client, &begun["scanned"]["ticket"], begun["scanned"]["confirm"].as_str().unwrap()).await;
    let waiting = json!({ "qrcode_url": begun["waiting"]["qrcode_url"] });
    let confirm = fragment(&platform.scan(&mut client, &waiting, "user01").await, "confirm");
    confirmed(&mut client, &begun["waiting"]["ticket"], &confirm).await;
    oauth(&mut client, &platform, &begun["oauth"]).await;
    program(&app, &holdings, &records["requests"]).await;
}
