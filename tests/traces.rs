//! A caller's trace (W3C `traceparent`): the log lines of its request have the id, whatever the outcome, and it is passed on to the
//! help desk's back end.

use serde_json::{Value, json};

use crate::harness::{Client, Process, ReplyBackend, binary, request, target, with_settings};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// The header of a caller with this trace.
fn parent(trace: &str) -> String {
    format!("00-{trace}-00f067aa0ba902b7-01")
}

/// Requests of every kind that has lines: a refused sign-in through the platform, one by password, a refused change, a failure.
async fn troubles(client: &mut Client, header: &str) {
    let trace = [("traceparent", header)];
    let qrcode = client.qrcode().await;
    let back = client.authorize(qrcode["qrcode_url"].as_str().unwrap(), "left01").await;
    client.get(&target(&back), &trace).await;
    client.post("/api/agents/login", &trace, &json!({ "employee_id": "agent01", "password": "wrong" })).await;
    let token = client.sign_in("user01").await;
    let bearer = format!("Bearer {token}");
    let headers = [trace[0], ("authorization", &*bearer)];
    client.post("/api/auth/switch-role", &headers, &json!({ "role": "admin" })).await.refused(403, 1003);
    client.set_fault(&json!({ "api": "auth/getuserinfo", "http_status": 500, "times": 9 })).await;
    let body = json!({ "employee_id": "agent01", "code": "a-code" });
    assert!(client.post("/api/agents/login", &trace, &body).await.status >= 500);
    assert_eq!(client.send(&request("DELETE", "/sim/faults", &[], b"")).await.status, 200);
}

/// The log of a service that gets requests with this header.
async fn log(format: &str, header: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(directory.path().join("data"));
    with_settings(&mut command, [("log.format", format)]);
    let process = Process::spawn(command);
    troubles(&mut Client::connect(&process.address).await, header).await;
    process.terminate().1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_line_of_a_request_has_the_trace_of_its_caller() {
    let log = log("json", &parent(TRACE)).await;
    let lines: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let found = |message: &str, about: &str| {
        let mut matching = lines.iter().filter(|line| line["message"] == message && line.to_string().contains(about));
        let line = matching.next().unwrap_or_else(|| panic!("no line {message} about {about}: {log}"));
        assert_eq!(line["span"]["trace_id"], TRACE, "{line}");
    };
    found("refused", "left_platform");
    found("refused", "no_password");
    found("refused", "role_not_held");
    found("request failed", "platform answer unreadable");
    // The line of the platform's client, within the sign-in.
    found("cannot read the platform's response", "auth/getuserinfo");
    let others = lines.iter().filter(|line| line["message"] == "started");
    assert!(others.inspect(|line| assert!(line["span"].is_null(), "{line}")).count() == 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_log_has_it_too_and_an_invalid_header_is_ignored() {
    let [text, invalid] = [parent(TRACE), parent(&TRACE.to_uppercase())];
    let (text, invalid) = tokio::join!(log("text", &text), log("text", &invalid));
    let refused = text.lines().filter(|line| line.contains("reason=\"role_not_held\""));
    assert!(refused.inspect(|line| assert!(line.contains(&format!("trace_id={TRACE}")), "{line}")).count() == 1);
    assert!(!invalid.to_lowercase().contains(TRACE) && !invalid.contains("trace_id"), "{invalid}");
}

on_one_store! {
    async fn a_reply_carries_the_trace_to_the_back_end() {
        let backend = ReplyBackend::start().await;
        let app = backend.service().await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let (bearer, header) = (format!("Bearer {token}"), parent(TRACE));
        let reply = json!({ "message_id": "1800000000000-0", "text": "hello" });
        let headers = [("authorization", &*bearer), ("traceparent", &*header)];
        client.post("/api/messages/reply", &headers, &reply).await.data();
        assert_eq!(backend.take()[0].header("traceparent"), header);
    }
}
