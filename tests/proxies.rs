//! What the examples in `deploy/` promise, asked of the real proxies.

use serde_json::json;

use crate::harness::{Client, Process, Proxy, query};

type Start = fn([&str; 2]) -> Proxy;

const PROXIES: [Start; 2] = [Proxy::haproxy, Proxy::nginx];

#[tokio::test]
async fn say_where_people_come_from_and_believe_nobody_else_about_it() {
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
        watching.start(format!("GET {path} HTTP/1.1\r\nhost: desk\r\n\r\n").as_bytes()).await;
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
