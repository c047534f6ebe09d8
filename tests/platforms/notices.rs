//! Notices to agents through every platform.

use std::time::Duration;

use serde_json::{Value, json};

use super::clear;
use crate::harness::{Messenger, message_text, until};
use crate::notices::{inbox, settled};

on_every_platform! {
    both stores:
    async fn a_notice_reaches_its_agent_once_in_both_languages(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        until("a notice", async || !inbox(&mut client).await.is_empty()).await;
        settled(&app).await;
        let messages = inbox(&mut client).await;
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert_eq!(messages[0]["touser"], json!(["agent01"]));
        let text = message_text(&messages[0]);
        for words in ["the password of your account was changed", "您的账号密码已修改"] {
            assert!(text.contains(words), "{text}");
        }
        assert!(!Messenger::current().other_titles().iter().any(|title| text.contains(title)), "{text}");
        assert_eq!(client.calls(Messenger::current().message).await, 1);
    }
}

on_every_platform! {
    async fn a_notice_without_a_known_recipient_is_given_up(app) {
        let (mut client, messenger) = (app.client().await, Messenger::current());
        app.add("ghost01", deskpass_core::Role::Agent).await;
        app.auth().operator().add_agent(app.key("ghost01"), "agent").await.unwrap();
        client.first_password("ghost01").await;
        settled(&app).await;
        client.set_fault(&json!({ "api": messenger.message, "errcode": Value::from(messenger.no_recipient) })).await;
        client.first_password("agent01").await;
        settled(&app).await;
        assert_eq!((client.calls(messenger.message).await, inbox(&mut client).await.len()), (2, 0));
    }

    /// A platform that does not take messages now fails temporarily, and no request waits for it.
    async fn a_notice_that_came_at_a_bad_moment_is_sent_again(app) {
        let (mut client, messenger) = (app.client().await, Messenger::current());
        for (employee, fault) in [
            ("agent01", json!({ "errcode": Value::from(messenger.no_messages) })),
            ("admin01", json!({ "drop": true })),
            ("supervisor01", json!({ "http_status": 500 })),
        ] {
            let mut fault = fault;
            (fault["api"], fault["times"]) = (json!(messenger.message), json!(0));
            clear(&mut client, "calls").await;
            clear(&mut client, "inbox").await;
            client.set_fault(&fault).await;
            client.first_password(employee).await;
            until("it was rejected", async || client.calls(messenger.message).await >= 1).await;
            clear(&mut client, "faults").await;
            // The pause begins when the client has read the response, which the test cannot observe.
            until("it is sent again", async || {
                app.clock.advance(Duration::from_mins(1));
                app.auth().notices_due.notify_one();
                inbox(&mut client).await.len() == 1
            })
            .await;
            settled(&app).await;
            assert_eq!(inbox(&mut client).await.len(), 1, "{fault}");
        }
    }

    /// A sign-in from a new network sends a notice, with the words of the phone's own platform.
    async fn a_qr_sign_in_from_a_new_network_sends_a_notice(app) {
        let mut client = app.client().await;
        let browser = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/126.0.0.0 Safari/537.36";
        let computer = [("x-forwarded-for", "203.0.113.9"), ("user-agent", browser)];
        let code = client.get("/api/auth/qrcode", &computer).await.data();
        let confirm = client.scan_as(&code, "user01").await;
        client.decide("confirm", &confirm).await.data();
        settled(&app).await;
        let messages = inbox(&mut client).await;
        assert_eq!(messages.len(), 1, "{messages:?}");
        let text = message_text(&messages[0]);
        for words in ["203.0.113.9", "Chrome on Windows", "That was not me", "不是我本人"] {
            assert!(text.contains(words), "no {words:?} in {text:?}");
        }
    }
}
