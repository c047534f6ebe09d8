//! The way of a question to a phone and back, on every platform.

use serde_json::{Value, json};

use super::{Asked, CREATE_KEY, Subject, ask_caller, askers_of, open, rows_of};
use crate::harness::{Client, Messenger, Response, TestApp, fragment};
use crate::notices::inbox;

const PHONE: &str =
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148";
const COMPUTER: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/126.0.0.0 Safari/537.36";

/// Picks a number in a browser with this user agent.
async fn pick_in(client: &mut Client, user_agent: &str, secret: &str, number: u64) -> Response {
    let body = json!({ "approval": secret, "number": number });
    client.post("/api/auth/approvals/answer", &[("user-agent", user_agent)], &body).await
}

on_every_platform! {
    async fn a_question_reaches_the_person_and_its_answer_comes_back(app) {
        let (mut client, messenger) = (app.client().await, Messenger::current());
        let admin = client.sign_in("admin01").await;
        let approval = Asked::of(&CREATE_KEY.ask(&mut client, &admin).await);
        let secret = open(&mut client, "admin01").await;
        Subject::Approval.pick(&mut client, &secret, approval.number).await.data();
        CREATE_KEY.send(&mut client, &admin, &approval.id).await.data();

        let caller = Asked::of(&ask_caller(&mut client, &admin, "user01").await);
        let link = client.link_sent_to("user01").await;
        let landed = client.follow_link(&link, "user01").await;
        assert!(landed.starts_with(&format!("http://{}/verify/#answer=dpy_", app.address)), "{landed}");
        Subject::Caller.pick(&mut client, &fragment(&landed, "answer"), caller.number).await.data();
        assert_eq!(Subject::Caller.status(&mut client, &admin, &caller.id).await, "verified");

        let messages = inbox(&mut client).await;
        assert_eq!((messages.len(), client.calls(messenger.message).await), (2, 2), "{messages:?}");
        for (message, asked) in messages.iter().zip([&approval, &caller]) {
            let text = message.to_string();
            assert!(!messenger.other_titles().iter().any(|title| text.contains(title)), "{text}");
            // What the session that asked has is not in the message, or its reader could use the approval.
            assert!(!text.contains(&asked.id[4..47]), "{text}");
        }
        assert!(messages[1].to_string().contains("Ada Admin"), "{messages:?}");
    }

    async fn only_the_person_who_was_asked_opens_it(app) {
        let mut client = app.client().await;
        let admin = client.sign_in("admin01").await;
        let asked = Asked::of(&CREATE_KEY.ask(&mut client, &admin).await);
        let link = client.link_sent_to("admin01").await;
        let landed = client.follow_link(&link, "agent01").await;
        assert!(landed.starts_with(&format!("http://{}/scan/#error=not_asked&code=1003&ref=", app.address)), "{landed}");
        assert_eq!(rows_of(&app, "question_refused"), ["agent01|not_asked|"]);
        // A question is no sign-in, and nobody was signed in.
        assert_eq!(app.query("SELECT employee_key FROM session"), ["admin01"]);
        let secret = open(&mut client, "admin01").await;
        Subject::Approval.pick(&mut client, &secret, asked.number).await.data();
        let landed = client.follow_link(&link, "admin01").await;
        assert_eq!((fragment(&landed, "error"), fragment(&landed, "code")), ("question_over".into(), "1019".into()));
    }

    /// A question that did not reach its person is forgotten, and its asker is told why.
    async fn a_question_that_cannot_be_delivered_is_not_asked(app) {
        let (mut client, messenger) = (app.client().await, Messenger::current());
        let (admin, employee) = (client.sign_in("admin01").await, client.sign_in("user01").await);
        let no_recipient = json!({ "api": messenger.message, "errcode": Value::from(messenger.no_recipient) });
        client.set_fault(&no_recipient).await;
        assert_eq!(ask_caller(&mut client, &admin, "user01").await.refused(403, 1003).reason(), "cannot_ask");
        client.set_fault(&no_recipient).await;
        assert_eq!(CREATE_KEY.ask(&mut client, &admin).await.refused(403, 1003).reason(), "cannot_ask");
        ask_caller(&mut client, &admin, "agent01").await.data();
        client.set_fault(&json!({ "api": messenger.message, "drop": true, "times": 0 })).await;
        let answer = ask_caller(&mut client, &admin, "user01").await;
        assert!(answer.status >= 500 && answer.code() == 1005, "{answer:?}");
        assert!(askers_of(&mut client, &employee).await.is_empty());
        assert_eq!(inbox(&mut client).await.len(), 1);
    }

    /// In production, a computer is no phone: otherwise the computer that asks could also answer.
    async fn in_production_only_a_phone_opens_and_answers() {
        let (app, platform) = TestApp::production_with_platform(&[("approval.methods", "phone")]).await;
        app.auth().seed_dev_users().await.unwrap();
        let (mut client, mut control) = (app.client().await, platform.client().await);
        let code = client.qrcode().await;
        let confirm = fragment(&platform.scan(&mut client, &code, "admin01").await, "confirm");
        client.decide("confirm", &confirm).await.data();
        let status = client.scan_status(code["ticket"].as_str().unwrap()).await;
        let token = status["token"].as_str().unwrap();
        let asked = Asked::of(&CREATE_KEY.ask(&mut client, token).await);
        let link = control.link_sent_to("admin01").await;
        let landed = platform.open_link(&mut client, &link, "admin01", COMPUTER).await;
        let page = "https://desk.example.com/scan/#error=phone_needed&code=1003&ref=";
        assert!(landed.starts_with(page), "{landed}");
        let landed = platform.open_link(&mut client, &link, "admin01", PHONE).await;
        assert!(landed.starts_with("https://desk.example.com/approve/#answer=dpy_"), "{landed}");
        let secret = fragment(&landed, "answer");
        let refused = pick_in(&mut client, COMPUTER, &secret, asked.number).await;
        assert_eq!(refused.refused(403, 1003).reason(), "phone_needed");
        pick_in(&mut client, PHONE, &secret, asked.number).await.data();
        CREATE_KEY.send(&mut client, token, &asked.id).await.data();
    }
}
