//! X-Forwarded-For and similar headers: which are logged, which decide, and which are ignored.

use serde_json::json;

use crate::harness::{Client, TestApp, settings};

async fn logged(app: &TestApp, headers: &[(&str, &str)]) -> String {
    let mut client = app.client().await;
    client.post("/api/auth/bind", headers, &json!({ "employee_id": "user01" })).await.data();
    app.query("SELECT ip_address FROM login_log ORDER BY rowid DESC LIMIT 1").remove(0)
}

on_one_store! {
    async fn from_a_trusted_peer_the_first_address_is_logged(app) {
        assert_eq!(logged(&app, &[]).await, "127.0.0.1");
        assert_eq!(logged(&app, &[("X-Forwarded-For", "203.0.113.5")]).await, "203.0.113.5");
        assert_eq!(logged(&app, &[("x-forwarded-for", " 203.0.113.5 , 10.1.1.1")]).await, "203.0.113.5");
        assert_eq!(logged(&app, &[("x-forwarded-for", "::ffff:203.0.113.5")]).await, "203.0.113.5");
        assert_eq!(logged(&app, &[("x-forwarded-for", "2001:db8::7")]).await, "2001:db8::7");
    }

    async fn what_cannot_be_read_counts_as_absent(app) {
        for garbage in ["a", "", ",", "unknown", "1.2.3", "1.2.3.4.5", "_gazonk", "\"1.2.3.4", "x, 203.0.113.5"] {
            assert_eq!(logged(&app, &[("x-forwarded-for", garbage)]).await, "127.0.0.1", "{garbage:?}");
        }
    }

    async fn other_headers_are_not_read(app) {
        let others = [
            ("x_forwarded_for", "6.6.6.6"), ("forwarded", "for=6.6.6.6"), ("x-real-ip", "6.6.6.6"), ("x-client-ip", "6.6.6.6"),
            ("true-client-ip", "6.6.6.6"), ("x-forwarded-host", "evil.example"), ("x-forwarded-proto", "https"),
        ];
        assert_eq!(logged(&app, &others).await, "127.0.0.1");
    }

    async fn a_user_agent_is_kept_short_and_plain(app) {
        let long = format!("agent\t{}", "x".repeat(2_000));
        logged(&app, &[("user-agent", &long)]).await;
        let kept = app.query("SELECT user_agent FROM login_log").remove(0);
        assert_eq!(kept.len(), 512);
        assert!(kept.starts_with("agentxxx"), "{kept}");
    }
}

on_one_store! {
    /// The header of a public peer is ignored; a private peer that sends it is a proxy missing from the settings.
    async fn from_an_untrusted_peer_the_header_changes_nothing() {
        let app = TestApp::with(settings(&[("development.enabled", "true"), ("trusted_proxies", "10.0.0.0/8")])).await;
        let (mut client, user) = (app.client().await, json!({ "employee_id": "user01" }));
        let refused = client.post("/api/auth/bind", &[("x-forwarded-for", "203.0.113.5")], &user).await;
        assert_eq!(refused.refused(403, 1003).reason(), "untrusted_proxy");
        assert_eq!(app.query("SELECT count(*) FROM login_log"), ["0"]);
        assert_eq!(logged(&app, &[]).await, "127.0.0.1");
    }

    async fn operators_are_recognised_by_an_address_that_only_a_proxy_can_choose(app) {
        let mut client = app.client().await;
        assert_eq!(client.get("/metrics", &[]).await.status, 200);
        assert!(is_operator(&mut client, "127.0.0.5").await);
        // A proxy that names no client has the address of an operator itself.
        assert!(!is_operator(&mut client, "203.0.113.5, 10.0.0.1, garbage").await);
        // Bytes that are not text must not discard the proxy's own entry.
        let spoofs = ["é, 203.0.113.5", "\u{80}, 203.0.113.5", "10.0.0.1, \u{fffd}, 203.0.113.5", "é,[2001:db8::1]"];
        for stranger in ["203.0.113.5", "10.0.0.1, 203.0.113.5"].into_iter().chain(spoofs) {
            assert!(!is_operator(&mut client, stranger).await, "{stranger}");
            client.get("/metrics", &[("x-forwarded-for", stranger)]).await.refused(403, 1003);
        }
    }
}

/// Whether the service tells a client that a proxy reports what only operators are told.
async fn is_operator(client: &mut Client, forwarded_for: &str) -> bool {
    let ready = client.get("/api/ready", &[("x-forwarded-for", forwarded_for)]).await.json();
    !ready["data"]["administrators"].is_null()
}
