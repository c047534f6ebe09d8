//! Devices of employees who are no agents: everyone who holds a role other than `user` may have one, and it makes nobody an agent.

use std::time::Duration;

use deskpass_core::{EmployeeKey, Person, Role, Roles};
use serde_json::{Value, json};

use crate::harness::{Client, Device, PASSWORD, Platform, TestApp, settings};
use crate::notices::{inbox, settled};
use crate::sign_in_proof::{production, set_password, show, use_setup_code};

const SETUP: &str = "/api/auth/otp-setup";
const ROLES: &str = "/api/admin/roles/user-roles";

/// An administrator without an agent record, signed in through the platform.
async fn administrator(app: &TestApp, platform: &Platform, client: &mut Client) -> String {
    app.auth().operator().grant(app.key("user01"), "admin").await.unwrap();
    platform.sign_in(client, "user01").await
}

async fn status(client: &mut Client, token: &str) -> Value {
    client.get_as(token, "/api/auth/otp-status").await.data()
}

async fn is_refused(client: &mut Client, token: &str, path: &str, body: Value, reason: &str) {
    assert_eq!(client.post_as(token, path, &body).await.refused(403, 1003).reason(), reason, "{path}");
}

/// Gives `security01` the role agent, which is a change of high risk.
async fn change_a_role(client: &mut Client, token: &str, device: &Device) -> Value {
    let roles = json!({ "employee_id": "security01", "roles": ["agent", "security", "user"] });
    client.admin_request(token, &device.next_code(), "PUT", ROLES, &roles).await.data()
}

/// The employees in a list of agents.
async fn listed(client: &mut Client, token: &str, query: &str) -> Vec<(String, bool)> {
    let page = client.get_as(token, &format!("/api/admin/agents{query}")).await.data();
    let of = |item: &Value| (item["employee_id"].as_str().unwrap().to_owned(), item["agent"] == true);
    page["items"].as_array().unwrap().iter().map(of).collect()
}

