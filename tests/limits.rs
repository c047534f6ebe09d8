//! Rate limits.

use std::time::Duration;

use deskpass::http::{RateLimit, Route, routes};
use deskpass_core::{Entropy, Secret, Ticket};
use serde_json::json;

use crate::harness::{
    Client, PASSWORD, PRODUCTION, Response, Servers, StoreBackend, TestApp, request, settings, until,
};

/// A service in production mode with the real limits, or with the given ones.
async fn production(more: &[(&'static str, &str)]) -> TestApp {
    TestApp::with(settings(&limited(more))).await
}

fn limited<'a>(more: &[(&'static str, &'a str)]) -> Vec<(&'static str, &'a str)> {
    [&PRODUCTION[..], &[("server.settle", "0s"), ("limits.enabled", "true")], more].concat()
}

/// Requests a QR code as a proxy on this machine does for a client.
async fn qrcode(client: &mut Client, forwarded: &str) -> Response {
    client.get("/api/auth/qrcode", &[("x-forwarded-for", forwarded)]).await
}

async fn bind(client: &mut Client, forwarded: &str) -> Response {
    client.post("/api/auth/bind", &[("x-forwarded-for", forwarded)], &json!({ "employee_id": "nobody" })).await
}

async fn login(client: &mut Client, forwarded: &str) -> Response {
    let body = json!({ "employee_id": "nobody", "password": "wrong" });
    client.post("/api/agents/login", &[("x-forwarded-for", forwarded)], &body).await
}

async fn otp(client: &mut Client, forwarded: &str) -> Response {
    client.post("/api/auth/otp-verify", &[("x-forwarded-for", forwarded)], &json!({ "code": "123456" })).await
}

async fn verify(client: &mut Client, forwarded: &str, token: &str) -> Response {
    client.post("/api/auth/verify", &[("x-forwarded-for", forwarded)], &json!({ "token": token })).await
}

/// Asserts that the response is a rate limit with this Retry-After.
#[track_caller]
fn wait(answer: &Response, seconds: &str) {
    answer.refused(429, 1006);
    assert_eq!((answer.header("retry-after"), answer.json()["data"].is_null()), (Some(seconds), true), "{answer:?}");
}

/// The number of requests before the first one that is limited.
async fn let_through(mut ask: impl AsyncFnMut() -> Response) -> usize {
    for count in 0..1_000 {
        if ask().await.status == 429 {
            return count;
        }
    }
    panic!("no limit");
}

on_every_store! {
    async fn one_too_many_waits_to_the_millisecond() {
        let app = production(&[]).await;
        let mut client = app.client().await;
        for _ in 0..30 {
            qrcode(&mut client, "198.51.100.7").await.data();
        }
        let early = qrcode(&mut client, "198.51.100.7").await;
        wait(&early, "2");
        assert_eq!(early.json()["message"], "too many requests; try again in 2 seconds");
        app.clock.advance(Duration::from_millis(999));
        wait(&qrcode(&mut client, "198.51.100.7").await, "2");
        app.clock.advance(Duration::from_secs(1));
        let early = client.get("/api/auth/qrcode", &[("x-forwarded-for", "198.51.100.7"), ("accept-language", "zh")]).await;
        wait(&early, "1");
        assert_eq!(early.json()["message"], "请求过于频繁，请在 1 秒后重试");
        app.clock.advance(Duration::from_millis(1));
        qrcode(&mut client, "198.51.100.7").await.data();
        wait(&qrcode(&mut client, "198.51.100.7").await, "2");
        qrcode(&mut client, "198.51.100.8").await.data();
        app.clock.advance(Duration::from_mins(1));
        assert_eq!(let_through(async || qrcode(&mut client, "198.51.100.7").await).await, 30);
    }
}

on_one_store! {
    async fn the_promised_numbers_are_the_defaults() {
        let app = production(&[]).await;
        let mut client = app.client().await;
        let to = "/api/auth/oauth2/url?redirect_uri=https%3A%2F%2Fdesk.example.com%2Fh5%2F";
        assert_eq!(let_through(async || qrcode(&mut client, "192.0.2.1").await).await, 30);
        assert_eq!(let_through(async || client.get(to, &[("x-forwarded-for", "192.0.2.1")]).await).await, 60);
        assert_eq!(let_through(async || bind(&mut client, "192.0.2.1").await).await, 20);
        assert_eq!(let_through(async || otp(&mut client, "192.0.2.1").await).await, 10);
        assert_eq!(let_through(async || verify(&mut client, "192.0.2.1", "x").await).await, 300);
    }
}

on_every_store! {
    async fn every_row_of_the_table_has_the_limit_it_says() {
        let three = ["qrcode", "oauth_url", "sign_in", "scan_status", "bind", "agents_login", "otp", "replies", "oidc", "questions", "events", "verify"];
        let three = three.map(|name| (&*format!("limits.{name}").leak(), "3/min"));
        let app = production(&three).await;
        let mut client = app.client().await;
        for (row, route) in routes().iter().enumerate() {
            let from = format!("192.0.2.{row}");
            let ask = ask(route, &from);
            for _ in 0..3 {
                assert_ne!(client.send(&ask).await.status, 429, "{route:?}");
            }
            let fourth = client.send(&ask).await;
            assert_eq!(fourth.status == 429, route.limit != RateLimit::Unlimited, "{route:?}: {fourth:?}");
            if route.limit != RateLimit::Unlimited && route.path.starts_with("/api") {
                wait(&fourth, "20");
            } else if route.limit != RateLimit::Unlimited {
                assert_eq!(fourth.header("retry-after"), Some("20"));
                assert_eq!(fourth.json()["error"], "temporarily_unavailable");
            }
        }
        let metrics = client.get("/metrics", &[]).await.body;
        let table = routes();
        let rate_limited = || table.iter().filter(|route| route.limit != RateLimit::Unlimited);
        for route in rate_limited() {
            let rows = rate_limited().filter(|other| other.path == route.path).count();
            let line = format!("deskpass_rate_limited_requests_total{{route=\"{}\"}} {rows}", route.path);
            assert!(metrics.contains(&line), "{line}: {metrics}");
        }
    }

    async fn the_steps_of_a_sign_in_count_together() {
        let app = production(&[("limits.sign_in", "9/min")]).await;
        let mut client = app.client().await;
        let steps: Vec<_> = routes().into_iter().filter(|route| route.limit == RateLimit::SignIn).collect();
        assert_eq!(steps.len(), 9);
        for route in &steps {
            assert_ne!(client.send(&ask(route, "192.0.2.1")).await.status, 429, "{route:?}");
        }
        for route in &steps {
            wait(&client.send(&ask(route, "192.0.2.1")).await, "7");
        }
    }

    async fn a_good_token_is_never_limited() {
        let app = TestApp::with(settings(&[("development.enabled", "true"), ("limits.enabled", "true")])).await;
        let mut client = app.client().await;
        let good = client.sign_in("user01").await;
        for _ in 0..400 {
            assert_eq!(verify(&mut client, "192.0.2.1", &good).await.data()["valid"], true);
        }
        let gone = client.sign_in("user01").await;
        client.logout(&gone).await.data();
        for turn in 0..300 {
            let bad = if turn % 2 == 0 { &*gone } else { "made up" };
            assert_eq!(verify(&mut client, "192.0.2.1", bad).await.data()["valid"], false);
        }
        wait(&verify(&mut client, "192.0.2.1", "made up").await, "1");
        wait(&verify(&mut client, "192.0.2.1", &gone).await, "1");
        assert_eq!(verify(&mut client, "192.0.2.1", &good).await.data()["valid"], true);
        assert_eq!(verify(&mut client, "192.0.2.2", "made up").await.data()["valid"], false);
        app.clock.advance(Duration::from_millis(200));
        verify(&mut client, "192.0.2.1", "made up").await.data();
        wait(&verify(&mut client, "192.0.2.1", "made up").await, "1");
        // A malformed request is not counted as a refused token.
        client.post("/api/auth/verify", &[("x-forwarded-for", "192.0.2.1")], &json!({})).await.refused(400, 1002);
    }

    async fn a_ticket_is_looked_at_twice_a_second_from_wherever() {
        let app = production(&[]).await;
        let mut client = app.client().await;
        let [one, other] = [client.qrcode().await, client.qrcode().await];
        let [one, other] = [&one, &other].map(|code| code["ticket"].as_str().unwrap().to_owned());
        let look = |route: &str, ticket: &str, from: &str| {
            let path = format!("/api/auth/scan/{route}?ticket={ticket}");
            request("GET", &path, &[("x-forwarded-for", from)], b"")
        };
        for from in ["192.0.2.1", "192.0.2.2"] {
            assert_eq!(client.send(&look("status", &one, from)).await.data()["status"], "waiting");
        }
        wait(&client.send(&look("status", &one, "192.0.2.3")).await, "1");
        wait(&client.send(&look("events", &one, "192.0.2.1")).await, "1");
        assert_eq!(client.send(&look("status", &other, "192.0.2.1")).await.data()["status"], "waiting");
        app.clock.advance(Duration::from_millis(499));
        wait(&client.send(&look("status", &one, "192.0.2.1")).await, "1");
        app.clock.advance(Duration::from_millis(1));
        client.send(&look("status", &one, "192.0.2.1")).await.data();
        // An invalid ticket counts by address, and uses up no limit of valid tickets.
        client.send(&look("status", "made-up", "192.0.2.1")).await.data();
        client.send(&look("status", "a&ticket=b", "192.0.2.1")).await.refused(400, 1002);
        wait(&client.send(&look("status", &other.to_lowercase(), "192.0.2.1")).await, "1");
        client.send(&look("status", "made-up", "192.0.2.2")).await.data();
        client.send(&look("status", &other, "192.0.2.1")).await.data();
    }

    /// Any client can make up tickets: they count by address, and leave no record.
    async fn made_up_tickets_count_by_address() {
        let app = production(&[]).await;
        let mut client = app.client().await;
        let issued = client.qrcode().await["ticket"].as_str().unwrap().to_owned();
        let mut answered = 0;
        for turn in 0..60 {
            let ticket = Secret::<Ticket>::generate(&Entropy::system()).unwrap();
            let route = if turn % 2 == 0 { "status" } else { "events" };
            let path = format!("/api/auth/scan/{route}?ticket={}", ticket.expose());
            let answer = client.get(&path, &[("x-forwarded-for", "192.0.2.1"), ("connection", "close")]).await;
            answered += usize::from(answer.status == 200);
            client = app.client().await;
        }
        assert_eq!(answered, 2);
        let path = format!("/api/auth/scan/status?ticket={issued}");
        assert_eq!(client.get(&path, &[("x-forwarded-for", "192.0.2.1")]).await.data()["status"], "waiting");
        if StoreBackend::current() == StoreBackend::ScaledOut {
            // Three counters: codes, status requests from that address, status requests for the issued ticket.
            let place = app.cluster_store();
            let limits = place.records().into_iter().filter(|(name, _)| name.contains("limit")).count();
            assert_eq!(limits, 3, "{:?}", place.records().iter().map(|(name, _)| name).collect::<Vec<_>>());
        }
    }

    async fn agents_knock_ten_times_a_minute_from_one_address() {
        let (app, _platform) = TestApp::production_with_platform(&[]).await;
        let mut client = app.client().await;
        for turn in 0..10 {
            login(&mut client, &format!("6.6.6.{turn}, 192.0.2.1")).await.refused(403, 1003);
        }
        wait(&login(&mut client, "192.0.2.1").await, "6");
        wait(&login(&mut client, "6.6.6.6, 192.0.2.1").await, "6");
        // All password endpoints share the limit, which applies before the body is read, also with the right password.
        let from = [("x-forwarded-for", "192.0.2.1")];
        let setup = json!({ "employee_id": "agent01", "setup_code": "aaaa-bbbb-cccc-dddd", "new_password": PASSWORD });
        wait(&client.post("/api/agents/password/setup", &from, &setup).await, "6");
        wait(&client.post("/api/agents/password", &from, &json!({ "new_password": PASSWORD })).await, "6");
        wait(&client.post("/api/agents/login", &from, &json!({})).await, "6");
        login(&mut client, "192.0.2.2").await.refused(403, 1003);
        otp(&mut client, "192.0.2.1").await.refused(401, 1001);
        app.clock.advance(Duration::from_millis(5_999));
        wait(&login(&mut client, "192.0.2.1").await, "1");
        app.clock.advance(Duration::from_millis(1));
        login(&mut client, "192.0.2.1").await.refused(403, 1003);
        wait(&login(&mut client, "192.0.2.1").await, "6");
    }

    async fn one_time_passwords_are_counted_together_by_address() {
        let app = production(&[]).await;
        let mut client = app.client().await;
        let about: Vec<_> = routes().into_iter().filter(|route| route.limit == RateLimit::Otp).collect();
        assert_eq!(about.len(), 4);
        for route in about.iter().cycle().take(10) {
            client.send(&ask(route, "192.0.2.1")).await.refused(401, 1001);
        }
        for route in &about {
            wait(&client.send(&ask(route, "10.0.0.1, 192.0.2.1")).await, "6");
            client.send(&ask(route, "192.0.2.2")).await.refused(401, 1001);
        }
        app.clock.advance(Duration::from_secs(6));
        client.send(&ask(&about[2], "192.0.2.1")).await.refused(401, 1001);
        wait(&client.send(&ask(&about[3], "192.0.2.1")).await, "6");
    }

    async fn a_made_up_header_does_not_change_the_counted_address() {
        let app = production(&[]).await;
        let mut client = app.client().await;
        for turn in 0..30 {
            let spoofs = [format!("10.9.8.{turn}"), format!("6.6.6.{turn}"), "garbage".into(), "é".into(), "::1".into()];
            qrcode(&mut client, &format!("{}, 198.51.100.7", spoofs[turn % 5])).await.data();
        }
        for spoof in ["198.51.100.7", "6.6.6.6, 198.51.100.7", "198.51.100.7, 127.0.0.9", "::ffff:198.51.100.7", "198.51.100.7:81"] {
            wait(&qrcode(&mut client, spoof).await, "2");
        }
        let two = [("x-forwarded-for", "6.6.6.6"), ("x-forwarded-for", "198.51.100.7")];
        wait(&client.get("/api/auth/qrcode", &two).await, "2");
        qrcode(&mut client, "198.51.100.7, 6.6.6.6").await.data();
        // A private address is a proxy only where the settings say so.
        qrcode(&mut client, "198.51.100.7, 10.0.0.1").await.data();
    }

    async fn from_an_untrusted_peer_only_the_connection_counts() {
        let app = production(&[("trusted_proxies", "10.0.0.0/8")]).await;
        let mut client = app.client().await;
        for turn in 0..30 {
            qrcode(&mut client, &format!("6.6.6.{turn}")).await.refused(403, 1003);
            client.get("/api/auth/qrcode", &[("x-real-ip", &format!("6.6.6.{turn}"))]).await.data();
        }
        qrcode(&mut client, "7.7.7.7").await.refused(403, 1003);
        wait(&client.get("/api/auth/qrcode", &[]).await, "2");
    }

    async fn an_ipv6_network_is_one_client() {
        let app = production(&[]).await;
        let mut client = app.client().await;
        for turn in 0..30 {
            qrcode(&mut client, &format!("2001:db8:1:2:{turn:x}::{turn}")).await.data();
        }
        wait(&qrcode(&mut client, "[2001:db8:1:2:ffff::1]:443").await, "2");
        qrcode(&mut client, "2001:db8:1:3::1").await.data();
    }

    async fn other_methods_neither_pass_nor_use_anything_up() {
        let app = production(&[("limits.qrcode", "3/min"), ("limits.bind", "3/min")]).await;
        let mut client = app.client().await;
        let from = [("x-forwarded-for", "192.0.2.1")];
        for limited in [false, true] {
            for method in ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "BREW", "get"] {
                for path in ["/api/auth/qrcode", "/api/auth/bind", "/api/auth/verify"] {
                    client.send(&request(method, path, &from, b"")).await.refused(405, 1004);
                }
            }
            client.get("/api/auth/qrcode", &[from[0], ("sec-purpose", "prefetch")]).await.refused(400, 1002);
            let mut looking = app.client().await;
            looking.start(&request("HEAD", "/api/auth/qrcode", &from, b"")).await;
            assert!(looking.read_until("\r\n\r\n").await.starts_with("HTTP/1.1 405"));
            let left = if limited { 0 } else { 3 };
            assert_eq!(let_through(async || qrcode(&mut client, "192.0.2.1").await).await, left);
            assert_eq!(let_through(async || bind(&mut client, "192.0.2.1").await).await, left);
        }
    }
}

