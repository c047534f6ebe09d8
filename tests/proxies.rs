//! The guarantees of the examples in `deploy/`, checked with the real proxies.

use deskpass_core::Role;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::harness::{Client, Process, Proxy, Response, TestApp, query, request};

type Start = fn([&str; 2]) -> Proxy;

const PROXIES: [Start; 2] = [Proxy::haproxy, Proxy::nginx];

#[tokio::test]
async fn report_the_client_address_and_trust_no_other_source() {
    let data = tempfile::tempdir().unwrap();
    let node = Process::serve(data.path(), &[]);
    for start in PROXIES {
        let proxy = start([&node.address, &node.address]);
        let mut client = Client::connect(&proxy.address).await;
        let spoof = [("x-forwarded-for", "203.0.113.5")];
        client.post("/api/auth/bind", &spoof, &json!({ "employee_id": "user01" })).await.data();
        let logged = query(&data.path().join("deskpass.db"), "SELECT DISTINCT ip_address FROM login_log");
        assert_eq!(logged, ["127.0.0.1"]);
        assert_eq!(client.get("/metrics", &[]).await.status, 403);
    }
}

#[tokio::test]
async fn pass_events_on_as_they_come_and_keep_tickets_out_of_their_logs() {
    let data = tempfile::tempdir().unwrap();
    let node = Process::serve(data.path(), &[]);
    for start in PROXIES {
        let proxy = start([&node.address, &node.address]);
        let mut client = Client::connect(&proxy.address).await;
        let code = client.qrcode().await;
        let ticket = code["ticket"].as_str().unwrap();
        client.scan_status(ticket).await;
        let mut watching = Client::connect(&proxy.address).await;
        let path = format!("/api/auth/scan/events?ticket={ticket}");
        watching.start(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).await;
        watching.read_until("\"waiting\"").await;
        let confirm = client.scan_as(&code, "user01").await;
        watching.read_until("\"scanned\"").await;
        client.decide("cancel", &confirm).await.data();
        watching.read_until("\"expired\"").await;
        let log = proxy.log_with("/api/auth/scan/events");
        assert!(log.contains("/api/auth/scan/status"), "{log}");
        assert!(!log.contains(ticket) && !log.contains("ticket="), "{log}");
    }
}

#[tokio::test]
async fn go_on_without_a_node_that_was_killed_and_say_so_when_none_is_left() {
    let data = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for start in PROXIES {
        let [one, other] = data.each_ref().map(|data| Process::serve(data.path(), &[]));
        let proxy = start([&one.address, &other.address]);
        ask_often(&proxy, 20).await;
        one.kill();
        ask_often(&proxy, 100).await;
        other.kill();
        let answer = Client::connect(&proxy.address).await.get("/api/version", &[]).await;
        answer.refused(503, 1005);
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
}

async fn ask_often(proxy: &Proxy, times: usize) {
    for _ in 0..times {
        let mut client = Client::connect(&proxy.address).await;
        let answer = client.post("/api/auth/verify", &[], &json!({ "token": "nonsense" })).await;
        assert_eq!(answer.data()["valid"], false);
    }
}

/// An application that responds with the head of each request it receives.
async fn application() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", head.len());
            stream.write_all(&[answer.as_bytes(), &head].concat()).await.unwrap();
            // Closing a connection with unread input may discard the response that was just sent.
            stream.shutdown().await.unwrap();
            drop(stream.read_to_end(&mut Vec::new()).await);
        }
    });
    address
}

/// The values of a header that an application received, from the head in its response.
fn header_values<'a>(answer: &'a Response, name: &str) -> Vec<&'a str> {
    let lines = answer.body.lines().filter_map(|line| line.split_once(": "));
    lines.filter(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_asks_who_may_pass_and_tells_the_application_who_it_is() {
    let mut app = TestApp::start().await;
    app.add_named("Zhang.San", "张三", Role::Agent).await;
    let proxy = Proxy::nginx_auth_request([&app.address, &app.address], &application().await);
    let (mut client, mut at_desk) = (Client::connect(&proxy.address).await, app.client().await);

    let answer = client.get("/tickets", &[]).await;
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")));

    let token = at_desk.sign_in("zhang.san").await;
    let bearer = format!("Bearer {token}");
    let forged = [
        ("authorization", bearer.as_str()),
        ("x-auth-role", "admin"),
        ("X-AUTH-ROLES", "admin"),
        ("x-auth-employee-id", "admin01"),
        ("x-auth-name", "Ada"),
        ("x_auth_role", "admin"),
    ];
    for ask in [request("GET", "/tickets?q=1", &forged, b""), request("POST", "/tickets", &forged, b"{}")] {
        let answer = client.send(&ask).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        for (name, value) in [
            ("x-auth-employee-id", "Zhang.San"),
            ("x-auth-corp-id", "wwdeskpass"),
            ("x-auth-name", "%E5%BC%A0%E4%B8%89"),
            ("x-auth-role", "agent"),
            ("x-auth-roles", "agent"),
        ] {
            assert_eq!(header_values(&answer, name), [value], "{answer:?}");
        }
        assert!(!answer.body.contains("x_auth_role") && !answer.body.contains(&token), "{answer:?}");
    }

    let other = format!("Bearer {}", at_desk.sign_in("user01").await);
    assert_eq!(client.get("/tickets", &[("authorization", &other)]).await.status, 403);
    at_desk.logout(&token).await.data();
    assert_eq!(client.get("/tickets", &[("authorization", &bearer)]).await.status, 401);

    app.stop().await;
    let answer = Client::connect(&proxy.address).await.get("/tickets", &[("authorization", &other)]).await;
    answer.refused(503, 1005);
}
