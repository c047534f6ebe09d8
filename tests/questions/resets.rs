//! `verification.before_resets`: no password and no authenticator is reset for a caller who was not verified.

use std::time::Duration;

use deskpass_core::Role;

use super::{Asked, CREATE_KEY, Operation, Subject, VERIFIED_PERIOD, ask_caller, open, verify_caller};
use crate::harness::{Response, TestApp, development};

const RESET_OTP: &str = "/api/admin/agents/agent01/reset-otp";
const RESET_PASSWORD: &str = "/api/admin/agents/agent01/reset-password";

#[track_caller]
fn assert_not_verified(answer: &Response) {
    assert_eq!(answer.refused(403, 1003).reason(), "caller_not_verified");
}

on_every_store! {
    async fn a_reset_needs_a_caller_whom_the_same_administrator_verified() {
        let app = TestApp::with(development(&[("verification.before_resets", "true")])).await;
        let mut client = app.client().await;
        let (admin, device) = app.administrator().await;
        app.add("admin02", Role::Admin).await;
        let colleague = client.sign_in("admin02").await;
        let (other_device, _) = client.bind_device(&colleague, &app.clock).await;
        let code = device.next_code();
        for path in [RESET_OTP, RESET_PASSWORD] {
            assert_not_verified(&client.post_with_otp(&admin, path, Some(&code)).await);
        }
        // An employee who picks the wrong number is not verified.
        let asked = Asked::of(&ask_caller(&mut client, &admin, "agent01").await);
        let secret = open(&mut client, "agent01").await;
        Subject::Caller.pick_wrong(&mut client, &secret, &asked).await.refused(403, 1003);
        assert_not_verified(&client.post_with_otp(&admin, RESET_PASSWORD, Some(&code)).await);

        // What is verified at the moment of a refusal does not count, either.
        app.clock.advance(Duration::from_millis(1));
        verify_caller(&mut client, &admin, "agent01").await;
        // The code was not used up by the refusals.
        client.post_with_otp(&admin, RESET_PASSWORD, Some(&code)).await.data();
        client.post_with_otp(&admin, RESET_OTP, Some(&device.next_code())).await.data();
        // Each was reset once; the next caller is verified again.
        for path in [RESET_OTP, RESET_PASSWORD] {
            assert_not_verified(&client.post_with_otp(&admin, path, Some(&device.next_code())).await);
        }
        let elsewhere = RESET_OTP.replace("agent01", "supervisor01");
        assert_not_verified(&client.post_with_otp(&admin, &elsewhere, Some(&device.next_code())).await);
        assert_not_verified(&client.post_with_otp(&colleague, RESET_OTP, Some(&other_device.next_code())).await);
        app.clock.advance(VERIFIED_PERIOD);
        assert_not_verified(&client.post_with_otp(&admin, RESET_OTP, Some(&device.next_code())).await);
        // An operator at the command line knows who calls; other changes need no caller.
        app.auth().operator().reset_password(app.key("agent01")).await.unwrap();
        app.auth().operator().reset_device(app.key("agent01")).await.unwrap();
        let unlock = "/api/admin/agents/agent01/unlock";
        client.post_with_otp(&admin, unlock, Some(&device.next_code())).await.data();
    }

    /// Another person may have the telephone: the verification does not replace the confirmation of the administrator.
    async fn a_verified_caller_does_not_confirm_the_change() {
        let app = TestApp::with(development(&[("verification.before_resets", "true")])).await;
        let mut client = app.client().await;
        let admin = client.sign_in("admin01").await;
        let verified = verify_caller(&mut client, &admin, "agent01").await;
        let reset = Operation { path: RESET_PASSWORD, body: "", ..CREATE_KEY };
        reset.send(&mut client, &admin, &verified).await.refused(401, 1008);
        let approval = reset.approved(&mut client, &admin, "admin01").await;
        assert!(reset.send(&mut client, &admin, &approval).await.data()["setup_code"].is_string());
    }
}

on_one_store! {
    async fn without_the_setting_nobody_is_asked_before_a_reset(app) {
        let mut client = app.client().await;
        let (admin, device) = app.administrator().await;
        for path in [RESET_OTP, RESET_PASSWORD] {
            client.post_with_otp(&admin, path, Some(&device.next_code())).await.data();
        }
    }
}
