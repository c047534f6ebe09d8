//! A stolen session alone gains neither a device nor a password nor the access they give: it is too old to enrol anything.

use std::time::Duration;

use serde_json::json;

use crate::harness::{Client, Device, PASSWORD, Platform, TestApp};
use crate::sign_in_proof::{OTHER, by_qr, equip, give_password, production, set_password, show, use_setup_code};

/// How long after a sign-in its session may enrol.
const RECENT: Duration = Duration::from_mins(5);
const SETUP: &str = "/api/auth/otp-setup";
const UNLOCK: &str = "/api/admin/agents/agent01/unlock";

/// A session with platform vouching that was stolen when it was no longer recent.
async fn stolen(app: &TestApp, platform: &Platform, client: &mut Client, who: &str) -> String {
    let token = platform.sign_in(client, who).await;
    app.clock.advance(RECENT);
    token
}

/// All credentials of the agents.
fn enrolled(app: &TestApp) -> Vec<String> {
    app.query(
        "SELECT employee_key, COALESCE(password_hash, ''), COALESCE(otp_secret, ''), COALESCE(otp_pending, ''), otp_proven
        FROM agent ORDER BY employee_key",
    )
}

async fn device_code(app: &TestApp, who: &str) -> String {
    app.auth().operator().reset_device(app.key(who)).await.unwrap().code.text()
}

async fn is_proven(client: &mut Client, token: &str) -> bool {
    client.get_as(token, "/api/auth/otp-status").await.data()["proven"] == true
}

