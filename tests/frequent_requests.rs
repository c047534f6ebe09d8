//! The requests that programs send again and again: the form of their answers, and the order.

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{TestApp, request};

/// Programs compare texts: the members have an order, and there is no blank between them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_members_of_answers_have_an_order() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    let token = client.sign_in("user01").await;
    let id = ("x-request-id", "mine-1");
    let me = client.get("/api/auth/me", &[("authorization", &format!("Bearer {token}")), id]).await;
    let data = me.data();
    let text = |name: &str| data[name].to_string();
    let expected = format!(
        r#"{{"code":0,"message":"ok","data":{{"employee_id":"user01","name":{},"roles":["user"],"corp_id":{},"avatar":{},"department":{},"current_role":"user","login_source":{}}},"request_id":"mine-1"}}"#,
        text("name"),
        text("corp_id"),
        text("avatar"),
        text("department"),
        text("login_source"),
    );
    assert_eq!(me.body, expected);
    let verified = client.post("/api/auth/verify", &[id], &json!({ "token": token })).await;
    let expires_in = verified.data()["expires_in"].to_string();
    let expected = format!(
        r#"{{"code":0,"message":"ok","data":{{"valid":true,"employee_id":"user01","name":{},"roles":["user"],"current_role":"user","login_source":{},"expires_in":{expires_in}}},"request_id":"mine-1"}}"#,
        text("name"),
        text("login_source"),
    );
    assert_eq!(verified.body, expected);
    let refused = client.post("/api/auth/verify", &[id], &json!({ "token": "x" })).await;
    assert_eq!(refused.body, r#"{"code":0,"message":"ok","data":{"valid":false},"request_id":"mine-1"}"#);
    let code = client.get("/api/auth/qrcode", &[]).await.body;
    let members = ["ticket", "qrcode_url", "qrcode_png_base64", "expires_in", "expires_at"];
    let places: Vec<_> = members.iter().map(|name| code.find(&format!("\"{name}\":"))).collect();
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{code}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_address_of_a_client_behind_a_proxy_counts() {
    let app = TestApp::start().await;
    app.set_list("user", &["192.0.2.0/24"]).await;
    let mut client = app.client().await;
    let office = [("x-forwarded-for", "192.0.2.9")];
    let login = client.post("/api/dev/login", &office, &json!({ "employee_id": "user01" })).await.data();
    let bearer = format!("Bearer {}", login["token"].as_str().unwrap());
    for (chain, status) in [("192.0.2.9", 200), ("198.51.100.9", 403), ("198.51.100.9, 192.0.2.9", 200)] {
        for _ in 0..2 {
            let me = client.get("/api/auth/me", &[("authorization", &*bearer), ("x-forwarded-for", chain)]).await;
            assert_eq!(me.status, status, "{chain}: {me:?}");
        }
    }
    client.get("/api/auth/me", &[("authorization", &*bearer)]).await.refused(403, 1017);
}

/// The ids of the next responses on a connection.
async fn next_ids(stream: &mut TcpStream, count: usize) -> Vec<String> {
    let (mut text, mut piece) = (String::new(), vec![0; 16 * 1024]);
    while text.matches("\"request_id\":").count() < count || !text.ends_with('}') {
        let read = stream.read(&mut piece).await.unwrap();
        assert!(read > 0, "the connection ended: {text}");
        text.push_str(str::from_utf8(&piece[..read]).unwrap());
    }
    let ids = text.split("x-request-id: ").skip(1).map(|rest| rest.split_once("\r\n").unwrap().0.to_owned());
    ids.collect()
}

/// An answer never overtakes one that is still being made.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_come_in_the_order_of_their_requests() {
    let app = TestApp::start().await;
    let token = app.client().await.sign_in("user01").await;
    let bearer = format!("Bearer {token}");
    let me = request("GET", "/api/auth/me", &[("authorization", &bearer), ("x-request-id", "me")], b"");
    let login = json!({ "employee_id": "agent01", "password": "not the password" }).to_string();
    let slow = [("content-type", "application/json"), ("x-request-id", "slow")];
    let slow = request("POST", "/api/agents/login", &slow, login.as_bytes());
    let mut stream = TcpStream::connect(&app.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    for _ in 0..3 {
        // In pieces of their own, while the password is checked.
        for bytes in [&slow, &me, &me, &slow, &me] {
            stream.write_all(bytes).await.unwrap();
        }
        assert_eq!(next_ids(&mut stream, 5).await, ["slow", "me", "me", "slow", "me"]);
        // All at once.
        stream.write_all(&[&*me, &me, &slow, &me].concat()).await.unwrap();
        assert_eq!(next_ids(&mut stream, 4).await, ["me", "me", "slow", "me"]);
        // One in two pieces.
        let (first, second) = me.split_at(40);
        stream.write_all(first).await.unwrap();
        tokio::task::yield_now().await;
        stream.write_all(second).await.unwrap();
        assert_eq!(next_ids(&mut stream, 1).await, ["me"]);
    }
}

/// A request during a streamed response waits for its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_is_not_interrupted() {
    let app = TestApp::start().await;
    let (mut client, mut watching) = (app.client().await, app.client().await);
    let token = client.sign_in("user01").await;
    let me = request("GET", "/api/auth/me", &[("authorization", &format!("Bearer {token}"))], b"");
    client.send(&me).await.data();
    let code = client.qrcode().await;
    let ticket = code["ticket"].as_str().unwrap();
    watching.start(&request("GET", &format!("/api/auth/scan/events?ticket={ticket}"), &[], b"")).await;
    watching.read_until("waiting").await;
    watching.start(&me).await;
    let confirm = client.scan_as(&code, "user01").await;
    let scanned = watching.read_until("scanned").await;
    client.decide("cancel", &confirm).await.data();
    let ended = watching.read_until("\"employee_id\":\"user01\",\"name\"").await;
    let all = format!("{scanned}{ended}");
    let answer = all.rfind("HTTP/1.1 200 OK").unwrap();
    assert!(all.find("expired").unwrap() < answer, "{all}");
}

/// The rest of a body is never taken for a request, wherever the bytes are split: here the handler responds before the body has
/// been read, and the rest of it arrives together with the next request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rest_of_a_body_is_not_a_request() {
    let app = TestApp::start().await;
    let token = app.client().await.sign_in("admin01").await;
    app.client().await.me(&token).await.data();
    let smuggled = format!("GET /api/auth/me HTTP/1.1\r\nauthorization: Bearer {token}\r\nx: ");
    let next = "GET /api/version HTTP/1.1\r\nhost: localhost\r\n\r\n";
    // Around the sizes of the buffers of the HTTP library.
    for filled in [100, 4_096, 8_192, 8_193, 16_384] {
        for _ in 0..5 {
            let head = |length: usize| {
                format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length:05}\r\n\r\n")
            };
            let padding = filled - head(0).len();
            let first = head(padding + smuggled.len()) + &"x".repeat(padding);
            let mut stream = TcpStream::connect(&app.address).await.unwrap();
            let _ = stream.write_all(format!("{first}{smuggled}{next}").as_bytes()).await;
            stream.shutdown().await.unwrap();
            let mut all = Vec::new();
            let _ = stream.read_to_end(&mut all).await;
            let all = String::from_utf8_lossy(&all);
            assert!(!all.contains("admin01"), "{filled}: {all}");
        }
    }
}