on_every_store! {
    async fn an_administrator_without_an_agent_record_binds_a_device_and_makes_a_change() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        let token = administrator(&app, &platform, &mut client).await;
        let refused = client.admin_request(&token, "123456", "PUT", ROLES, &json!({})).await;
        assert!(refused.refused(403, 1009).json()["message"].as_str().unwrap().contains("otp-setup"), "{refused:?}");
        let before = status(&mut client, &token).await;
        let flags = ["agent", "may_bind", "bound", "confirms_changes"].map(|name| before[name] == true);
        assert_eq!(flags, [false, true, false, false], "{before}");

        let (device, _) = client.bind_device(&token, &app.clock).await;
        let after = status(&mut client, &token).await;
        let flags = ["agent", "may_bind", "bound", "proven", "confirms_changes"].map(|name| after[name] == true);
        assert_eq!(flags, [false, true, true, true, true], "{after}");
        assert_eq!(change_a_role(&mut client, &token, &device).await["roles"], json!(["agent", "user", "security"]));
        let events = "SELECT event FROM login_log WHERE event = 'device_bound' OR event = 'roles_changed' AND actor_key = 'user01'
            ORDER BY event";
        assert_eq!(app.query(events), ["device_bound", "roles_changed"]);
        settled(&app).await;
        let messages = inbox(&mut platform.client().await).await;
        assert!(messages.iter().any(|message| message["touser"] == json!(["user01"])), "the owner is told: {messages:?}");
    }

    async fn a_device_makes_nobody_an_agent() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        let token = administrator(&app, &platform, &mut client).await;
        let (device, _) = client.bind_device(&token, &app.clock).await;
        // For a node of the previous version, the row is a disabled agent record with the role `user`.
        let row = "SELECT role_id, device_only FROM agent WHERE employee_key = 'user01' AND disabled_at IS NOT NULL";
        assert_eq!(app.query(row), ["3|1"]);
        is_refused(&mut client, &token, "/api/agents/password", json!({ "new_password": PASSWORD }), "not_an_agent").await;
        let code = platform.code(&mut client, "user01").await;
        is_refused(&mut client, &token, "/api/agents/login", json!({ "employee_id": "user01", "code": code }), "not_an_agent").await;
        client.agent_login("user01", PASSWORD).await.refused(401, 1011);
        for (query, found) in [("", None), ("?devices=true", Some(false))] {
            let listed = listed(&mut client, &token, query).await;
            assert_eq!(listed.iter().find(|(who, _)| who == "user01").map(|(_, agent)| *agent), found, "{query}");
            assert!(listed.contains(&("agent01".to_owned(), true)), "{query}: {listed:?}");
        }
        let reset = client.post_with_otp(&token, "/api/admin/agents/user01/reset-password", Some(&device.next_code())).await;
        reset.refused(404, 1004);
        for (operation, done) in [
            ("disable", app.auth().operator().disable_agent(app.key("user01")).await.map(drop)),
            ("enable", app.auth().operator().enable_agent(app.key("user01")).await),
            ("role", app.auth().operator().set_agent_role(app.key("user01"), "admin").await.map(drop)),
            ("password", app.auth().operator().reset_password(app.key("user01")).await.map(drop)),
        ] {
            assert!(done.is_err(), "{operation}");
        }
        // Without any role, the row gives none.
        for role in ["admin", "user"] {
            app.auth().operator().revoke(app.key("user01"), role).await.unwrap();
        }
        let token = platform.sign_in(&mut client, "user01").await;
        assert_eq!(client.verify(&token).await["roles"], json!(["user"]), "of default_role");
        assert_eq!(app.query("SELECT password_hash FROM agent WHERE employee_key = 'user01'"), ["-"]);
    }

    async fn every_role_but_user_allows_a_device_and_without_it_the_device_opens_nothing() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        let key = || app.key("user01");
        let user = platform.sign_in(&mut client, "user01").await;
        assert_eq!(status(&mut client, &user).await["may_bind"], false);
        is_refused(&mut client, &user, SETUP, json!({}), "device_not_allowed").await;
        assert_eq!(app.query("SELECT count(*) FROM agent WHERE employee_key = 'user01'"), ["0"]);
        let mut device = None;
        for role in ["admin", "supervisor", "security", "agent"] {
            app.auth().operator().grant(key(), role).await.unwrap();
            let token = platform.sign_in(&mut client, "user01").await;
            let known: Option<Device> = device.take();
            let now = match known {
                Some(known) => known,
                None => client.bind_device(&token, &app.clock).await.0,
            };
            show(&mut client, &token, "verify", &now.next_code()).await.data();
            app.auth().operator().revoke(key(), role).await.unwrap();
            client.switch(&token, "user").await.data();
            for step in ["verify", "unbind", "bind"] {
                let refused = show(&mut client, &token, step, &now.next_code()).await;
                assert_eq!(refused.refused(403, 1003).reason(), "device_not_allowed", "{role}: {step}");
            }
            let seen = status(&mut client, &token).await;
            assert_eq!((&seen["bound"], &seen["confirms_changes"]), (&json!(false), &json!(false)), "{role}");
            device = Some(now);
        }
        let log = "SELECT reason, count(*) FROM login_log WHERE event = 'otp_refused' GROUP BY reason";
        assert_eq!(app.query(log), ["device_not_allowed|13"]);
    }

    /// The platform reaches nobody of a connected corporation: administrators of the main one get the message, but no flood of them.
    async fn administrators_learn_of_the_device_of_somebody_whom_messages_do_not_reach(app) {
        let key = EmployeeKey::from_parts("wwpartner", "boss");
        let roles = Roles::NONE.with(Role::Supervisor);
        app.auth().operator().add_employee(Person { roles, ..Person::new(key, "boss") }).await.unwrap();
        let mut client = app.client().await;
        let boss = json!({ "employee_id": "boss", "corp_id": "wwpartner" });
        let token = client.post("/api/dev/login", &[], &boss).await.data()["token"].as_str().unwrap().to_owned();
        for bound in 1..=4 {
            let (device, _) = client.bind_device(&token, &app.clock).await;
            settled(&app).await;
            let messages = inbox(&mut client).await;
            assert_eq!(messages.len(), bound.min(3), "{messages:?}");
            for message in &messages {
                assert_eq!(message["touser"], json!(["admin01"]));
                let text = message["text"]["content"].as_str().unwrap();
                assert!(text.contains("wwpartner/boss of a connected corporation set up an authenticator"), "{text}");
                assert!(text.contains("互联企业的 wwpartner/boss 绑定了身份验证器"), "{text}");
            }
            show(&mut client, &token, "unbind", &device.next_code()).await.data();
        }
    }

    /// Another node takes the role away, and this one has not noticed when it checks the request.
    async fn a_right_that_ends_during_a_request_is_the_reason_of_the_refusal() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        let token = administrator(&app, &platform, &mut client).await;
        client.switch(&token, "user").await.data();
        let setup = client.post_as(&token, SETUP, &json!({})).await.data();
        let device = Device::scan(&setup, &app.clock);
        app.query("DELETE FROM user_role WHERE employee_key = 'user01' AND role_id = 1");
        is_refused(&mut client, &token, "/api/auth/otp-bind", json!({ "code": device.code() }), "device_not_allowed").await;
        is_refused(&mut client, &token, SETUP, json!({}), "device_not_allowed").await;
    }

    async fn a_stolen_session_of_an_administrator_gains_no_device() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        let stolen = administrator(&app, &platform, &mut client).await;
        app.clock.advance(Duration::from_mins(5));
        is_refused(&mut client, &stolen, SETUP, json!({}), "recent_sign_in_needed").await;
        is_refused(&mut client, &stolen, SETUP, json!({ "setup_code": "aaaa-bbbb-cccc-dddd" }), "setup_code").await;
        // The owner begins a setup, which the thief cannot finish.
        let own = platform.sign_in(&mut client, "user01").await;
        let setup = client.post_as(&own, SETUP, &json!({})).await.data();
        let device = Device::scan(&setup, &app.clock);
        assert_eq!(show(&mut client, &stolen, "bind", &device.code()).await.refused(409, 1019).reason(), "setup_over");
        show(&mut client, &own, "bind", &device.code()).await.data();
        show(&mut client, &own, "unbind", &device.next_code()).await.data();
        // Only an administrator's code helps in an old session, and it is for a device alone.
        let code = app.auth().operator().reset_device(app.key("user01")).await.unwrap().code.text();
        use_setup_code(&mut client, "user01", &code).await.refused(403, 1003);
        let setup = client.post_as(&stolen, SETUP, &json!({ "setup_code": code })).await.data();
        let device = Device::scan(&setup, &app.clock);
        show(&mut client, &stolen, "bind", &device.code()).await.data();
    }

    /// The first device of an employee makes a row: two sessions that begin at once do not disturb each other.
    async fn setups_at_once_make_one_row() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        administrator(&app, &platform, &mut client).await;
        let mut clients = [app.client().await, app.client().await];
        let tokens = [platform.sign_in(&mut clients[0], "user01").await, platform.sign_in(&mut clients[1], "user01").await];
        let [one, other] = &mut clients;
        let none = json!({});
        let (first, second) = tokio::join!(one.post_as(&tokens[0], SETUP, &none), other.post_as(&tokens[1], SETUP, &none));
        let devices = [first.data(), second.data()].map(|setup| Device::scan(&setup, &app.clock));
        let mut bound = 0;
        for (token, device) in tokens.iter().zip(&devices) {
            bound += usize::from(show(&mut client, token, "bind", &device.code()).await.status == 200);
        }
        assert_eq!((bound, app.query("SELECT count(*) FROM agent WHERE employee_key = 'user01'")), (1, vec!["1".to_owned()]));
    }

    async fn an_agent_record_takes_the_device_over_and_disables_it() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        let token = administrator(&app, &platform, &mut client).await;
        let (device, _) = client.bind_device(&token, &app.clock).await;
        app.auth().operator().add_agent(app.key("user01"), "agent").await.unwrap();
        assert!(app.auth().operator().add_agent(app.key("user01"), "agent").await.is_err(), "they are an agent now");
        set_password(&mut client, &token, &json!({ "new_password": PASSWORD })).await.data();
        let half = client.partial_sign_in("user01").await;
        let whole = show(&mut client, &half, "verify", &device.next_code()).await.data();
        assert_eq!(whole["roles"], json!(["admin", "user"]), "the device was proven");
        change_a_role(&mut client, &token, &device).await;
        app.auth().operator().disable_agent(app.key("user01")).await.unwrap();
        let refused = client.admin_request(&token, &device.next_code(), "PUT", ROLES, &json!({})).await;
        assert_eq!(refused.refused(403, 1003).reason(), "device_not_allowed");
        assert_eq!(status(&mut client, &token).await["may_bind"], false);
        app.auth().operator().enable_agent(app.key("user01")).await.unwrap();
        change_a_role(&mut client, &token, &device).await;
    }

    async fn wrong_codes_lock_the_device_and_another_administrator_unlocks_and_resets_it() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        let token = administrator(&app, &platform, &mut client).await;
        let (device, _) = client.bind_device(&token, &app.clock).await;
        let other = platform.sign_in(&mut client, "admin01").await;
        let (others, _) = client.bind_device(&other, &app.clock).await;
        for _ in 0..5 {
            show(&mut client, &token, "verify", &device.wrong_code()).await.refused(401, 1008);
            client.agent_login("user01", PASSWORD).await.refused(401, 1011);
        }
        show(&mut client, &token, "verify", &device.next_code()).await.refused(429, 1013);
        let unlock = "/api/admin/agents/user01/unlock";
        client.post_with_otp(&other, unlock, Some(&others.next_code())).await.data();
        show(&mut client, &token, "verify", &device.next_code()).await.data();
        client.agent_login("user01", PASSWORD).await.refused(429, 1013);
        // An administrator who never had a device is neither locked nor unknown; a person with the role `user` is no owner of one.
        app.auth().operator().grant(app.key("norole01"), "admin").await.unwrap();
        client.post_with_otp(&other, "/api/admin/agents/norole01/unlock", Some(&others.next_code())).await.data();
        app.auth().operator().revoke(app.key("norole01"), "admin").await.unwrap();
        let code = others.next_code();
        for path in ["unlock", "reset-otp"] {
            client.post_with_otp(&other, &format!("/api/admin/agents/norole01/{path}"), Some(&code)).await.refused(404, 1004);
        }
        let reset = client.post_with_otp(&other, "/api/admin/agents/user01/reset-otp", Some(&code)).await.data();
        assert_eq!(status(&mut client, &token).await["bound"], false);
        let setup = client.post_as(&token, SETUP, &json!({ "setup_code": reset["setup_code"] })).await.data();
        let device = Device::scan(&setup, &app.clock);
        show(&mut client, &token, "bind", &device.code()).await.data();
        change_a_role(&mut client, &token, &device).await;
    }

    /// Pages read the state of the authenticator before each change: administrators behind one address must still bind theirs.
    async fn the_state_of_an_authenticator_uses_no_limit_up() {
        let app = TestApp::with(settings(&[("development.enabled", "true"), ("limits.enabled", "true")])).await;
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        for _ in 0..30 {
            client.get_as(&token, "/api/auth/otp-status").await.data();
        }
        client.bind_device(&token, &app.clock).await;
    }
}
