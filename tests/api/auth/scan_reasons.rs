//! /api/auth/scan/status and /api/auth/scan/events: why a sign-in ended before its time.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{TestApp, cookies, request, settings, target};

fn ticket(code: &Value) -> &str {
    code["ticket"].as_str().unwrap()
}

/// The state of a sign-in that ended early.
fn ended(reason: &str) -> Value {
    json!({ "status": "expired", "employee_id": null, "name": null, "token": null, "reason": reason })
}

/// The state of a sign-in of which nothing else is known.
fn expired() -> Value {
    json!({ "status": "expired", "employee_id": null, "name": null, "token": null })
}

on_every_store! {
    async fn the_waiting_browser_learns_why_a_phone_was_refused() {
        let app = TestApp::with(settings(&[("development.enabled", "true"), ("default_role", "none")])).await;
        let mut client = app.client().await;
        app.auth().operator().disable(app.key("agent01")).await.unwrap();
        for (who, reason) in [("agent01", "disabled"), ("outsider01", "not_a_member")] {
            let (code, mut watching) = (client.qrcode().await, app.client().await);
            let events = format!("/api/auth/scan/events?ticket={}", ticket(&code));
            watching.start(&request("GET", &events, &[], b"")).await;
            watching.read_until("waiting").await;
            client.scan(&code, who).await;
            assert_eq!(client.scan_status(ticket(&code)).await, ended(reason), "{who}");
            let told = watching.read_until("\r\n0\r\n\r\n").await;
            assert!(told.contains(&format!("\"token\":null,\"reason\":\"{reason}\"}}")), "{told}");
            // Nobody else can use the code.
            assert!(client.scan(&code, "user01").await.contains("#error=invalid_code"), "{who}");
        }
        // The refusal comes with the confirmation.
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "norole01").await;
        client.decide("confirm", &confirm).await.refused(403, 1003);
        assert_eq!(client.scan_status(ticket(&code)).await, ended("no_role"));
        app.set_list("user", &["192.0.2.0/24"]).await;
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        client.decide("confirm", &confirm).await.refused(403, 1017);
        assert_eq!(client.scan_status(ticket(&code)).await, ended("address_not_allowed"));
    }

    /// A sign-in that is cancelled is not called expired, and one that has expired is not called cancelled.
    async fn cancelled_and_expired_are_told_apart(app) {
        let mut client = app.client().await;
        let codes = [client.qrcode().await, client.qrcode().await, client.qrcode().await];
        let confirm = client.scan_as(&codes[0], "user01").await;
        client.decide("cancel", &confirm).await.data();
        client.scan_as(&codes[1], "user01").await;
        assert_eq!(client.scan_status(ticket(&codes[0])).await, ended("cancelled"));
        app.clock.advance(Duration::from_mins(3));
        for code in &codes {
            assert_eq!(client.scan_status(ticket(code)).await, expired());
        }
    }

    /// What leaves the sign-in open: a refusal at the platform, which any holder of the picture can send, and an outage.
    async fn a_scan_that_identified_nobody_leaves_the_code_valid(app) {
        let mut client = app.client().await;
        let code = client.qrcode().await;
        client.scan(&code, "deny").await;
        let callback = code["qrcode_url"].as_str().unwrap();
        let callback = url::Url::parse(callback).unwrap().query_pairs().find(|(name, _)| name == "redirect_uri").unwrap().1.into_owned();
        for forged in ["&errcode=1", "&code=made-up&state=auth_login", "&code=&state=auth_login"] {
            client.get(&format!("{}{forged}", target(&callback)), &[]).await;
        }
        client.set_fault(&json!({ "http_status": 502, "times": 0 })).await;
        assert!(client.scan(&code, "outsider01").await.contains("#error=platform_unavailable"));
        client.send(&request("DELETE", "/sim/faults", &[], b"")).await;
        assert_eq!(client.scan_status(ticket(&code)).await["status"], "waiting");
        client.scan_as(&code, "user01").await;
    }

    /// Only the browser of the ticket learns the reason.
    async fn a_stranger_learns_no_reason(app) {
        let mut client = app.client().await;
        let page = ("sec-fetch-site", "same-origin");
        let answer = client.get("/api/auth/qrcode", &[page]).await;
        let (code, own) = (answer.data(), cookies(&answer));
        client.scan(&code, "outsider01").await;
        assert_eq!(client.scan_status(ticket(&code)).await, expired());
        let path = format!("/api/auth/scan/status?ticket={}", ticket(&code));
        assert_eq!(client.get(&path, &[page, ("cookie", &own)]).await.data(), ended("not_a_member"));
    }

    /// A foreign page can open the link of its own code in the messenger of its reader: it must not find out whether the reader
    /// belongs to the company.
    async fn a_page_that_opens_its_own_code_learns_nothing_of_its_reader() {
        let (app, platform) = TestApp::production_with_platform(&[("limits.enabled", "false")]).await;
        let (mut client, mut phone) = (app.client().await, platform.client().await);
        let (page, linked, scan) = (("sec-fetch-site", "cross-site"), ("referer", "https://evil.example.net/"), ("sec-fetch-site", "none"));
        // An older browser says nothing, whoever opened the link.
        for (headers, is_told) in [(&[page][..], false), (&[linked][..], false), (&[], false), (&[scan][..], true)] {
            let code = client.qrcode().await;
            let back = phone.authorize(code["qrcode_url"].as_str().unwrap(), "outsider01").await;
            client.get(&target(&back), headers).await;
            let state = client.scan_status(ticket(&code)).await;
            assert_eq!(state["status"], if is_told { "expired" } else { "waiting" }, "{headers:?}: {state}");
        }
    }
}
