//! /api/auth/qrcode?match=…: the phone picks the number that the screen shows, or does not sign in.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::choices;
use crate::harness::{Client, Response, StoreBackend, TestApp, development, request};

fn ticket(code: &Value) -> &str {
    code["ticket"].as_str().unwrap()
}

async fn code_with(client: &mut Client, query: &str) -> Value {
    client.get(&format!("/api/auth/qrcode{query}"), &[]).await.data()
}

/// Confirms on the phone with a number.
async fn confirm(client: &mut Client, secret: &str, number: &Value) -> Response {
    client.post("/api/auth/scan/confirm", &[], &json!({ "confirm": secret, "number": number })).await
}

/// A code with a number that the phone of user01 has scanned: the code, the phone's secret, and a wrong number.
async fn scanned(client: &mut Client) -> (Value, String, u64) {
    let code = code_with(client, "?match=1").await;
    let secret = client.scan_as(&code, "user01").await;
    let shown = client.decide("request", &secret).await.data();
    let wrong = choices(&shown).into_iter().find(|choice| code["match_number"] != *choice).unwrap();
    (code, secret, wrong)
}

/// Whether a sign-in was refused for the number.
#[track_caller]
fn assert_wrong(answer: &Response) {
    assert_eq!(answer.refused(403, 1003).reason(), "wrong_number");
}

on_every_store! {
    async fn the_number_on_the_screen_signs_in(app) {
        let mut client = app.client().await;
        let code = code_with(&mut client, "?client=itagent&match=1").await;
        let secret = client.scan_as(&code, "agent01").await;
        let shown = client.decide("request", &secret).await.data();
        let offered: HashSet<_> = choices(&shown).into_iter().collect();
        assert!(offered.len() == 3 && offered.iter().all(|choice| (10..=99).contains(choice)), "{shown}");
        assert!(offered.contains(&code["match_number"].as_u64().unwrap()), "{code} {shown}");
        // The computer that shows the number is not told the others, nor is the phone told which one it is.
        assert_eq!((&code["choices"], &shown["match_number"]), (&Value::Null, &Value::Null));
        // What is no number of two digits is a mistake of the page, and ends nothing.
        for broken in [json!(9), json!(100), json!("42"), json!(4.5), json!([])] {
            confirm(&mut client, &secret, &broken).await.refused(400, 1002);
        }
        confirm(&mut client, &secret, &code["match_number"]).await.data();
        let status = client.scan_status(ticket(&code)).await;
        assert_eq!((&status["status"], &status["employee_id"]), (&json!("confirmed"), &json!("agent01")));
        assert!(client.is_valid(status["token"].as_str().unwrap()).await);
    }

    async fn a_wrong_number_and_none_end_the_sign_in_and_the_browser_learns_it(app) {
        let mut client = app.client().await;
        for number in ["wrong", "none", "null"] {
            let (code, secret, wrong) = scanned(&mut client).await;
            let mut watching = app.client().await;
            let events = format!("/api/auth/scan/events?ticket={}", ticket(&code));
            watching.start(&request("GET", &events, &[], b"")).await;
            watching.read_until("scanned").await;
            assert_wrong(&match number {
                "wrong" => confirm(&mut client, &secret, &json!(wrong)).await,
                "none" => client.decide("confirm", &secret).await,
                _ => confirm(&mut client, &secret, &Value::Null).await,
            });
            let ended = json!({ "status": "expired", "employee_id": null, "name": null, "token": null, "reason": "wrong_number" });
            assert_eq!(client.scan_status(ticket(&code)).await, ended, "{number}");
            let told = watching.read_until("\r\n0\r\n\r\n").await;
            assert!(told.contains("\"token\":null,\"reason\":\"wrong_number\"}"), "{told}");
            // For good: neither the phone nor another one goes on with it.
            confirm(&mut client, &secret, &code["match_number"]).await.refused(409, 1019);
            client.decide("request", &secret).await.refused(409, 1019);
            assert!(client.scan(&code, "user01").await.contains("#error=invalid_code"), "{number}");
        }
        let log = app.query("SELECT event, employee_key, login_method, reason FROM login_log WHERE employee_key = 'user01' ORDER BY rowid");
        assert_eq!(log[0], "sign_in_refused|user01|qrcode|wrong_number");
        assert_eq!(log.iter().filter(|row| row.ends_with("|wrong_number")).count(), 3, "{log:?}");
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    }

    async fn of_a_right_and_a_wrong_number_at_once_one_decides(app) {
        let (mut one, mut other) = (app.client().await, app.client().await);
        let mut signed_in = 0;
        for _ in 0..StoreBackend::current().rounds(30) {
            let (code, secret, wrong) = scanned(&mut one).await;
            let wrong = json!(wrong);
            let (right, wrong) =
                tokio::join!(confirm(&mut one, &secret, &code["match_number"]), confirm(&mut other, &secret, &wrong));
            let status = one.scan_status(ticket(&code)).await;
            match (right.status, wrong.status) {
                (200, 409) => assert_eq!(status["status"], "confirmed"),
                (409, 403) => assert_eq!(status["reason"], "wrong_number"),
                _ => panic!("{right:?} {wrong:?}"),
            }
            signed_in += usize::from(right.status == 200);
            assert_eq!(app.query("SELECT count(*) FROM session"), [signed_in.to_string()]);
        }
    }

    /// The contract of clients that others wrote has no number: neither does their code, unless every code must have one.
    async fn a_client_written_to_the_specification_alone_keeps_working() {
        for setting in ["on", "off"] {
            let app = TestApp::with(development(&[("qr.number_match", setting)])).await;
            let mut client = app.client().await;
            for (query, has_number) in
                [("", false), ("?client=h5", false), ("?match=0", false), ("?match=auto", setting == "on"), ("?match=1", true)]
            {
                let code = code_with(&mut client, query).await;
                assert_eq!(code.get("match_number").is_some(), has_number, "{query} {code}");
                let secret = client.scan_as(&code, "user01").await;
                let shown = client.decide("request", &secret).await.data();
                assert_eq!(shown["choices"].is_array(), has_number, "{query} {shown}");
                let confirmed = if has_number {
                    confirm(&mut client, &secret, &code["match_number"]).await
                } else {
                    client.decide("confirm", &secret).await
                };
                assert_eq!(confirmed.data(), json!({ "success": true }));
                assert_eq!(client.scan_status(ticket(&code)).await["status"], "confirmed", "{query}");
            }
            for query in ["?match=2", "?match=true", "?match=1&match=1"] {
                let answer = client.get(&format!("/api/auth/qrcode{query}"), &[]).await;
                assert!(answer.refused(400, 1002).json()["data"]["fields"]["match"].is_string(), "{query} {answer:?}");
            }
        }
    }

    async fn a_phone_that_cancels_needs_no_number(app) {
        let mut client = app.client().await;
        let (code, secret, _) = scanned(&mut client).await;
        client.decide("cancel", &secret).await.data();
        assert_eq!(client.scan_status(ticket(&code)).await["reason"], "cancelled");
    }
}
