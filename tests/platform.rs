//! Outages of the platform: new sign-ins fail within five seconds with a known error, and nothing else is affected.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::harness::{Client, TestApp, fragment, free_address, location, rounds, settings};

/// Starts a sign-in, identifies as user01 and returns; the result is the address of the landing page.
async fn land(client: &mut Client, page: &str) -> String {
    let (link, cookies) = client.begin_oauth(page).await;
    let back = client.authorize(&link, "user01").await;
    location(&client.oauth_callback(&back, &cookies).await).to_owned()
}

fn body(body: &str) -> Value {
    json!({ "api": "auth/getuserinfo", "body": body })
}

/// The faulty responses of a platform that is asked to identify a user.
fn bad_answers() -> Vec<(&'static str, Value)> {
    let deep = "[".repeat(20_000);
    vec![
        ("a page", body("<html><body>502 Bad Gateway</body></html>")),
        ("nothing", body("")),
        ("half an answer", body(r#"{"errcode":0,"userid":"user0"#)),
        ("a deep answer", body(&deep)),
        ("an array", body(r#"["user01"]"#)),
        ("a text", body(r#""user01""#)),
        ("null", body("null")),
        ("no name", body(r#"{"errcode":0,"errmsg":"ok"}"#)),
        ("an empty name", body(r#"{"errcode":0,"userid":""}"#)),
        ("a number for a name", body(r#"{"errcode":0,"userid":7}"#)),
        ("a list for a name", body(r#"{"errcode":0,"userid":["user01"]}"#)),
        ("a name with a path", body(r#"{"errcode":0,"userid":"a/b/c"}"#)),
        ("a name without a corporation", body(r#"{"errcode":0,"userid":"/admin01"}"#)),
        ("a name with a blank", body(r#"{"errcode":0,"userid":"user01 "}"#)),
        ("an error code that is none", body(r#"{"errcode":{"a":1},"userid":"user01"}"#)),
        ("an error code as text", body(r#"{"errcode":"50001","errmsg":"no","userid":"user01"}"#)),
        ("an error with a name", body(r#"{"errcode":50001,"errmsg":"redirect_uri unauthorized","userid":"admin01"}"#)),
        ("two names", body(r#"{"errcode":0,"userid":"user01","userid":"admin01"}"#)),
        ("500", json!({ "api": "auth/getuserinfo", "http_status": 500, "body": "oops" })),
        ("503", json!({ "api": "auth/getuserinfo", "http_status": 503, "body": r#"{"errcode":0,"userid":"user01"}"# })),
        (
            "a redirect",
            json!({ "api": "auth/getuserinfo", "http_status": 302, "body": "", "headers": { "location": "http://127.0.0.1:1/" } }),
        ),
        ("a dropped connection", json!({ "api": "auth/getuserinfo", "drop": true })),
        ("not allowed from this machine", json!({ "api": "auth/getuserinfo", "errcode": 60020 })),
    ]
}

on_one_store! {
    async fn bad_answers_make_no_token_and_a_fixed_word(app) {
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        let token = client.sign_in("agent01").await;
        for (what, fault) in bad_answers() {
            client.set_fault(&fault).await;
            let landed = land(&mut client, &page).await;
            assert!(landed.starts_with(&format!("{page}#error=platform_unavailable&code=1005&ref=")), "{what}: {landed}");
            assert!(client.is_valid(&token).await);
        }
        for (what, fault, word) in [
            ("not a member", body(r#"{"errcode":0,"openid":"o-1"}"#), "not_a_member"),
            ("not a member, in the old spelling", body(r#"{"OpenId":"o-1","DeviceId":""}"#), "not_a_member"),
            ("a code that is no good", json!({ "api": "auth/getuserinfo", "errcode": 40029 }), "invalid_code"),
            ("the same as text", body(r#"{"errcode":"40029"}"#), "invalid_code"),
        ] {
            client.set_fault(&fault).await;
            assert_eq!(fragment(&land(&mut client, &page).await, "error"), word, "{what}");
        }
        let log = "SELECT event, reason, count(*) FROM login_log WHERE login_method = 'oauth2' GROUP BY event, reason ORDER BY reason";
        assert_eq!(app.query(log), ["sign_in_refused|invalid_code|2", "sign_in_refused|not_a_member|2"]);
        // Old field names and numbers sent as text are accepted.
        for fine in [r#"{"UserId":"user01","DeviceId":""}"#, r#"{"errcode":"0","userid":"user01"}"#, r#"{"errcode":0,"userid":"user01","openid":"o-1"}"#] {
            client.set_fault(&body(fine)).await;
            assert!(land(&mut client, &page).await.contains("#ticket="), "{fine}");
        }
    }
}

on_every_store! {
    async fn a_voided_access_token_is_replaced_once_without_a_failed_request(app) {
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        assert!(land(&mut client, &page).await.contains("#ticket="));
        for errcode in [40014, 42001, 40001] {
            client.send(&crate::harness::request("DELETE", "/sim/calls", &[], b"")).await;
            client.set_fault(&json!({ "api": "auth/getuserinfo", "errcode": errcode })).await;
            assert!(land(&mut client, &page).await.contains("#ticket="), "{errcode}");
            assert_eq!((client.calls("gettoken").await, client.calls("auth/getuserinfo").await), (1, 2), "{errcode}");
        }
        client.send(&crate::harness::request("DELETE", "/sim/calls", &[], b"")).await;
        client.set_fault(&json!({ "api": "auth/getuserinfo", "errcode": 40014, "times": 0 })).await;
        assert_eq!(fragment(&land(&mut client, &page).await, "error"), "platform_unavailable");
        assert_eq!(client.calls("auth/getuserinfo").await, 2);
        // A new token did not help: the next one is not requested immediately.
        for _ in 0..5 {
            assert_eq!(fragment(&land(&mut client, &page).await, "error"), "platform_unavailable");
        }
        assert_eq!(client.calls("gettoken").await, 1);
        app.clock.advance(Duration::from_secs(10));
        client.send(&crate::harness::request("DELETE", "/sim/faults", &[], b"")).await;
        assert!(land(&mut client, &page).await.contains("#ticket="));
    }

    async fn a_wrong_secret_is_tried_once_a_minute(app) {
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        client.set_fault(&json!({ "api": "gettoken", "errcode": 40001, "times": 0 })).await;
        for _ in 0..20 {
            assert_eq!(fragment(&land(&mut client, &page).await, "error"), "platform_unavailable");
        }
        assert_eq!(client.calls("gettoken").await, 1);
        let ready = client.get("/api/ready", &[]).await.data();
        assert_eq!((&ready["ready"], &ready["dependencies"]["platform"]), (&json!(true), &json!("suspended")));
        client.send(&crate::harness::request("DELETE", "/sim/faults", &[], b"")).await;
        app.clock.advance(Duration::from_secs(61));
        assert!(land(&mut client, &page).await.contains("#ticket="));
        assert_eq!(client.get("/api/ready", &[]).await.data()["dependencies"]["platform"], "ok");
    }
}

on_one_store! {
    async fn a_platform_that_refuses_all_sign_ins_shows_as_such(app) {
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        let state = async |client: &mut Client| client.get("/api/ready", &[]).await.data()["dependencies"]["platform"].clone();
        assert_eq!(state(&mut client).await, "unknown");
        client.set_fault(&json!({ "api": "auth/getuserinfo", "errcode": 60020 })).await;
        assert_eq!(fragment(&land(&mut client, &page).await, "error"), "platform_unavailable");
        assert_eq!(state(&mut client).await, "refused");
        assert_eq!(client.metric("deskpass_platform_up").await, Some(0));
        // The error for an invalid code shows that the platform checks codes again.
        client.set_fault(&json!({ "api": "auth/getuserinfo", "errcode": 40029 })).await;
        assert_eq!(fragment(&land(&mut client, &page).await, "error"), "invalid_code");
        assert_eq!(state(&mut client).await, "ok");
    }

    async fn a_failed_profile_lookup_does_not_prevent_a_sign_in(app) {
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        for fault in [json!({ "api": "user/get", "drop": true }), json!({ "api": "user/get", "body": "<html>" }), json!({ "api": "user/get", "errcode": 48002 }), json!({ "api": "department/get", "http_status": 500, "body": "" })] {
            client.set_fault(&fault).await;
            assert!(land(&mut client, &page).await.contains("#ticket="), "{fault}");
        }
        let me = app.query("SELECT name, department FROM employee WHERE employee_key = 'user01'");
        assert_eq!(me, ["Uma User|Sales"]);
    }
}

on_every_store! {
    /// A thousand users return at once while no token for the platform is cached.
    async fn a_herd_on_a_cold_start_fetches_one_token() {
        let mut given = settings(&[("development.enabled", "true")]);
        given.server.max_connections = 4_000;
        given.server.max_connections_per_address = 4_000;
        let app = TestApp::with(given).await;
        let page = format!("http://{}/h5/", app.address);
        let mut client = app.client().await;
        let mut ready = Vec::new();
        // As many as a busy machine signs in before any of them times out.
        let herd_size = rounds(1_000);
        for _ in 0..herd_size {
            let (link, cookies) = client.begin_oauth(&page).await;
            ready.push((client.authorize(&link, "user01").await, cookies));
        }
        let mut herd = JoinSet::new();
        for (back, cookies) in ready {
            let mut client = app.client().await;
            herd.spawn(async move { location(&client.oauth_callback(&back, &cookies).await).to_owned() });
        }
        for landed in herd.join_all().await {
            assert!(landed.contains("#ticket="), "{landed}");
        }
        assert_eq!(client.calls("gettoken").await, 1);
        assert_eq!(client.calls("auth/getuserinfo").await, u64::try_from(herd_size).unwrap());
        assert_eq!(app.query("SELECT count(*) FROM session"), [herd_size.to_string()]);
    }
}

on_one_store! {
    /// The platform is slow: a returning user gets an answer within five seconds, and no other request waits.
    async fn a_slow_platform_is_not_waited_for_and_delays_no_other_request(app) {
        let page = format!("http://{}/h5/", app.address);
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        assert!(land(&mut client, &page).await.contains("#ticket="));
        client.set_fault(&json!({ "api": "auth/getuserinfo", "delay_ms": 60_000, "times": 0, "body": "{}" })).await;
        let mut slow = app.client().await;
        let started = Instant::now();
        let waiting = tokio::spawn(async move { land(&mut slow, &page).await });
        let mut answers = 0;
        while !waiting.is_finished() {
            assert!(client.is_valid(&token).await);
            answers += 1;
        }
        assert!(answers > 100, "verify was held up: {answers}");
        assert_eq!(fragment(&waiting.await.unwrap(), "error"), "platform_unavailable");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        assert_eq!(client.me(&token).await.status, 200);
    }
}

/// Response bodies of the platform that do not end.
#[derive(Clone, Copy, Debug)]
enum Endless {
    /// Fifty million bytes.
    Huge,
    /// A byte at long intervals.
    Drip,
    /// Nothing at all.
    Silence,
}

/// A platform that identifies every user but never ends its responses.
async fn endless(kind: Endless) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut head = vec![0; 4096];
                let read = stream.read(&mut head).await.unwrap_or(0);
                if String::from_utf8_lossy(&head[..read]).contains("gettoken") {
                    let token = r#"{"errcode":0,"access_token":"t","expires_in":7200}"#;
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{token}",
                        token.len()
                    );
                    return drop(stream.write_all(answer.as_bytes()).await);
                }
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n{\"errcode\":0,\"userid\":\"user01\",\"x\":\"").await;
                match kind {
                    Endless::Huge => {}
                    Endless::Drip => {
                        while stream.write_all(b"x").await.is_ok() {
                            tokio::time::sleep(Duration::from_millis(100)).await;
                        }
                    }
                    Endless::Silence => drop(stream.read(&mut head).await),
                }
                for _ in 0..50 {
                    if stream.write_all(&vec![b'x'; 1_000_000]).await.is_err() {
                        return;
                    }
                }
                let _ = stream.write_all(b"\"}").await;
            });
        }
    });
    address
}

on_one_store! {
    async fn answers_without_an_end_are_broken_off() {
        for kind in [Endless::Huge, Endless::Drip, Endless::Silence] {
            let api = format!("http://{}", endless(kind).await);
            let app = TestApp::with(settings(&[("development.enabled", "true"), ("platform.api_url", &api)])).await;
            let mut client = app.client().await;
            let started = Instant::now();
            let landed = land(&mut client, &format!("http://{}/h5/", app.address)).await;
            assert_eq!(fragment(&landed, "error"), "platform_unavailable", "{kind:?}");
            assert!(started.elapsed() < Duration::from_secs(5), "{kind:?}: {:?}", started.elapsed());
            assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
        }
    }
}

on_every_store! {
    /// Two loads of the same page while the platform does not respond: both fail together, after one call to the platform.
    async fn loads_that_wait_together_fail_together(app) {
        let mut clients = [app.client().await, app.client().await, app.client().await];
        let (link, flow) = clients[0].begin_oauth(&format!("http://{}/h5/", app.address)).await;
        let back = clients[0].authorize(&link, "user01").await;
        clients[0].set_fault(&json!({ "api": "auth/getuserinfo", "delay_ms": 60_000, "times": 1, "body": "{}" })).await;
        let [one, two, three] = &mut clients;
        let started = Instant::now();
        let all = tokio::join!(one.oauth_callback(&back, &flow), two.oauth_callback(&back, &flow), three.oauth_callback(&back, &flow));
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        for answer in [all.0, all.1, all.2] {
            assert_eq!(fragment(location(&answer), "error"), "platform_unavailable");
        }
        assert_eq!(one.calls("auth/getuserinfo").await, 1);
        // A later request may try again.
        assert!(location(&one.oauth_callback(&back, &flow).await).contains("#ticket="));
    }
}

on_one_store! {
    /// The platform is unreachable.
    async fn without_a_platform_the_desk_serves_who_is_signed_in() {
        let nowhere = format!("http://{}", free_address());
        let app = TestApp::with(settings(&[("development.enabled", "true"), ("platform.api_url", &nowhere)])).await;
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        let landed = land(&mut client, &format!("http://{}/h5/", app.address)).await;
        assert_eq!(fragment(&landed, "error"), "platform_unavailable");
        assert!(client.is_valid(&token).await);
        client.qrcode().await;
        client.logout(&token).await.data();
        assert_eq!(client.get("/api/ready", &[]).await.data()["ready"], true);
    }
}
