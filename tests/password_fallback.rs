//! When an agent's password counts: as the settings say, and with fallback during an outage only while it lasts.

use std::time::Duration;

use serde_json::json;

use crate::harness::{Client, PASSWORD, Platform, request};
use crate::sign_in_proof::{equip, give_password, production, show};

/// Longer than the result of an outage probe stays valid.
const FRESH: Duration = Duration::from_secs(11);

on_every_store! {
    async fn passwords_count_as_the_settings_say() {
        for (fallback, reason) in [("off", "password_off"), ("outage", "platform_works"), ("always", "")] {
            let (app, platform) = production(&[("agents.password_fallback", fallback)]).await;
            give_password(&app, "agent01").await;
            let mut client = app.client().await;
            let answer = client.agent_login("agent01", PASSWORD).await;
            assert_eq!((answer.status == 200, &*answer.reason()), (reason.is_empty(), reason), "{fallback}");
            // Pages offer a password only where it counts.
            let methods = client.get("/api/agents/login-methods", &[]).await.data();
            assert_eq!(methods, json!({ "password": reason.is_empty() }), "{fallback}");
            // The sign-in through the platform is open to agents in any case.
            let code = platform.code(&mut client, "agent01").await;
            let ask = json!({ "employee_id": "agent01", "code": code, "password": "wrong" });
            assert_eq!(client.post("/api/agents/login", &[], &ask).await.data()["login_method"], "oauth2");
            platform.stop().await;
            app.clock.advance(FRESH);
            // Nobody has tried to sign in since: the service finds out itself.
            let methods = client.get("/api/agents/login-methods", &[]).await.data();
            assert_eq!(methods, json!({ "password": fallback != "off" }), "{fallback}");
            let answer = client.agent_login("agent01", PASSWORD).await;
            assert_eq!(answer.status == 200, fallback != "off", "{fallback}: {answer:?}");
        }
    }

    async fn a_password_counts_while_the_platform_is_gone_and_no_longer() {
        let (app, platform) = production(&[("agents.password_fallback", "outage")]).await;
        let device = equip(&app, &platform, "agent01").await;
        let mut client = app.client().await;
        let refused = async |client: &mut Client, password: &str| {
            assert_eq!(client.agent_login("agent01", password).await.refused(403, 1003).reason(), "platform_works");
        };
        refused(&mut client, PASSWORD).await;
        // The response does not reveal whether the password is right.
        refused(&mut client, "wrong").await;
        let address = platform.stop().await;
        app.clock.advance(FRESH);
        client.agent_login("agent01", "wrong").await.refused(401, 1011);
        let half = client.partial_sign_in("agent01").await;
        let late = client.partial_sign_in("agent01").await;
        let whole = show(&mut client, &half, "verify", &device.next_code()).await.data();

        let _platform = Platform::restart_at(&address).await;
        app.clock.advance(FRESH);
        refused(&mut client, PASSWORD).await;
        refused(&mut client, "wrong").await;
        // Sign-ins that began during the outage continue.
        assert!(client.is_valid(whole["token"].as_str().unwrap()).await);
        show(&mut client, &late, "verify", &device.next_code()).await.data();
    }

    async fn nothing_that_a_caller_says_makes_an_outage() {
        let (app, platform) = production(&[("agents.password_fallback", "outage")]).await;
        give_password(&app, "agent01").await;
        let (mut client, mut control) = (app.client().await, platform.client().await);
        let long = "x".repeat(2_000);
        for code in ["no-such-code", "", " ", "-1", "40029", "deskpass-is-looking", "a&errcode=-1", "%00", "码", &long] {
            for password in [PASSWORD, "wrong"] {
                let ask = json!({ "employee_id": "agent01", "code": code, "password": password, "errcode": -1, "outage": true });
                let answer = client.post("/api/agents/login", &[], &ask).await;
                assert!(answer.status == 403 || answer.status == 400, "{code}: {answer:?}");
            }
        }
        // The platform's answer to a caller's code is no evidence of an outage; only the service's own probe is.
        for fault in [
            json!({ "errcode": 40029 }),
            json!({ "errcode": 50001 }),
            json!({ "errcode": -1 }),
            json!({ "errcode": 60020 }),
            json!({ "errcode": 45009 }),
            json!({ "drop": true }),
            json!({ "http_status": 500 }),
            json!({ "body": "<html>" }),
        ] {
            let mut fault = fault;
            fault["api"] = json!("auth/getuserinfo");
            // A recent probe is still valid, so the fault affects the caller's code and not the probe.
            let works = client.agent_login("agent01", PASSWORD).await;
            assert_eq!(works.refused(403, 1003).reason(), "platform_works", "before {fault}");
            control.set_fault(&fault).await;
            let ask = json!({ "employee_id": "agent01", "code": "some-code", "password": PASSWORD });
            let answer = client.post("/api/agents/login", &[], &ask).await;
            assert_ne!(answer.status, 200, "{fault}: {answer:?}");
            control.send(&request("DELETE", "/sim/faults", &[], b"")).await;
            // Where the answer left a doubt, the service probes again.
            let works = client.agent_login("agent01", PASSWORD).await;
            assert_eq!(works.refused(403, 1003).reason(), "platform_works", "after {fault}");
            app.clock.advance(Duration::from_mins(2));
        }
        assert_eq!(app.query("SELECT count(*) FROM half_session"), ["0"]);
        assert_eq!(app.query("SELECT count(*) FROM guess WHERE trial = 'password'"), ["0"], "no password was checked");
    }
}