on_every_store! {
    async fn an_old_session_enrols_nothing_for_the_first_time_and_changes_nothing() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        let by_qr = by_qr(&mut client, &platform, "admin01").await;
        let code = platform.code(&mut client, "admin01").await;
        let login = client.post("/api/agents/login", &[], &json!({ "employee_id": "admin01", "code": code })).await.data();
        let by_code = login["token"].as_str().unwrap().to_owned();
        let by_oauth = stolen(&app, &platform, &mut client, "admin01").await;
        let before = enrolled(&app);
        for token in [&by_qr, &by_code, &by_oauth] {
            let first = [(SETUP, json!({})), ("/api/agents/password", json!({ "new_password": PASSWORD }))];
            for (path, ask) in &first {
                let refused = client.post_as(token, path, ask).await;
                assert_eq!(refused.refused(403, 1003).reason(), "recent_sign_in_needed", "{path}");
            }
            let refused = client.post_as(token, SETUP, &json!({ "setup_code": "aaaa-bbbb-cccc-dddd" })).await;
            assert_eq!(refused.refused(403, 1003).reason(), "setup_code");
            show(&mut client, token, "bind", "123456").await.refused(409, 1019);
            show(&mut client, token, "verify", "123456").await.refused(403, 1009);
            show(&mut client, token, "unbind", "123456").await.refused(403, 1009);
            for (method, path, ask) in [
                ("POST", UNLOCK, json!({})),
                ("POST", "/api/admin/agents/admin01/reset-otp", json!({})),
                ("POST", "/api/admin/agents/admin01/reset-password", json!({})),
                ("POST", "/api/admin/agents", json!({ "employee_id": "user01" })),
                ("POST", "/api/admin/links", json!({ "corp_id": "wwpartner", "user_id": "x", "employee_id": "admin01" })),
                ("POST", "/api/admin/service-keys", json!({ "name": "x", "scopes": ["introspect"] })),
            ] {
                client.admin_request(token, "123456", method, path, &ask).await.refused(403, 1009);
            }
            let status = client.get_as(token, "/api/auth/otp-status").await.data();
            assert_eq!(status["recent_sign_in"], false);
        }
        assert_eq!(enrolled(&app), before);
        let log = "SELECT event, reason, count(*) FROM login_log WHERE reason = 'recent_sign_in_needed'
            GROUP BY event, reason ORDER BY event";
        assert_eq!(app.query(log), ["otp_refused|recent_sign_in_needed|3", "password_refused|recent_sign_in_needed|3"]);

        // The owner signs in again, and enrols both until the last moment.
        let fresh = platform.sign_in(&mut client, "admin01").await;
        app.clock.advance(RECENT.saturating_sub(Duration::from_millis(1)));
        assert_eq!(client.get_as(&fresh, "/api/auth/otp-status").await.data()["recent_sign_in"], true);
        set_password(&mut client, &fresh, &json!({ "new_password": PASSWORD })).await.data();
        let (device, _) = client.bind_device(&fresh, &app.clock).await;
        client.post_with_otp(&fresh, UNLOCK, Some(&device.next_code())).await.data();
        // Existing credentials can be changed by their holder, however old the session is.
        let old = stolen(&app, &platform, &mut client, "admin01").await;
        set_password(&mut client, &old, &json!({ "new_password": OTHER })).await.refused(400, 1015);
        set_password(&mut client, &old, &json!({ "old_password": OTHER, "new_password": OTHER })).await.refused(403, 1016);
        show(&mut client, &old, "unbind", &device.wrong_code()).await.refused(401, 1008);
        show(&mut client, &old, "unbind", &device.next_code()).await.data();
        let refused = client.post_as(&old, SETUP, &json!({})).await;
        assert_eq!(refused.refused(403, 1003).reason(), "recent_sign_in_needed", "unbound, and bound anew");
    }

    /// The owner cannot be made to bind a thief's device, and a thief cannot finish a setup that the owner's fresh session began.
    async fn a_setup_is_bound_by_the_session_that_began_it() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        let [one, other] = [platform.sign_in(&mut client, "admin01").await, platform.sign_in(&mut client, "admin01").await];
        let setup = client.post_as(&one, SETUP, &json!({})).await.data();
        let device = Device::scan(&setup, &app.clock);
        let refused = show(&mut client, &other, "bind", &device.code()).await;
        assert_eq!(refused.refused(409, 1019).reason(), "setup_over");
        give_password(&app, "admin01").await;
        let one = platform.sign_in(&mut client, "admin01").await;
        let half = client.partial_sign_in("admin01").await;
        let setup = client.post_as(&half, SETUP, &json!({})).await.data();
        let device = Device::scan(&setup, &app.clock);
        assert_eq!(show(&mut client, &one, "bind", &device.code()).await.refused(409, 1019).reason(), "setup_over");
        // A setup that began in time may finish later.
        let setup = client.post_as(&one, SETUP, &json!({})).await.data();
        let device = Device::scan(&setup, &app.clock);
        assert_eq!(show(&mut client, &half, "bind", &device.code()).await.refused(409, 1019).reason(), "setup_over");
        app.clock.advance(Duration::from_mins(9));
        show(&mut client, &one, "bind", &device.code()).await.data();
        assert!(is_proven(&mut client, &one).await);
    }

    async fn a_setup_code_binds_one_first_device_in_an_old_session() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        let others = device_code(&app, "agent01").await;
        let replaced = device_code(&app, "admin01").await;
        let code = device_code(&app, "admin01").await;
        let for_password = app.auth().operator().reset_password(app.key("admin01")).await.unwrap().code.text();
        let old = stolen(&app, &platform, &mut client, "admin01").await;
        for wrong in [&others, &replaced, &for_password, "", "x"] {
            let refused = client.post_as(&old, SETUP, &json!({ "setup_code": wrong })).await;
            assert_eq!(refused.refused(403, 1003).reason(), "setup_code", "{wrong}");
        }
        use_setup_code(&mut client, "admin01", &code).await.refused(403, 1003);
        // A user who loses the page starts again; only the binding uses up the code.
        client.post_as(&old, SETUP, &json!({ "setup_code": code })).await.data();
        let setup = client.post_as(&old, SETUP, &json!({ "setup_code": code.to_uppercase().replace('-', " ") })).await;
        let device = Device::scan(&setup.data(), &app.clock);
        show(&mut client, &old, "bind", &device.code()).await.data();
        assert!(is_proven(&mut client, &old).await, "the platform had named them when the session began");
        client.post_with_otp(&old, UNLOCK, Some(&device.next_code())).await.data();
        show(&mut client, &old, "unbind", &device.next_code()).await.data();
        let spent = client.post_as(&old, SETUP, &json!({ "setup_code": code })).await;
        assert_eq!(spent.refused(403, 1003).reason(), "setup_code");
        // A code that was not needed is used up, too; and a code that is a day old does not count.
        let code = device_code(&app, "admin01").await;
        let fresh = platform.sign_in(&mut client, "admin01").await;
        let (device, _) = client.bind_device(&fresh, &app.clock).await;
        show(&mut client, &fresh, "unbind", &device.next_code()).await.data();
        client.post_as(&old, SETUP, &json!({ "setup_code": code })).await.refused(403, 1003);
        let code = device_code(&app, "admin01").await;
        app.clock.advance(Duration::from_hours(24));
        let fresh = platform.sign_in(&mut client, "admin01").await;
        client.post_as(&fresh, SETUP, &json!({ "setup_code": code })).await.refused(403, 1003);
    }

    /// A thief who bound a device by password cannot get it proven in a session that they stole.
    async fn an_unproven_device_counts_for_nothing_of_high_risk_and_an_old_session_does_not_prove_it() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        give_password(&app, "admin01").await;
        let half = client.partial_sign_in("admin01").await;
        let (device, _) = client.bind_device(&half, &app.clock).await;
        let old = stolen(&app, &platform, &mut client, "admin01").await;
        show(&mut client, &old, "verify", &device.next_code()).await.data();
        assert!(!is_proven(&mut client, &old).await);
        for code in [Some(device.next_code()), Some(device.wrong_code()), None] {
            let refused = client.post_with_otp(&old, UNLOCK, code.as_deref()).await;
            assert_eq!(refused.refused(403, 1003).reason(), "device_not_proven");
        }
        let fresh = platform.sign_in(&mut client, "admin01").await;
        let refused = client.post_with_otp(&fresh, UNLOCK, Some(&device.next_code())).await;
        assert_eq!(refused.refused(403, 1003).reason(), "device_not_proven", "it is not proven by what it is to open");
        show(&mut client, &fresh, "verify", &device.next_code()).await.data();
        for token in [&fresh, &old] {
            client.post_with_otp(token, UNLOCK, Some(&device.next_code())).await.data();
        }
    }

    /// A user who lost their phone during an outage of the platform binds another minutes after they signed in by password.
    async fn a_session_by_password_binds_another_device_in_its_first_minutes() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        let lost = equip(&app, &platform, "admin01").await;
        let enter = async |client: &mut Client, code: &str| {
            let half = client.partial_sign_in("admin01").await;
            show(client, &half, "verify", code).await.data()["token"].as_str().unwrap().to_owned()
        };
        let token = enter(&mut client, &lost.recovery_codes[0]).await;
        show(&mut client, &token, "unbind", &lost.recovery_codes[1]).await.data();
        let (device, _) = client.bind_device(&token, &app.clock).await;
        assert!(!is_proven(&mut client, &token).await);
        let refused = client.post_with_otp(&token, UNLOCK, Some(&device.next_code())).await;
        assert_eq!(refused.refused(403, 1003).reason(), "device_not_proven");
        show(&mut client, &token, "unbind", &device.next_code()).await.data();
        app.clock.advance(RECENT);
        let refused = client.post_as(&token, SETUP, &json!({})).await;
        assert_eq!(refused.refused(403, 1003).reason(), "recent_sign_in_needed");
    }
}