on_one_store! {
    async fn the_body_of_a_rate_limited_request_is_not_read() {
        let app = production(&[("limits.bind", "1/h")]).await;
        let mut client = app.client().await;
        bind(&mut client, "192.0.2.1").await.refused(403, 1003);
        // The connection stays usable, whether the body is sent or never comes.
        wait(&bind(&mut client, "192.0.2.1").await, "3600");
        client.start(b"POST /api/auth/bind HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: 192.0.2.1\r\ncontent-length: 60000\r\n\r\n").await;
        wait(&client.read().await.unwrap(), "3600");
    }
}

on_every_store! {
    async fn in_development_there_are_none_unless_they_are_wanted() {
        let app = TestApp::start().await;
        let mut client = app.client().await;
        for _ in 0..100 {
            client.get("/api/auth/qrcode", &[]).await.data();
            client.post("/api/agents/login", &[], &json!({})).await.refused(400, 1002);
            otp(&mut client, "192.0.2.1").await.refused(401, 1001);
        }
        let off = [("limits.qrcode", "off"), ("limits.bind", "1/s")];
        let app = production(&off).await;
        let mut client = app.client().await;
        for _ in 0..100 {
            client.get("/api/auth/qrcode", &[]).await.data();
        }
        assert_eq!(let_through(async || bind(&mut client, "192.0.2.1").await).await, 1);
    }
}

