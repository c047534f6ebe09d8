//! What the back end gets, and what the employee is told.

use std::process::Command;

use serde_json::{Value, json};

use super::{option, reply, text};
use crate::harness::BackendAnswer::{Close, Endless, Hang, Redirect, Status};
use crate::harness::{Client, REPLY_SECRET, ReceivedReply, ReplyBackend, until};

/// The Python function of docs/api.md that checks a signature.
pub(super) fn documented_check() -> &'static str {
    let (_, after) = include_str!("../../../../docs/api.md").split_once("```python\n").expect("an example");
    after.split_once("```").expect("its end").0
}

/// Whether the documented function takes this for a genuine reply, at this time.
fn is_genuine(received: &ReceivedReply, body: &str, now: &str) -> bool {
    let script = format!(
        "{}\nimport sys\n_, secret, sent_at, signature, body, now = sys.argv\n\
         headers = {{\"x-deskpass-timestamp\": sent_at, \"x-deskpass-signature\": signature}}\n\
         print(is_genuine(secret, headers, body.encode(), int(now)))",
        documented_check()
    );
    let (sent_at, signature) = (received.header("x-deskpass-timestamp"), received.header("x-deskpass-signature"));
    let output = Command::new("python3")
        .args(["-c", &script, REPLY_SECRET, sent_at, signature, body, now])
        .output()
        .expect("python3; tools/schemathesis needs it too");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim() == "True"
}

async fn failure(client: &mut Client, token: &str, status: u16) -> String {
    let answer = reply(client, token, &text("hello")).await;
    answer.refused(status, 1005);
    answer.json()["message"].as_str().unwrap().to_owned()
}

on_one_store! {
    async fn the_back_end_gets_a_signed_reply_and_the_docs_say_how_to_check_it() {
        let backend = ReplyBackend::start().await;
        let app = backend.service().await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let chosen = json!({ "label": "手机", "value": 7 });
        let sent = reply(&mut client, &token, &option(&chosen)).await.data();
        let received = backend.take().remove(0);
        let id = received.header("x-deskpass-delivery").to_owned();
        assert_eq!(sent, json!({ "delivered": true, "id": id }));
        assert_eq!((id.len(), &*received.path), (32, "/replies"));
        assert_eq!(received.header("content-type"), "application/json");
        let body: Value = serde_json::from_str(&received.body).unwrap();
        let employee = json!({ "corp_id": "wwdeskpass", "employee_id": "user01", "name": "Uma User" });
        assert_eq!(body, json!({
            "id": id, "message_id": "1800000000000-0", "option": chosen, "employee": employee, "role": "user",
            "at": "2027-01-15T08:00:00Z",
        }));
        assert_eq!(received.header("x-deskpass-timestamp"), "1800000000");
        assert!(is_genuine(&received, &received.body, "1800000299"));
        assert!(!is_genuine(&received, &received.body, "1800000301"), "too old");
        assert!(!is_genuine(&received, &received.body.replace("手机", "电脑"), "1800000000"), "another body");

        // A second press of the same option is the same delivery; a text is a new one each time.
        assert_eq!(reply(&mut client, &token, &option(&chosen)).await.data()["id"], id);
        let other = [option(&json!("电脑")), text("hello"), text("hello")];
        let mut ids = vec![id];
        for body in other {
            ids.push(reply(&mut client, &token, &body).await.data()["id"].as_str().unwrap().to_owned());
        }
        let colleague = client.sign_in("agent01").await;
        ids.push(reply(&mut client, &colleague, &option(&chosen)).await.data()["id"].as_str().unwrap().to_owned());
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 5);
        let last: Value = serde_json::from_str(&backend.take().pop().unwrap().body).unwrap();
        assert_eq!((&last["role"], &last["employee"]["employee_id"]), (&json!("agent"), &json!("agent01")));
    }

    async fn a_back_end_that_fails_for_a_moment_gets_the_same_delivery_again() {
        let backend = ReplyBackend::start().await;
        let app = backend.service().await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        for first in [[Status(503), Status(429)], [Close, Close], [Status(500), Close]] {
            backend.plan(&first);
            reply(&mut client, &token, &text("hello")).await.data();
            let received = backend.take();
            assert_eq!(received.len(), 3, "{first:?}");
            assert!(received.iter().all(|one| one.body == received[0].body));
        }
        // An endless body is not read.
        backend.plan(&[Endless]);
        reply(&mut client, &token, &text("hello")).await.data();
        assert_eq!(backend.take().len(), 1);
        let metrics = client.get("/metrics", &[]).await.body;
        assert!(metrics.contains("deskpass_replies_total{outcome=\"delivered\"} 4"), "{metrics}");
    }

    async fn an_employee_is_told_what_was_not_accepted() {
        let backend = ReplyBackend::start().await;
        let app = backend.service().await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        for (answers, attempts) in [
            (vec![Status(503); 3], 3),
            (vec![Status(400)], 1),
            (vec![Status(404)], 1),
            (vec![Status(302)], 1),
            (vec![Redirect], 1),
        ] {
            backend.plan(&answers);
            let message = failure(&mut client, &token, 502).await;
            assert!(message.starts_with("The reply was not confirmed: help desk did not accept it (status "), "{message}");
            let received = backend.take();
            assert!(received.iter().all(|one| one.path == "/replies"), "{received:?}");
            assert_eq!(received.len(), attempts, "{answers:?}");
        }
        backend.plan(&[Close; 3]);
        let message = failure(&mut client, &token, 504).await;
        assert!(message.contains("help desk unreachable"), "{message}");
        assert_eq!(backend.take().len(), 3);
    }

    /// This waits for the real timeout, of five seconds in all.
    async fn a_back_end_that_hangs_holds_few_requests_and_not_for_long() {
        let backend = ReplyBackend::start().await;
        let app = backend.service().await;
        let token = app.client().await.sign_in("user01").await;
        backend.plan(&[Hang; 1_000]);
        let began = std::time::Instant::now();
        let mut waiting = tokio::task::JoinSet::new();
        for _ in 0..64 {
            let (mut client, token) = (app.client().await, token.clone());
            waiting.spawn(async move { failure(&mut client, &token, 504).await });
        }
        until("all are on their way", async || backend.count() >= 64).await;
        let mut client = app.client().await;
        let refused = reply(&mut client, &token, &text("one too many")).await;
        assert_eq!(refused.refused(429, 1006).header("retry-after"), Some("1"));
        waiting.join_all().await;
        assert!(began.elapsed() < std::time::Duration::from_secs(15), "{:?}", began.elapsed());
        let received = backend.take();
        assert!(received.len() <= 64 * 3 && !received.iter().any(|one| one.body.contains("one too many")));
    }
}
