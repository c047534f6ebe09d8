//! The references in alerts: the audit log and `deskpass explain ref` find the event under them.

use deskpass_core::Role;
use serde_json::{Value, json};

use super::{Asked, CREATE_KEY, Subject, ask_caller, notices_to, open};
use crate::harness::{Client, TestApp, binary};
use crate::notices::settled;

/// The references at the end of the newest alert to each of these people, which must be one.
async fn reference(app: &TestApp, client: &mut Client, told: &[&str]) -> String {
    settled(app).await;
    let mut found = Vec::new();
    for who in told {
        let notices = notices_to(client, who).await;
        let newest = notices.last().unwrap_or_else(|| panic!("{who} was not told"));
        let (_, reference) = newest.rsplit_once("(ref ").unwrap();
        found.push(reference.trim_end_matches(')').to_owned());
    }
    found.dedup();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
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
}
