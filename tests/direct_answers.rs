//! Frequent requests are answered without the HTTP library: the answers and their order are the same as by the ordinary way.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{Client, Response, TestApp, registration, request};

/// A token of a session, and an access token of an OpenID Connect client.
struct Tokens {
    session: String,
    access: String,
}

async fn tokens(app: &TestApp) -> Tokens {
    let client = app.oidc_client(registration()).await;
    let (_, tokens) = app.oidc_sign_in(&client, "user01").await;
    Tokens { session: app.client().await.sign_in("user01").await, access: tokens.access }
}

/// The number of requests that were answered directly.
async fn direct_answers(app: &TestApp) -> u64 {
    let text = app.client().await.get("/metrics", &[]).await.body;
    let line = text.lines().find(|line| line.starts_with("deskpass_direct_responses_total ")).unwrap();
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}

/// A request by the direct and by the ordinary way: a target with a host is never answered directly.
fn both_ways(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> [Vec<u8>; 2] {
    [request(method, path, headers, body), request(method, &format!("http://localhost{path}"), headers, body)]
}

/// The parts of a response that must be the same for the same request: all but time, id and what depends on the id.
fn comparable(response: &Response) -> (u16, Vec<(String, String)>, String) {
    let mut headers = response.headers.clone();
    headers.retain(|(name, _)| !["date", "x-request-id", "content-length", "retry-after"].contains(&&**name));
    headers.sort();
    let id = response.header("x-request-id").unwrap();
    let reference = id.split('-').next().unwrap();
    (response.status, headers, response.body.replace(id, "<id>").replace(reference, "<reference>"))
}

async fn send(client: &mut Client, bytes: &[u8]) -> Response {
    assert!(client.push(bytes).await);
    client.read().await.expect("an answer")
}

/// Headers that vary from client to client.
fn header_sets() -> Vec<Vec<(&'static str, &'static str)>> {
    vec![
        vec![],
        vec![("x-request-id", "mine-1")],
        vec![("x-request-id", "not plain!")],
        vec![("x-request-id", "0123abcd-5")],
        vec![("x-request-id", "one"), ("x-request-id", "two")],
        vec![("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")],
        vec![("traceparent", "nonsense")],
        vec![("accept-language", "zh-CN"), ("user-agent", "Mozilla/5.0"), ("accept", "*/*"), ("cookie", "a=b")],
        vec![("connection", "keep-alive")],
        vec![("connection", "Keep-Alive, TE"), ("te", "trailers")],
        vec![("origin", "https://desk.example.com")],
        vec![("x-forwarded-for", "192.0.2.7")],
        vec![("x-forwarded-for", "192.0.2.7"), ("x-forwarded-for", "10.9.8.7")],
        vec![("sec-fetch-mode", "cors"), ("sec-fetch-site", "cross-site"), ("sec-purpose", "prefetch")],
        vec![("upgrade", "h2c"), ("connection", "upgrade")],
        vec![("content-encoding", "gzip")],
        vec![("x-one", "")],
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_ways_answer_the_same() {
    let app = TestApp::start().await;
    let Tokens { session, access } = tokens(&app).await;
    let mut client = app.client().await;
    let ended = client.sign_in("user01").await;
    client.logout(&ended).await;
    let authorizations = [
        format!("Bearer {session}"),
        format!("bearer {session}"),
        format!("Bearer  {session}"),
        format!("Bearer {access}"),
        format!("Bearer {ended}"),
        format!("Bearer {session}x"),
        "Bearer".to_owned(),
        "Basic eDp5".to_owned(),
        String::new(),
    ];
    for set in header_sets() {
        for authorization in &authorizations {
            let mut headers = set.clone();
            headers.push(("authorization", authorization));
            for path in ["/api/auth/me", "/oidc/userinfo", "/api/auth/me?x=y", "/api/auth/me/", "/api/auth/verify"] {
                compare(&app, "GET", path, &headers, b"").await;
            }
        }
        compare(&app, "GET", "/api/auth/me", &set, b"").await;
        compare(&app, "HEAD", "/api/auth/me", &[("authorization", &*format!("Bearer {session}"))], b"").await;
        for token in [&session, &access, &ended, "x"] {
            for kind in ["application/json", "Application/JSON", "application/json; charset=utf-8", "text/plain"] {
                let mut headers = set.clone();
                headers.push(("content-type", kind));
                compare_bodies(&app, token, &headers).await;
            }
        }
    }
}

async fn compare_bodies(app: &TestApp, token: &str, headers: &[(&str, &str)]) {
    let bodies: [Value; 6] = [
        json!({ "token": token }),
        json!({ "token": token, "ip_address": "192.0.2.1" }),
        json!({ "token": token, "ip_address": "nowhere" }),
        json!({ "token": token, "more": 1 }),
        json!({ "token": 5 }),
        json!([token]),
    ];
    for body in bodies {
        compare(app, "POST", "/api/auth/verify", headers, body.to_string().as_bytes()).await;
    }
    compare(app, "POST", "/api/auth/verify", headers, b"{\"token\":").await;
    compare(app, "POST", "/api/auth/verify", headers, b"").await;
}

/// Sends a request both ways, each on a connection of its own: some requests end theirs.
async fn compare(app: &TestApp, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) {
    let [direct, ordinary] = both_ways(method, path, headers, body);
    let (mut one, mut other) = (app.client().await, app.client().await);
    if method == "HEAD" {
        // A response without a body although it has a length.
        assert!(one.push(&direct).await && other.push(&ordinary).await);
        let heads = [one.read_until("\r\n\r\n").await, other.read_until("\r\n\r\n").await];
        assert!(
            heads.iter().all(|head| head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n")),
            "{heads:?}"
        );
        return;
    }
    let (direct, ordinary) = (send(&mut one, &direct).await, send(&mut other, &ordinary).await);
    assert_eq!(direct.header("date").map(str::len), Some("Tue, 17 Nov 2026 14:27:09 GMT".len()));
    assert_eq!(comparable(&direct), comparable(&ordinary), "{method} {path} {headers:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_requests_are_answered_directly_and_others_are_not() {
    let app = TestApp::start().await;
    let Tokens { session, access } = tokens(&app).await;
    let (mut client, bearer) = (app.client().await, format!("Bearer {session}"));
    // The first request of each kind may have to read the session.
    for _ in 0..2 {
        client.me(&session).await.data();
        assert!(client.is_valid(&session).await);
        let claims = client.get("/oidc/userinfo", &[("authorization", &format!("Bearer {access}"))]).await;
        assert_eq!(claims.status, 200);
    }
    let before = direct_answers(&app).await;
    client.me(&session).await.data();
    assert!(client.is_valid(&session).await);
    let claims = client.get("/oidc/userinfo", &[("authorization", &format!("Bearer {access}"))]).await;
    assert_eq!(claims.header("pragma"), Some("no-cache"));
    assert_eq!(direct_answers(&app).await, before + 3);
    // Refusals, pages of other origins, and what may need a decision about the client's address.
    assert!(!client.is_valid("x").await);
    client.get("/oidc/userinfo", &[("authorization", &bearer)]).await;
    let origin = [("authorization", &*format!("Bearer {access}")), ("origin", "https://desk.example.com")];
    assert_eq!(client.get("/oidc/userinfo", &origin).await.status, 200);
    assert_eq!(direct_answers(&app).await, before + 3);
    // After many refusals on a connection only one request in eight is tried, until one is answered.
    for _ in 0..18 {
        assert!(!client.is_valid("x").await);
    }
    for _ in 0..10 {
        client.me(&session).await.data();
    }
    let answered = direct_answers(&app).await - before - 3;
    assert!((3..10).contains(&answered), "{answered}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_address_of_a_client_behind_a_proxy_counts() {
    let app = TestApp::start().await;
    app.set_list("user", &["192.0.2.0/24"]).await;
    let mut client = app.client().await;
    let office = [("x-forwarded-for", "192.0.2.9")];
    let login = client.post("/api/dev/login", &office, &json!({ "employee_id": "user01" })).await.data();
    let bearer = format!("Bearer {}", login["token"].as_str().unwrap());
    let before = direct_answers(&app).await;
    for (chain, status) in [("192.0.2.9", 200), ("198.51.100.9", 403), ("198.51.100.9, 192.0.2.9", 200)] {
        for _ in 0..2 {
            let me = client.get("/api/auth/me", &[("authorization", &*bearer), ("x-forwarded-for", chain)]).await;
            assert_eq!(me.status, status, "{chain}: {me:?}");
        }
    }
    client.get("/api/auth/me", &[("authorization", &*bearer)]).await.refused(403, 1017);
    assert!(direct_answers(&app).await > before);
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

/// A direct answer never overtakes a response that is still being made.
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
        // One that is answered directly, in two pieces.
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

/// The rest of a body is never taken for a request, wherever the bytes are split: here the ordinary handler responds before the body has
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
