//! /api/auth/otp-status, otp-setup, otp-bind, otp-verify, otp-unbind

use serde_json::json;

use crate::harness::{Device, STEP};

on_every_store! {
    async fn a_device_is_set_up_bound_used_and_unbound(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        let status = client.get_as(&token, "/api/auth/otp-status").await.data();
        assert_eq!((&status["agent"], &status["bound"], &status["recovery_codes"]), (&json!(true), &json!(false), &json!(0)));
        client.post_as(&token, "/api/auth/otp-verify", &json!({ "code": "123456" })).await.refused(403, 1009);

        let (device, bound) = client.bind_device(&token, &app.clock).await;
        assert_eq!((device.recovery_codes.len(), bound.get("token")), (10, None));
        client.post_as(&token, "/api/auth/otp-setup", &json!({})).await.refused(409, 1010);
        client.post_as(&token, "/api/auth/otp-bind", &json!({ "code": device.code() })).await.refused(409, 1010);
        let status = client.get_as(&token, "/api/auth/otp-status").await.data();
        assert_eq!((&status["bound"], &status["recovery_codes"]), (&json!(true), &json!(10)));

        client.post_as(&token, "/api/auth/otp-verify", &json!({ "code": device.code() })).await.refused(401, 1008);
        let verified = client.post_as(&token, "/api/auth/otp-verify", &json!({ "code": device.next_code() })).await;
        assert_eq!(verified.data(), json!({ "verified": true }));
        client.post_as(&token, "/api/auth/otp-unbind", &json!({ "code": device.wrong_code() })).await.refused(401, 1008);
        client.post_as(&token, "/api/auth/otp-unbind", &json!({ "code": device.next_code() })).await.data();
        let status = client.get_as(&token, "/api/auth/otp-status").await.data();
        assert_eq!((&status["bound"], &status["recovery_codes"]), (&json!(false), &json!(0)));
    }

    async fn a_code_completes_a_partial_session_once(app) {
        let device = app.agent_with_device("agent01").await;
        let mut client = app.client().await;
        let (one, other) = (client.partial_sign_in("agent01").await, client.partial_sign_in("agent01").await);
        let code = device.next_code();
        let whole = client.post_as(&one, "/api/auth/otp-verify", &json!({ "code": code })).await.data();
        assert_eq!((&whole["login_method"], &whole["verified"]), (&json!("password"), &json!(true)));
        assert!(client.is_valid(whole["token"].as_str().unwrap()).await);
        client.post_as(&one, "/api/auth/otp-verify", &json!({ "code": code })).await.refused(401, 1001);
        client.post_as(&other, "/api/auth/otp-verify", &json!({ "code": code })).await.refused(401, 1008);
        app.clock.advance(STEP);
        client.post_as(&other, "/api/auth/otp-verify", &json!({ "code": code })).await.refused(401, 1008);
        let log = "SELECT event, reason, count(*) FROM login_log WHERE login_method = 'password' GROUP BY event, reason ORDER BY event";
        assert_eq!(app.query(log), ["sign_in|-|1", "sign_in_refused|otp_wrong|2"]);
    }

    async fn a_recovery_code_replaces_the_device_once(app) {
        let device = app.agent_with_device("agent01").await;
        let mut client = app.client().await;
        let (one, other) = (client.partial_sign_in("agent01").await, client.partial_sign_in("agent01").await);
        let code = device.recovery_codes[3].to_uppercase().replace('-', " ");
        let whole = client.post_as(&one, "/api/auth/otp-verify", &json!({ "code": code })).await.data();
        let token = whole["token"].as_str().unwrap();
        client.post_as(&other, "/api/auth/otp-verify", &json!({ "code": code })).await.refused(401, 1008);
        assert_eq!(client.get_as(token, "/api/auth/otp-status").await.data()["recovery_codes"], 9);
        let unbind = json!({ "code": device.recovery_codes[4] });
        client.post_as(token, "/api/auth/otp-unbind", &unbind).await.data();
        let (second, _) = client.bind_device(token, &app.clock).await;
        client.post_as(&other, "/api/auth/otp-verify", &json!({ "code": device.recovery_codes[5] })).await.refused(401, 1008);
        client.post_as(&other, "/api/auth/otp-verify", &json!({ "code": second.next_code() })).await.data();
    }

    async fn nothing_but_six_digits_is_a_code(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        let (device, _) = client.bind_device(&token, &app.clock).await;
        let code = device.next_code();
        let wide: String = code.chars().map(|c| char::from_u32(u32::from(c) + 0xfee0).unwrap()).collect();
        for near in [format!(" {code}"), format!("{code} "), format!("{code}0"), wide, code[..5].to_owned(), String::new()] {
            client.post_as(&token, "/api/auth/otp-verify", &json!({ "code": near })).await.refused(401, 1008);
        }
        client.post_as(&token, "/api/auth/otp-verify", &json!({ "code": code })).await.data();
    }

    async fn a_setup_that_is_over_binds_nothing(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        let over = client.post_as(&token, "/api/auth/otp-bind", &json!({ "code": "123456" })).await;
        assert_eq!(over.refused(409, 1019).reason(), "setup_over");
        let setup = client.post_as(&token, "/api/auth/otp-setup", &json!({})).await.data();
        assert_eq!(setup["expires_in"], 600);
        let device = Device::scan(&setup, &app.clock);
        client.post_as(&token, "/api/auth/otp-bind", &json!({ "code": device.wrong_code() })).await.refused(401, 1008);
        app.clock.advance(std::time::Duration::from_mins(10));
        client.post_as(&token, "/api/auth/otp-bind", &json!({ "code": device.code() })).await.refused(409, 1019);
    }

    async fn leaving_half_way_is_final(app) {
        let device = app.agent_with_device("agent01").await;
        let mut client = app.client().await;
        let half = client.partial_sign_in("agent01").await;
        client.logout(&half).await.data();
        let verify = client.post_as(&half, "/api/auth/otp-verify", &json!({ "code": device.next_code() })).await;
        assert_eq!(verify.refused(401, 1001).reason(), "signed_out");
        assert_eq!(client.logout(&half).await.refused(401, 1001).reason(), "signed_out");
    }
}
