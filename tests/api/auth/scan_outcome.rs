//! /api/auth/scan/outcome: what became of a sign-in, for the phone that confirmed it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Client, StoreBackend, TestApp, request, settings};

fn ticket(code: &Value) -> &str {
    code["ticket"].as_str().unwrap()
}

/// A code that the phone of user01 has scanned, and the phone's secret.
async fn scanned(client: &mut Client) -> (Value, String) {
    let code = client.qrcode().await;
    let confirm = client.scan_as(&code, "user01").await;
    (code, confirm)
}

/// A request that waits for the outcome.
fn waiting(confirm: &str) -> Vec<u8> {
    let body = json!({ "confirm": confirm, "wait": true }).to_string();
    request("POST", "/api/auth/scan/outcome", &[("content-type", "application/json")], body.as_bytes())
}

on_every_store! {
    async fn says_when_the_computer_has_collected_the_session(app) {
        let mut client = app.client().await;
        let (code, confirm) = scanned(&mut client).await;
        assert_eq!(client.decide("outcome", &confirm).await.data(), json!({ "status": "undecided" }));
        assert_eq!(client.decide("confirm", &confirm).await.data(), json!({ "success": true }));
        for _ in 0..2 {
            assert_eq!(client.decide("outcome", &confirm).await.data(), json!({ "status": "confirmed" }));
        }
        assert_eq!(client.scan_status(ticket(&code)).await["status"], "confirmed");
        // A phone that slept for minutes still learns it; the ticket has long been useless.
        app.clock.advance(Duration::from_secs(599));
        assert_eq!(client.decide("outcome", &confirm).await.data(), json!({ "status": "signed_in" }));
        assert_eq!(client.scan_status(ticket(&code)).await["status"], "expired");
        app.clock.advance(Duration::from_mins(4));
        client.decide("outcome", &confirm).await.refused(409, 1019);
    }

    async fn a_session_that_nobody_collects_is_not_called_signed_in(app) {
        let mut client = app.client().await;
        let (_, confirm) = scanned(&mut client).await;
        client.decide("confirm", &confirm).await.data();
        app.clock.advance(Duration::from_millis(179_999));
        assert_eq!(client.decide("outcome", &confirm).await.data()["status"], "confirmed");
        app.clock.advance(Duration::from_millis(1));
        client.decide("outcome", &confirm).await.refused(409, 1019);
    }

    async fn nothing_else_has_an_outcome(app) {
        let mut client = app.client().await;
        let (code, confirm) = scanned(&mut client).await;
        client.decide("cancel", &confirm).await.data();
        let token = client.sign_in("user01").await;
        for nothing in [&*confirm, ticket(&code), &token, "", "dpc_made-up"] {
            client.decide("outcome", nothing).await.refused(409, 1019);
        }
        client.post("/api/auth/scan/outcome", &[], &json!({ "wait": true })).await.refused(400, 1002);
        let wrong = json!({ "confirm": confirm, "wait": "yes" });
        client.post("/api/auth/scan/outcome", &[], &wrong).await.refused(400, 1002);
    }

    async fn a_waiting_response_comes_with_the_collection(app) {
        let (mut client, mut phone) = (app.client().await, app.client().await);
        let mut confirm = String::new();
        // Usually the response waits when the computer collects; a few rounds make sure of it.
        for _ in 0..5 {
            let code;
            (code, confirm) = scanned(&mut client).await;
            client.decide("confirm", &confirm).await.data();
            phone.start(&waiting(&confirm)).await;
            client.decide("outcome", &confirm).await.data();
            assert_eq!(client.scan_status(ticket(&code)).await["status"], "confirmed");
            assert!(phone.read_until("request_id").await.contains("\"status\":\"signed_in\""));
        }
        // What is decided needs no wait, and neither does what is not.
        let (_, undecided) = scanned(&mut client).await;
        for (secret, status) in [(&confirm, "signed_in"), (&undecided, "undecided")] {
            let asked = json!({ "confirm": secret, "wait": true });
            assert_eq!(client.post("/api/auth/scan/outcome", &[], &asked).await.data()["status"], status);
        }
    }

    async fn a_waiting_response_does_not_delay_a_stop() {
        let mut app = TestApp::start().await;
        let (mut client, mut phone) = (app.client().await, app.client().await);
        let (_, confirm) = scanned(&mut client).await;
        client.decide("confirm", &confirm).await.data();
        phone.start(&waiting(&confirm)).await;
        // The service has the request: a later one on another connection is answered.
        client.decide("outcome", &confirm).await.data();
        drop(client);
        tokio::time::timeout(Duration::from_secs(8), app.stop()).await.expect("stopped before the wait was over");
    }
}

/// Waiting responses and event streams share their places; without one, the response does not wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_place_the_response_does_not_wait() {
    let given =
        [("development.enabled", "true"), ("server.max_connections", "8"), ("server.max_connections_per_address", "1")];
    let app = TestApp::with(settings(&given)).await;
    let mut client = app.client().await;
    let (_, confirm) = scanned(&mut client).await;
    client.decide("confirm", &confirm).await.data();
    let code = client.qrcode().await;
    let address = [("x-forwarded-for", "198.51.100.7")];
    let mut watching = app.client().await;
    let events = format!("/api/auth/scan/events?ticket={}", ticket(&code));
    watching.start(&request("GET", &events, &address, b"")).await;
    watching.read_until("waiting").await;
    let asked = json!({ "confirm": confirm, "wait": true });
    let answered = client.post("/api/auth/scan/outcome", &address, &asked);
    let answered = tokio::time::timeout(Duration::from_secs(8), answered).await.expect("it does not wait");
    assert_eq!(answered.data()["status"], "confirmed");
}

/// Records in the memory of the process are forgotten as soon as nobody needs them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collected_sign_in_takes_no_memory_while_its_outcome_is_known() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    let (code, confirm) = scanned(&mut client).await;
    client.decide("confirm", &confirm).await.data();
    assert_eq!(client.scan_status(ticket(&code)).await["status"], "confirmed");
    app.clock.advance(Duration::from_secs(30));
    // Expired records are removed when another one comes.
    client.qrcode().await;
    let shared = &app.auth().shared;
    assert_eq!((shared.sign_ins.len(), shared.scan_ids.len()), (1, 1), "only those of the new code");
    assert_eq!(client.decide("outcome", &confirm).await.data(), json!({ "status": "signed_in" }));
    let asked = json!({ "confirm": confirm, "wait": true });
    assert_eq!(client.post("/api/auth/scan/outcome", &[], &asked).await.data()["status"], "signed_in");
}

/// The phone is at one node, and the browser collects at the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_phone_at_one_node_learns_what_a_browser_collected_at_another() {
    let run = async {
        let one = TestApp::start().await;
        let other = one.second_node().await;
        let (mut browser, mut phone, mut held) = (one.client().await, other.client().await, other.client().await);
        let (code, confirm) = scanned(&mut browser).await;
        phone.decide("confirm", &confirm).await.data();
        held.start(&waiting(&confirm)).await;
        assert_eq!(phone.decide("outcome", &confirm).await.data()["status"], "confirmed");
        assert_eq!(browser.scan_status(ticket(&code)).await["status"], "confirmed");
        assert!(held.read_until("request_id").await.contains("\"status\":\"signed_in\""));
        // A refusal at one node reaches the browser at the other.
        let code = browser.qrcode().await;
        phone.scan(&code, "outsider01").await;
        assert_eq!(browser.scan_status(ticket(&code)).await["reason"], "not_a_member");
    };
    StoreBackend::ScaledOut.run(Box::pin(run)).await;
}
