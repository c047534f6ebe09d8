//! The references in alerts: the audit log and `deskpass explain ref` find the event under them.

use std::time::Duration;

use deskpass_core::Role;
use serde_json::{Value, json};

use super::{Asked, CREATE_KEY, Subject, ask_caller, notices_to, open};
use crate::harness::{Client, TestApp, binary, message_text, until};
use crate::notices::{inbox, settled};
use crate::people::{change, control};

/// The references at the end of the newest alert to each of these people, which must be one.
async fn reference(app: &TestApp, client: &mut Client, told: &[&str]) -> String {
    settled(app).await;
    let mut found = Vec::new();
    for who in told {
        let notices = notices_to(client, who).await;
        let newest = notices.last().unwrap_or_else(|| panic!("{who} was not told"));
        found.push(shown(newest).unwrap().to_owned());
    }
    found.dedup();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// The reference at the end of a message, if it shows one.
fn shown(text: &str) -> Option<&str> {
    text.rsplit_once("(ref ").map(|(_, reference)| reference.trim_end_matches(')'))
}

/// The message with this text, once it has come.
async fn message(client: &mut Client, text: &str) -> String {
    let mut found = None;
    until(text, async || {
        found = inbox(client).await.iter().map(message_text).find(|told| told.contains(text));
        found.is_some()
    })
    .await;
    found.unwrap()
}

/// The events that the audit log and the command line find under a reference.
async fn found(app: &TestApp, client: &mut Client, token: &str, reference: &str) -> Vec<Value> {
    let path = format!("/api/admin/login-log?reference={reference}");
    let rows = client.get_as(token, &path).await.data();
    let data = app.database().parent().unwrap().to_owned();
    let explained = binary().args(["explain", "ref", reference, "--dev", "--data"]).arg(data).output().unwrap();
    let text = String::from_utf8_lossy(&explained.stdout).into_owned();
    let is_found = text.starts_with(&format!("Reference {reference}\n\nwhen "));
    assert!(explained.status.success() && is_found, "{explained:?}");
    rows["items"].as_array().unwrap().iter().map(|row| row["event"].clone()).collect()
}

on_one_store! {
    async fn an_alert_has_the_reference_of_its_row(app) {
        app.add("admin02", Role::Admin).await;
        let mut client = app.client().await;
        let admin = client.sign_in("admin02").await;

        // A caller was not who they claimed to be.
        let agent = client.sign_in("agent01").await;
        ask_caller(&mut client, &agent, "user01").await.data();
        let secret = open(&mut client, "user01").await;
        Subject::Caller.refuse(&mut client, &secret).await.data();
        let caller = reference(&app, &mut client, &["admin01", "security01"]).await;
        assert_eq!(found(&app, &mut client, &admin, &caller).await, ["caller_refused"]);

        // A person reports a sign-in that they did not make.
        let token = client.sign_in("user01").await;
        client.sign_in("user01").await;
        let sign_ins = client.get_as(&token, "/api/auth/sign-ins").await.data();
        let id = sign_ins["items"][0]["id"].as_str().unwrap();
        client.post_as(&token, &format!("/api/auth/sign-ins/{id}/not-me"), &json!({})).await.data();
        let disowned = reference(&app, &mut client, &["admin01"]).await;
        assert_eq!(found(&app, &mut client, &admin, &disowned).await, ["sign_in_disowned"]);

        // A phone refuses an approval.
        let token = client.sign_in("admin01").await;
        let asked = Asked::of(&CREATE_KEY.ask(&mut client, &token).await);
        let secret = open(&mut client, "admin01").await;
        Subject::Approval.pick_wrong(&mut client, &secret, &asked).await.refused(403, 1003);
        let refused = reference(&app, &mut client, &["admin01"]).await;
        assert_eq!(found(&app, &mut client, &admin, &refused).await, ["approval_refused"]);
    }
    /// What has no row shows no reference, which nothing would find.
    async fn every_reference_that_an_alert_shows_is_found(app) {
        let mut client = app.client().await;
        let (admin, device) = app.administrator().await;
        let role = json!({ "employee_id": "user01", "role": "supervisor", "minutes": 30, "reason": "on call" });
        let code = device.next_code();
        client.admin_request(&admin, &code, "POST", "/api/admin/roles/temporary", &role).await.data();
        control(&mut client, "PUT", "people", &json!({ "members": 8 })).await;
        for number in 1..=8 {
            let who = format!("member{number:05}");
            client.sign_in_by_phone(&who).await;
            change(&mut client, &who, &json!({ "state": "hidden" })).await;
        }
        for number in 1..=6 {
            let qrcode = client.qrcode().await;
            client.scan(&qrcode, &format!("member{number:05}")).await;
        }
        app.clock.advance(Duration::from_mins(21));
        client.first_password("agent01").await;
        client.partial_sign_in("agent01").await;
        for (text, has_reference) in [
            ("6 people seem to have left at once", false),
            ("your role supervisor ends at ", false),
            ("your password was used to sign in", false),
            ("the password of your account was changed", true),
        ] {
            let message = message(&mut client, text).await;
            assert_eq!(shown(&message).is_some(), has_reference, "{message}");
        }
        settled(&app).await;
        for text in inbox(&mut client).await.iter().map(message_text) {
            if let Some(reference) = shown(&text) {
                assert!(!found(&app, &mut client, &admin, reference).await.is_empty(), "{text}");
            }
        }
    }
}
