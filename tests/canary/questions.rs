//! Questions to phones: what asks, opens, answers and approves.

use serde_json::json;

use super::{Scene, is_in};
use crate::harness::{Client, Response, fragment, request};
use crate::questions::{Asked, CREATE_KEY, Subject, ask_caller};

/// A reason that an agent enters: the employee sees it, and so does the reader of the audit log.
const REASON: &str = "lost the phone at Gate 47 B";

/// Answers questions of both kinds in every way; returns every secret on the way.
async fn answer_every_way(client: &mut Client, admin: &str, agent: &str) -> Vec<String> {
    let mut secrets = Vec::new();
    for (subject, right) in [(Subject::Approval, true), (Subject::Approval, false), (Subject::Caller, true)] {
        let (asked, who) = match subject {
            Subject::Approval => (CREATE_KEY.ask(client, admin).await, "admin01"),
            Subject::Caller => {
                let body = json!({ "employee_id": "user01", "reason": REASON });
                (client.post_as(agent, "/api/verifications", &body).await, "user01")
            }
        };
        let asked = Asked::of(&asked);
        let link = client.link_sent_to(who).await;
        secrets.push(link.split_once("sid%3D").unwrap().1[..53].to_owned());
        client.follow_link(&link, "supervisor01").await;
        let answer = fragment(&client.follow_link(&link, who).await, "answer");
        subject.question(client, &answer).await.data();
        if right {
            subject.pick(client, &answer, asked.number).await.data();
        } else {
            subject.pick_wrong(client, &answer, &asked).await.refused(403, 1003);
        }
        CREATE_KEY.send(client, admin, &asked.id).await;
        secrets.extend([answer, asked.id]);
    }
    let asked = Asked::of(&ask_caller(client, agent, "user01").await);
    let link = client.link_sent_to("user01").await;
    let answer = fragment(&client.follow_link(&link, "user01").await, "answer");
    Subject::Caller.refuse(client, &answer).await.data();
    secrets.extend([answer, asked.id]);
    secrets
}

/// Sends secrets to where they do not belong; returns all responses.
async fn misuse(client: &mut Client, admin: &str, secrets: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    let mut note = |answer: Response| out.push(format!("{:?} {}", answer.headers, answer.body));
    for secret in secrets {
        for path in ["/api/auth/approvals", "/api/verifications"] {
            note(client.get_as(admin, &format!("{path}/{secret}")).await);
            note(client.get_as(secret, &format!("{path}/{secret}?id={secret}")).await);
            note(client.get(&format!("{path}/{secret}/{secret}"), &[("cookie", secret)]).await);
            for body in [
                json!({ "approval": secret, "verification": secret, "number": secret }),
                json!({ "approval": secret, "verification": secret, "number": 42, "refuse": secret }),
            ] {
                note(client.post(&format!("{path}/answer"), &[], &body).await);
                note(client.post(&format!("{path}/question"), &[], &body).await);
            }
        }
        note(client.post_as(admin, "/api/verifications", &json!({ "employee_id": secret, "reason": 7 })).await);
        note(CREATE_KEY.send(client, admin, secret).await);
        note(client.send(&request("POST", "/api/verifications/answer", &[], secret.as_bytes())).await);
    }
    note(client.get("/metrics", &[]).await);
    out
}

on_every_store! {
    async fn what_a_question_is_answered_or_used_with_reaches_no_log_no_error_no_figure_and_no_file() {
        let scene = Scene::new();
        let process = scene.serve("json");
        let mut client = Client::connect(&process.address).await;
        let (admin, agent) = (client.sign_in("admin01").await, client.sign_in("agent01").await);
        let secrets = answer_every_way(&mut client, &admin, &agent).await;
        let answers = misuse(&mut client, &admin, &secrets[..4]).await;
        let (kept, shared) = (scene.kept(), scene.shared());
        let log = scene.log(process);
        for line in ["question answered", "wrong_number", "approval_invalid", "not_asked", "/metrics"] {
            assert!(log.contains(line), "no {line}: this test looks at nothing");
        }
        assert!(is_in(REASON, &kept) && !is_in(REASON, &shared), "the audit log has the reason, and Redis shows nothing");
        assert!(!log.contains(REASON), "what people enter is not for the service log");
        assert_eq!(secrets.len(), 11);
        for secret in &secrets {
            // Our own secrets begin with a prefix that the log may contain.
            let random = &secret[4..47];
            let at = log.find(random).map(|at| &log[at.saturating_sub(300)..at]);
            assert_eq!(at, None, "{secret} is in the log");
            assert!(!is_in(random, &kept), "{secret} is kept somewhere");
            let repeated = answers.iter().find(|answer| answer.contains(random));
            assert_eq!(repeated, None, "{secret} is repeated");
        }
    }
}
