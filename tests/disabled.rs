//! Disabled agents and employees: none of their pending sign-ins is completed.

use serde_json::json;

use crate::harness::{PASSWORD, StoreBackend};
use crate::sign_in_proof::{OTHER, equip, production, set_password, show};

on_every_store! {
    async fn an_agent_who_is_disabled_keeps_what_the_platform_gives() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        app.auth().operator().add_agent(app.key("norole01"), "agent").await.unwrap();
        let default_role_token = platform.sign_in(&mut client, "norole01").await;
        assert_eq!(client.verify(&default_role_token).await["roles"], json!(["agent"]));
        let device = equip(&app, &platform, "agent01").await;
        let half = client.partial_sign_in("agent01").await;
        let whole = show(&mut client, &half, "verify", &device.next_code()).await.data();
        let (whole, half) = (whole["token"].as_str().unwrap(), client.partial_sign_in("agent01").await);
        let platforms = platform.sign_in(&mut client, "agent01").await;
        assert_eq!(app.auth().operator().disable_agent(app.key("agent01")).await.unwrap(), 1);
        assert_eq!(app.auth().operator().disable_agent(app.key("norole01")).await.unwrap(), 1);

        for ended in [whole, &default_role_token] {
            assert_eq!(client.me(ended).await.refused(401, 1001).reason(), "disabled");
        }
        assert_eq!(show(&mut client, &half, "verify", &device.next_code()).await.refused(401, 1001).reason(), "disabled");
        client.agent_login("agent01", PASSWORD).await.refused(401, 1011);
        let code = platform.code(&mut client, "agent01").await;
        let refused = client.post("/api/agents/login", &[], &json!({ "employee_id": "agent01", "code": code })).await;
        assert_eq!(refused.refused(403, 1003).reason(), "not_an_agent");
        assert_eq!(client.verify(&platforms).await["roles"], json!(["agent", "user"]));
        for (who, roles) in [("agent01", json!(["agent", "user"])), ("norole01", json!(["user"]))] {
            let token = platform.sign_in(&mut client, who).await;
            assert_eq!(client.verify(&token).await["roles"], roles);
            set_password(&mut client, &token, &json!({ "new_password": OTHER })).await.refused(403, 1003);
        }
        app.auth().operator().enable_agent(app.key("agent01")).await.unwrap();
        let half = client.partial_sign_in("agent01").await;
        show(&mut client, &half, "verify", &device.next_code()).await.data();
    }

    async fn an_employee_who_is_disabled_is_not_half_way_in_either() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        let device = equip(&app, &platform, "agent01").await;
        let half = client.partial_sign_in("agent01").await;
        app.auth().operator().disable(app.key("agent01")).await.unwrap();
        for path in ["verify", "bind", "unbind"] {
            assert_eq!(show(&mut client, &half, path, &device.next_code()).await.refused(401, 1001).reason(), "disabled");
        }
        client.agent_login("agent01", PASSWORD).await.refused(401, 1011);
        app.auth().operator().enable(app.key("agent01")).await.unwrap();
        // The partial session stays ended.
        assert_eq!(show(&mut client, &half, "verify", &device.code()).await.refused(401, 1001).reason(), "disabled");
        let half = client.partial_sign_in("agent01").await;
        show(&mut client, &half, "verify", &device.code()).await.data();
    }

    async fn an_agent_locked_out_by_wrong_codes_does_not_sign_in_by_a_right_code() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        let device = equip(&app, &platform, "agent01").await;
        let half = client.partial_sign_in("agent01").await;
        for _ in 0..5 {
            show(&mut client, &half, "verify", &device.wrong_code()).await.refused(401, 1008);
        }
        for code in [device.next_code(), device.recovery_codes[0].clone()] {
            show(&mut client, &half, "verify", &code).await.refused(429, 1013);
        }
        assert_eq!(app.query("SELECT count(*) FROM session WHERE login_method = 'password'"), ["0"]);
        // The sign-in through the platform stays open, and time or an administrator lifts the lockout.
        platform.sign_in(&mut client, "agent01").await;
        app.auth().operator().unlock_agent(app.key("agent01")).await.unwrap();
        show(&mut client, &half, "verify", &device.next_code()).await.data();
    }

    async fn a_disabled_agent_completes_no_sign_in() {
        let (app, platform) = production(&[]).await;
        let device = equip(&app, &platform, "agent01").await;
        let mut client = app.client().await;
        let key = || app.key("agent01");
        for round in 0..StoreBackend::current().rounds(60) {
            let (half, code) = (client.partial_sign_in("agent01").await, device.next_code());
            let disable = async {
                for _ in 0..round % 6 * 20 {
                    tokio::task::yield_now().await;
                }
                if round % 2 == 0 { app.auth().operator().disable_agent(key()).await } else { app.auth().operator().disable(key()).await }
            };
            let (completed, disabled) = tokio::join!(show(&mut client, &half, "verify", &code), disable);
            disabled.unwrap();
            if round % 2 == 0 { app.auth().operator().enable_agent(key()).await } else { app.auth().operator().enable(key()).await }.unwrap();
            if completed.status == 200 {
                assert!(!client.is_valid(completed.data()["token"].as_str().unwrap()).await);
            }
            assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
            app.auth().operator().unlock_agent(key()).await.unwrap();
        }
    }

    /// The default role ends with the agent record that grants it, also for a sign-in under way.
    async fn a_disabled_agent_gets_no_default_role() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        app.auth().operator().add_agent(app.key("norole01"), "agent").await.unwrap();
        for round in 0..StoreBackend::current().rounds(200) {
            let code = platform.code(&mut client, "norole01").await;
            let ask = json!({ "employee_id": "norole01", "code": code });
            let disable = async {
                for _ in 0..round % 20 * 20 {
                    tokio::task::yield_now().await;
                }
                app.auth().operator().disable_agent(app.key("norole01")).await
            };
            let (login, disabled) = tokio::join!(client.post("/api/agents/login", &[], &ask), disable);
            disabled.unwrap();
            if login.status == 200 {
                let roles = client.verify(login.data()["token"].as_str().unwrap()).await["roles"].clone();
                assert_ne!(roles, json!(["agent"]), "round {round}: what a disabled record lends still counts");
            }
            app.auth().operator().enable_agent(app.key("norole01")).await.unwrap();
        }
    }
}
