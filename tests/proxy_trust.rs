//! Which proxies may state a client's address: in production only those that the settings list.

use serde_json::{Value, json};

use crate::harness::{
    Client, Driver, Options, PRODUCTION, Platform, Process, Response, TestApp, Viewport, binary, fragment, location,
    settings, target, with_settings,
};

/// A service with the defaults of production and these settings.
async fn production(more: &[(&'static str, &str)]) -> TestApp {
    TestApp::with(settings(&[&PRODUCTION[..], &[("server.settle", "0s")], more].concat())).await
}

/// How many of 60 requests for a QR code succeed.
async fn codes(client: &mut Client, forwarded: impl Fn(usize) -> Vec<(&'static str, String)>) -> usize {
    let mut given = 0;
    for turn in 0..60 {
        let headers = forwarded(turn);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        given += usize::from(client.get("/api/auth/qrcode", &headers).await.status == 200);
    }
    given
}

#[track_caller]
fn untrusted(answer: &Response) {
    assert_eq!(answer.refused(403, 1003).reason(), "untrusted_proxy");
    assert!(answer.json()["message"].as_str().unwrap().contains("trusted_proxies"), "{answer:?}");
}

/// The proxy is on this machine; its clients are in the company's network and send arbitrary headers.
#[tokio::test]
async fn clients_in_a_private_network_choose_no_address_through_a_proxy() {
    let xff = |value: String| vec![("x-forwarded-for", value)];
    for client_is in ["10.1.1.1", "192.168.7.7", "172.20.0.9", "fd00::7", "100.64.3.3"] {
        let app = production(&[]).await;
        let mut client = app.client().await;
        // A proxy that appends, one that appends as a second header, and one that replaces.
        let appended = codes(&mut client, |turn| xff(format!("6.6.{turn}.6, {client_is}"))).await;
        assert_eq!(appended, 30, "{client_is}");
        app.clock.advance(std::time::Duration::from_mins(2));
        let two = |turn| [xff(format!("6.6.{turn}.6")), xff(client_is.to_owned())].concat();
        assert_eq!(codes(&mut client, two).await, 30, "{client_is}");
        app.clock.advance(std::time::Duration::from_mins(2));
        assert_eq!(codes(&mut client, |_| xff(client_is.to_owned())).await, 30, "{client_is}");
    }
}

/// The peer is private and not listed: a client that pretends to be a proxy, or a proxy that is missing in the settings.
#[tokio::test]
async fn a_private_peer_that_is_not_listed_is_refused_when_it_forwards() {
    let operators = ("server.operator_networks", "10.0.0.0/8,127.0.0.3/32");
    let app = production(&[("trusted_proxies", "127.0.0.9"), operators]).await;
    let mut client = Client::connect_from(&app.address, "127.0.0.2").await;
    for spoof in ["198.51.100.7", "10.0.0.1", "127.0.0.9", "", "garbage", "::1"] {
        let forwarded = [("x-forwarded-for", spoof)];
        for path in ["/api/auth/qrcode", "/api/auth/me", "/metrics", "/", "/no/such/path", "/api/dev/users"] {
            untrusted(&client.get(path, &forwarded).await);
        }
        untrusted(&client.post("/api/auth/verify", &forwarded, &json!({ "token": "x" })).await);
        // The health of the service does not depend on the client.
        assert_eq!(client.get("/healthz", &forwarded).await.status, 200);
        client.get("/api/ready", &forwarded).await.data();
    }
    let chinese = [("x-forwarded-for", "10.0.0.1"), ("accept-language", "zh")];
    untrusted(&client.get("/api/auth/qrcode", &chinese).await);
    // Other headers are ignored, and without `x-forwarded-for` only the connection counts.
    let others = ["forwarded", "x-real-ip", "x_forwarded_for", "x-client-ip", "true-client-ip", "cf-connecting-ip"];
    let unread = |turn: usize| vec![(others[turn % others.len()], format!("for=6.6.6.{turn}"))];
    assert_eq!(codes(&mut client, unread).await, 30);
    client.get("/metrics", &[("forwarded", "for=10.0.0.1"), ("x-real-ip", "10.0.0.1")]).await.refused(403, 1003);
    // The listed proxy is trusted, but the metrics are read without one.
    let mut proxy = Client::connect_from(&app.address, "127.0.0.9").await;
    assert_eq!(proxy.get("/", &[("x-forwarded-for", "10.0.0.1")]).await.status, 200);
    proxy.get("/metrics", &[("x-forwarded-for", "10.0.0.1")]).await.refused(403, 1003);
    let figures = Client::connect_from(&app.address, "127.0.0.3").await.get("/metrics", &[]).await.body;
    assert!(figures.contains("deskpass_untrusted_proxy_requests_total 43"), "{figures}");
}

/// A browser shows a code and a phone scans it; returns the phone's secret.
async fn scanned(app: &TestApp, platform: &Platform, browser: &[(&str, &str)], phone: &[(&str, &str)]) -> String {
    let mut client = app.client().await;
    let code = client.get("/api/auth/qrcode", browser).await.data();
    let back = platform.client().await.authorize(code["qrcode_url"].as_str().unwrap(), "user01").await;
    let landed = client.get(&target(&back), phone).await;
    fragment(location(&landed), "confirm")
}

/// What the phone is shown of the computer: its address, and whether it is in the phone's network.
async fn shown(app: &TestApp, platform: &Platform, browser: &[(&str, &str)], phone: &[(&str, &str)]) -> [Value; 2] {
    let (mut client, confirm) = (app.client().await, scanned(app, platform, browser, phone).await);
    let asked = client.post("/api/auth/scan/request", phone, &json!({ "confirm": confirm })).await.data();
    ["ip_address", "same_network"].map(|name| asked[name].clone())
}

/// Behind a proxy that does not forward client addresses, all clients seem to be at the proxy's address.
#[tokio::test]
async fn the_phone_shows_that_an_address_is_unknown() {
    let (app, platform) = TestApp::production_with_platform(&[]).await;
    let (here, there) = ([("x-forwarded-for", "198.51.100.7")], [("x-forwarded-for", "203.0.113.9")]);
    let unknown = [json!(null), json!(null)];
    assert_eq!(shown(&app, &platform, &[], &[]).await, unknown, "two that are not known need not be together");
    assert_eq!(shown(&app, &platform, &[], &here).await, unknown);
    assert_eq!(shown(&app, &platform, &[("x-forwarded-for", "garbage")], &here).await, unknown);
    assert_eq!(shown(&app, &platform, &here, &[]).await, [json!("198.51.100.7"), json!(null)]);
    assert_eq!(shown(&app, &platform, &here, &here).await, [json!("198.51.100.7"), json!(true)]);
    assert_eq!(shown(&app, &platform, &here, &there).await, [json!("198.51.100.7"), json!(false)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_confirm_page_says_that_an_address_is_not_known() {
    let (app, platform) = TestApp::production_with_platform(&[]).await;
    let confirm = scanned(&app, &platform, &[], &[]).await;
    let driver = Driver::shared();
    let phone = driver.browser(Options::on(Viewport::Phone)).await;
    phone.goto(&format!("http://{}/scan/#confirm={confirm}", app.address)).await;
    phone.wait_for("#unlocated").await;
    assert_eq!(phone.text("#address").await, "unknown");
    assert!(phone.text("#unlocated").await.contains("could not be determined"));
    assert_eq!(phone.script("return document.querySelector('#warning').hidden", &[]).await, json!(true));
}

/// A proxy that is missing in the settings is named in the log, and by the doctor while the service runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forgotten_proxy_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let command = |arguments: &[&str]| {
        let mut command = binary();
        command.args(arguments).arg("--data").arg(directory.path()).current_dir(directory.path());
        with_settings(&mut command, PRODUCTION.into_iter().chain([("server.settle", "0s")]));
        with_settings(&mut command, [("trusted_proxies", "127.0.0.9"), ("platform.api_url", "http://127.0.0.1:1")]);
        command
    };
    let process = Process::spawn(command(&["serve", "--listen", "127.0.0.1:0"]));
    let doctor = |language: &str| {
        let output = command(&["doctor", "--language", language]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(doctor("en").contains("✓ proxies: no requests from untrusted proxies"), "{}", doctor("en"));
    let mut client = Client::connect_from(&process.address, "127.0.0.2").await;
    for _ in 0..3 {
        untrusted(&client.get("/api/auth/qrcode", &[("x-forwarded-for", "198.51.100.7")]).await);
    }
    // Another proxy is behind the listed one. Its clients are served, and share one address.
    let mut listed = Client::connect_from(&process.address, "127.0.0.9").await;
    for from in ["198.51.100.7, 10.0.0.2", "198.51.100.8, 10.0.0.2", "198.51.100.7", "10.0.0.3"] {
        listed.get("/api/auth/qrcode", &[("x-forwarded-for", from)]).await.data();
    }
    let (english, chinese) = (doctor("en"), doctor("zh"));
    assert!(english.contains("  10.0.0.2: 2 request(s) passed on by a trusted proxy, the last at "), "{english}");
    assert!(!english.contains("10.0.0.3"), "{english}");
    assert!(english.contains("! proxies: an untrusted proxy forwards requests"), "{english}");
    assert!(english.contains("  127.0.0.2: 3 request(s) refused, the last at "), "{english}");
    assert!(chinese.contains("! 代理：") && chinese.contains("127.0.0.2：3"), "{chinese}");
    let (_, log) = process.terminate();
    let named = log.matches("trusted_proxies = [\\\"127.0.0.2\\\"]").count();
    assert_eq!(named, 1, "once a minute: {log}");
}
