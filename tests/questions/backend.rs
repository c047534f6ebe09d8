//! What the help desk's back end is told about callers.

use serde_json::{Value, json};

use super::{Asked, Subject, ask_caller, open};
use crate::harness::{BackendAnswer, ReceivedReply, ReplyBackend, until};

/// Waits for one message.
async fn told(backend: &ReplyBackend) -> (ReceivedReply, Value) {
    until("the back end is told", async || backend.count() > 0).await;
    let received = backend.take();
    assert_eq!(received.len(), 1, "{received:?}");
    let body = serde_json::from_str(&received[0].body).unwrap();
    (received[0].clone(), body)
}

on_one_store! {
    async fn every_answer_is_told_once_and_signed() {
        let backend = ReplyBackend::start().await;
        let app = backend.service().await;
        let mut client = app.client().await;
        let agent = client.sign_in("agent01").await;
        let mut ids = Vec::new();
        for status in ["verified", "refused", "wrong number"] {
            let answer = ask_caller(&mut client, &agent, "user01").await;
            let (asked, verification) = (Asked::of(&answer), answer.data()["verification"].clone());
            let secret = open(&mut client, "user01").await;
            assert_eq!(backend.count(), 0, "nothing was answered");
            match status {
                "verified" => drop(Subject::Caller.pick(&mut client, &secret, asked.number).await.data()),
                "refused" => drop(Subject::Caller.refuse(&mut client, &secret).await.data()),
                _ => drop(Subject::Caller.pick_wrong(&mut client, &secret, &asked).await),
            }
            let (received, body) = told(&backend).await;
            assert_eq!(body, json!({
                "id": body["id"], "type": "caller_verification", "verification": verification,
                "status": if status == "verified" { "verified" } else { "refused" },
                "employee": { "corp_id": "wwdeskpass", "employee_id": "user01", "name": "Uma User" },
                "agent": { "corp_id": "wwdeskpass", "employee_id": "agent01", "name": "Arno Agent" },
                "at": "2027-01-15T08:00:00Z",
            }));
            assert_eq!(received.header("x-deskpass-delivery"), body["id"]);
            assert_eq!(received.header("x-deskpass-timestamp"), "1800000000");
            assert!(received.header("x-deskpass-signature").starts_with("v1="));
            // The back end gets nothing with which a question could be answered, read or used.
            assert!(![&asked.id, &secret].iter().any(|hidden| received.body.contains(&hidden[4..47])), "{received:?}");
            ids.push(body["id"].clone());
            // The second answer of a phone tells nothing.
            Subject::Caller.refuse(&mut client, &secret).await.refused(409, 1019);
        }
        assert_eq!(backend.count(), 0);
        ids.dedup();
        assert_eq!(ids.len(), 3);
    }

    async fn a_back_end_that_fails_for_a_moment_gets_the_same_message_again_and_nobody_waits() {
        let backend = ReplyBackend::start().await;
        let app = backend.service().await;
        let mut client = app.client().await;
        let agent = client.sign_in("agent01").await;
        backend.plan(&[BackendAnswer::FailLater]);
        let asked = Asked::of(&ask_caller(&mut client, &agent, "user01").await);
        let secret = open(&mut client, "user01").await;
        // The answer comes while the back end has not answered.
        Subject::Caller.pick(&mut client, &secret, asked.number).await.data();
        assert_eq!(Subject::Caller.status(&mut client, &agent, &asked.id).await, "verified");
        until("the first attempt", async || backend.count() == 1).await;
        backend.fail_now.notify_one();
        until("the second attempt", async || backend.count() == 2).await;
        let received = backend.take();
        assert_eq!(received[0].header("x-deskpass-delivery"), received[1].header("x-deskpass-delivery"));
        assert_eq!(received[0].body, received[1].body);
    }
}
