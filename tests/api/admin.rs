//! /api/admin: changes that require a fresh one-time password.

mod audit_events;
mod ip_rules;
mod login_log;
mod login_log_export;
mod matrix;
mod oidc_clients;
mod people;
mod service_keys;
mod sessions;
mod statistics;

use std::collections::HashSet;
use std::time::Duration;

use crate::harness::{Client, PASSWORD, TestApp, request};

const UNLOCK: &str = "/api/admin/agents/agent01/unlock";

/// The identifiers in a list of 120 entries, read in three pages while further entries are added.
async fn read_in_pages(app: &TestApp, client: &mut Client, token: &str, list: &str) -> Vec<String> {
    let (mut found, mut after, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = client.get_as(token, &format!("{list}?page_size=50{after}")).await.data();
        found.extend(page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()));
        pages += 1;
        app.clock.advance(Duration::from_millis(1));
        client.sign_in("user01").await;
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!((pages, found.len(), found.iter().collect::<HashSet<_>>().len()), (3, 120, 120));
    found
}

on_every_store! {
    async fn high_risk_wants_a_fresh_code(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        client.post_with_otp(&token, UNLOCK, None).await.refused(403, 1009);
        client.post_with_otp(&token, UNLOCK, Some("123456")).await.refused(403, 1009);
        let (device, _) = client.bind_device(&token, &app.clock).await;

        let asked = client.post_with_otp(&token, UNLOCK, None).await;
        let challenge = asked.refused(403, 1007).header("www-authenticate").unwrap();
        assert!(challenge.starts_with("Bearer error=\"insufficient_user_authentication\""), "{challenge}");
        client.post_with_otp(&token, UNLOCK, Some(&device.wrong_code())).await.refused(401, 1008);
        client.post_with_otp(&token, UNLOCK, Some(&device.recovery_codes[0])).await.refused(401, 1008);
        let code = device.next_code();
        client.post_with_otp(&token, UNLOCK, Some(&code)).await.data();
        client.post_with_otp(&token, UNLOCK, Some(&code)).await.refused(401, 1008);
        let other = "/api/admin/agents/agent01/reset-otp";
        client.post_with_otp(&token, other, Some(&code)).await.refused(401, 1008);
    }

    async fn high_risk_is_for_the_active_role_admin(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let (device, _) = client.bind_device(&token, &app.clock).await;
        client.switch(&token, "agent").await.data();
        let refused = client.post_with_otp(&token, UNLOCK, Some(&device.next_code())).await;
        assert_eq!(refused.refused(403, 1003).reason(), "role_needed");
        client.switch(&token, "admin").await.data();
        client.post_with_otp(&token, UNLOCK, Some(&device.code())).await.data();
    }

    /// A mistake in a request uses up no code.
    async fn a_name_that_is_none_uses_no_code_up(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let (device, _) = client.bind_device(&token, &app.clock).await;
        let code = device.next_code();
        client.post_with_otp(&token, "/api/admin/agents/a%20b/unlock", Some(&code)).await.refused(400, 1002);
        client.post_with_otp(&token, "/api/admin/agents/user01/unlock", Some(&code)).await.refused(404, 1004);
        client.post_with_otp(&token, UNLOCK, Some(&code)).await.data();
    }

    async fn two_codes_in_one_request_are_none(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let (device, _) = client.bind_device(&token, &app.clock).await;
        let (bearer, code) = (format!("Bearer {token}"), device.next_code());
        let headers = [("authorization", &*bearer), ("x-otp-code", &*code), ("x-otp-code", "000000")];
        client.send(&request("POST", UNLOCK, &headers, b"")).await.refused(401, 1008);
    }

    async fn agents_are_unlocked_and_their_device_and_password_reset(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let (device, _) = client.bind_device(&token, &app.clock).await;
        app.agent_with_device("agent01").await;
        for _ in 0..5 {
            client.agent_login("agent01", "wrong").await.refused(401, 1011);
        }
        client.agent_login("agent01", PASSWORD).await.refused(429, 1013);
        client.post_with_otp(&token, UNLOCK, Some(&device.next_code())).await.data();
        let half = client.agent_login("agent01", PASSWORD).await.data();
        assert_eq!(half["otp"], "verify");

        client.post_with_otp(&token, "/api/admin/agents/agent01/reset-otp", Some(&device.next_code())).await.data();
        assert_eq!(client.agent_login("agent01", PASSWORD).await.data()["otp"], "bind");

        let reset = client.post_with_otp(&token, "/api/admin/agents/agent01/reset-password", Some(&device.next_code())).await;
        let setup_code = reset.data()["setup_code"].clone();
        client.agent_login("agent01", PASSWORD).await.refused(403, 1012);
        let body = serde_json::json!({ "employee_id": "agent01", "setup_code": setup_code, "new_password": PASSWORD });
        client.post("/api/agents/password/setup", &[], &body).await.data();
        client.partial_sign_in("agent01").await;
    }
}
