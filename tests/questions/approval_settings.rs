//! What confirms an operation of high risk is a setting: one-time passwords, phones, or either.

use serde_json::Value;

use super::CREATE_KEY;
use crate::harness::{Client, TestApp, development};
use crate::notices::{inbox, settled};

/// Whether a one-time password and a phone confirm operations of this session, as pages learn it.
async fn ways(client: &mut Client, token: &str) -> [Value; 2] {
    let status = client.get_as(token, "/api/auth/otp-status").await.data();
    ["confirms_changes", "phone_approval"].map(|way| status[way].clone())
}

on_one_store! {
    async fn where_only_one_time_passwords_count_no_phone_is_asked() {
        let app = TestApp::with(development(&[("approval.methods", "otp")])).await;
        let mut client = app.client().await;
        let (token, device) = app.administrator().await;
        assert_eq!(ways(&mut client, &token).await, [true, false]);
        assert_eq!(CREATE_KEY.ask(&mut client, &token).await.refused(403, 1003).reason(), "approvals_off");
        let answer = CREATE_KEY.send(&mut client, &token, "dpu_x").await;
        assert_eq!(answer.refused(403, 1007).reason(), "otp_needed");
        assert!(answer.header("www-authenticate").unwrap().contains("acr_values=\"otp\""), "{answer:?}");
        let code = device.next_code();
        CREATE_KEY.send_with(&mut client, &token, &[("x-otp-code", &code)]).await.data();
        settled(&app).await;
        let messages = inbox(&mut client).await;
        assert!(messages.iter().all(|message| message["url"].is_null()), "{messages:?}");
    }

    async fn where_only_phones_count_a_one_time_password_is_not_looked_at() {
        let app = TestApp::with(development(&[("approval.methods", "phone")])).await;
        let mut client = app.client().await;
        let (token, device) = app.administrator().await;
        assert_eq!(ways(&mut client, &token).await, [false, true]);
        let code = device.next_code();
        for confirmed_with in [&[][..], &[("x-otp-code", &*code)]] {
            let answer = CREATE_KEY.send_with(&mut client, &token, confirmed_with).await;
            assert_eq!(answer.refused(403, 1007).reason(), "approval_needed");
            assert!(answer.header("www-authenticate").unwrap().contains("acr_values=\"phone\""), "{answer:?}");
        }
        let approval = CREATE_KEY.approved(&mut client, &token, "admin01").await;
        CREATE_KEY.send(&mut client, &token, &approval).await.data();
    }

    /// A person without a device can approve; a person of another corporation has only the device.
    async fn where_both_count_each_is_offered_to_those_who_have_it(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        assert_eq!(ways(&mut client, &token).await, [false, true]);
        let approval = CREATE_KEY.approved(&mut client, &token, "admin01").await;
        CREATE_KEY.send(&mut client, &token, &approval).await.data();
        let (partner, _) = app.partner_administrator().await;
        assert_eq!(ways(&mut client, &partner).await, [true, false]);
        assert_eq!(CREATE_KEY.ask(&mut client, &partner).await.refused(403, 1003).reason(), "cannot_ask");
    }
}