fn ask(route: &Route, from: &str) -> Vec<u8> {
    let headers = [("content-type", "application/json"), ("x-forwarded-for", from)];
    request(route.method.as_str(), route.path, &headers, br#"{"token":"x","confirm":"x","continue":"x"}"#)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_count_together() {
    let ask = async {
        let one = production(&[]).await;
        let other = one.second_node().await;
        let (mut here, mut there) = (one.client().await, other.client().await);
        for _ in 0..15 {
            qrcode(&mut here, "192.0.2.1").await.data();
            qrcode(&mut there, "192.0.2.1").await.data();
        }
        wait(&qrcode(&mut here, "192.0.2.1").await, "2");
        wait(&qrcode(&mut there, "192.0.2.1").await, "2");
        one.clock.advance(Duration::from_secs(2));
        qrcode(&mut there, "192.0.2.1").await.data();
        wait(&qrcode(&mut here, "192.0.2.1").await, "2");
        let ticket = here.qrcode().await["ticket"].as_str().unwrap().to_owned();
        let look = request("GET", &format!("/api/auth/scan/status?ticket={ticket}"), &[], b"");
        here.send(&look).await.data();
        there.send(&look).await.data();
        wait(&there.send(&look).await, "1");
    };
    StoreBackend::ScaledOut.run(Box::pin(ask)).await;
}

/// Waits until a node is connected to Redis again.
async fn has_redis(app: &TestApp) {
    let mut client = app.client().await;
    until("the node has Redis again", async || {
        // The result of a readiness check is cached for a second of the service's own time.
        app.clock.advance(Duration::from_secs(1));
        client.get("/api/ready", &[]).await.data()["dependencies"]["shared"] == "ok"
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_every_node_counts_for_itself() {
    let servers = Servers::private();
    let one = TestApp::at(&servers.cluster_store(), settings(&limited(&[]))).await;
    let other = one.second_node().await;
    let (mut here, mut there) = (one.client().await, other.client().await);
    assert_eq!(let_through(async || bind(&mut here, "192.0.2.1").await).await, 20);
    wait(&bind(&mut there, "192.0.2.1").await, "3");
    servers.kill_redis();
    wait(&bind(&mut here, "192.0.2.1").await, "3");
    wait(&bind(&mut there, "192.0.2.1").await, "3");
    assert_eq!(let_through(async || bind(&mut here, "192.0.2.2").await).await, 20);
    assert_eq!(let_through(async || bind(&mut there, "192.0.2.2").await).await, 20);
    servers.start_redis();
    tokio::join!(has_redis(&one), has_redis(&other));
    assert_eq!(let_through(async || bind(&mut here, "192.0.2.3").await).await, 20);
    wait(&bind(&mut there, "192.0.2.3").await, "3");
}
