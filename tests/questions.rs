//! Questions to phones: a person approves an operation of their own, or says whether they are the caller on the telephone; and the
//! number on a screen that a phone must pick.

mod approval_holders;
mod approval_settings;
mod approval_uses;
mod approvals;
mod backend;
mod caller_limits;
mod callers;
mod numbers;
mod phones;
mod references;
mod refusals;
mod resets;
mod restored_records;
mod sentences;

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Client, Response, StoreBackend, TestApp, fragment, message_text, request};
use crate::notices::inbox;

/// How long a question can be answered, and an approval be used.
const LIFETIME: Duration = Duration::from_mins(2);
/// How long a caller counts as verified.
const VERIFIED_PERIOD: Duration = Duration::from_mins(10);
/// The time after which a person may ask for one more approval, after too many.
const NEXT_APPROVAL: Duration = Duration::from_secs(200);
/// For how long a session gets no approvals after its phone refused one.
const PAUSE: Duration = Duration::from_mins(10);

/// An operation, as it is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation<'a> {
    method: &'a str,
    path: &'a str,
    body: &'a str,
}

/// An operation of high risk whose effects can be counted.
pub(crate) const CREATE_KEY: Operation<'static> =
    Operation { method: "POST", path: "/api/admin/service-keys", body: r#"{"name":"desk","scopes":["introspect"]}"# };

impl Operation<'_> {
    /// Asks the phone of the session's employee to approve it.
    pub(crate) async fn ask(self, client: &mut Client, token: &str) -> Response {
        let Self { method, path, body } = self;
        let asked = json!({ "method": method, "path": path, "body": body });
        client.post_as(token, "/api/auth/approvals", &asked).await
    }

    /// Has it approved on the phone of `who`; returns the id of the approval.
    pub(crate) async fn approved(self, client: &mut Client, token: &str, who: &str) -> String {
        let asked = Asked::of(&self.ask(client, token).await);
        let answer = open(client, who).await;
        let answered = Subject::Approval.pick(client, &answer, asked.number).await;
        assert_eq!(answered.data(), json!({ "status": "approved" }));
        asked.id
    }

    /// Sends it with an approval.
    pub(crate) async fn send(self, client: &mut Client, token: &str, approval: &str) -> Response {
        self.send_with(client, token, &[("x-approval", approval)]).await
    }

    /// Sends it with these headers besides the token.
    async fn send_with(self, client: &mut Client, token: &str, more: &[(&str, &str)]) -> Response {
        let bearer = format!("Bearer {token}");
        let mut headers = vec![("authorization", &*bearer), ("content-type", "application/json")];
        headers.extend(more);
        client.send(&request(self.method, self.path, &headers, self.body.as_bytes())).await
    }
}

/// What a question is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject {
    Approval,
    Caller,
}

impl Subject {
    fn path(self) -> &'static str {
        match self {
            Self::Approval => "/api/auth/approvals",
            Self::Caller => "/api/verifications",
        }
    }

    /// The name of the phone's secret.
    fn field(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Caller => "verification",
        }
    }

    /// The status, as a session sees it.
    pub(crate) async fn status(self, client: &mut Client, token: &str, id: &str) -> String {
        let status = client.get_as(token, &format!("{}/{id}", self.path())).await.data();
        status["status"].as_str().unwrap().to_owned()
    }

    /// Reads on the phone what is asked.
    pub(crate) async fn question(self, client: &mut Client, answer: &str) -> Response {
        client.post(&format!("{}/question", self.path()), &[], &json!({ (self.field()): answer })).await
    }

    /// Picks a number on the phone.
    pub(crate) async fn pick(self, client: &mut Client, answer: &str, number: u64) -> Response {
        self.answer(client, &json!({ (self.field()): answer, "number": number })).await
    }

    /// Refuses on the phone.
    pub(crate) async fn refuse(self, client: &mut Client, answer: &str) -> Response {
        self.answer(client, &json!({ (self.field()): answer, "refuse": true })).await
    }

    async fn answer(self, client: &mut Client, body: &Value) -> Response {
        client.post(&format!("{}/answer", self.path()), &[], body).await
    }

    /// Picks a number on the phone that is not the one on the screen.
    pub(crate) async fn pick_wrong(self, client: &mut Client, answer: &str, asked: &Asked) -> Response {
        let question = self.question(client, answer).await.data();
        let wrong = choices(&question).into_iter().find(|choice| *choice != asked.number).unwrap();
        self.pick(client, answer, wrong).await
    }
}

/// A question, for the session that asked.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) id: String,
    pub(crate) number: u64,
}

impl Asked {
    pub(crate) fn of(answer: &Response) -> Self {
        let data = answer.data();
        Self { id: data["id"].as_str().unwrap().to_owned(), number: data["number"].as_u64().unwrap() }
    }
}

/// The numbers that a phone shows.
fn choices(question: &Value) -> Vec<u64> {
    let choices = question["choices"].as_array().unwrap_or_else(|| panic!("no choices: {question}"));
    choices.iter().map(|choice| choice.as_u64().unwrap()).collect()
}

/// Opens the newest question to `who` on their phone; returns the secret to answer with.
pub(crate) async fn open(client: &mut Client, who: &str) -> String {
    let link = client.link_sent_to(who).await;
    fragment(&client.follow_link(&link, who).await, "answer")
}

/// Asks an employee whether they called, with a reason.
pub(crate) async fn ask_caller(client: &mut Client, token: &str, who: &str) -> Response {
    client.post_as(token, "/api/verifications", &json!({ "employee_id": who, "reason": "new phone" })).await
}

/// Signs a supervisor in, and makes that the active role.
async fn supervisor(client: &mut Client) -> String {
    let token = client.sign_in("supervisor01").await;
    client.switch(&token, "supervisor").await.data();
    token
}

/// Has an employee verified as the caller; returns the id of the question.
pub(crate) async fn verify_caller(client: &mut Client, token: &str, who: &str) -> String {
    let asked = Asked::of(&ask_caller(client, token, who).await);
    let answer = open(client, who).await;
    assert_eq!(Subject::Caller.pick(client, &answer, asked.number).await.data(), json!({ "status": "verified" }));
    asked.id
}

/// Who asks the owner of a session whether they are the caller.
async fn askers_of(client: &mut Client, token: &str) -> Vec<Value> {
    client.get_as(token, "/api/verifications/mine").await.data()["items"].as_array().unwrap().clone()
}

/// The texts of the notices to `who`, without the questions.
async fn notices_to(platform: &mut Client, who: &str) -> Vec<String> {
    let messages = inbox(platform).await;
    let notices = messages.iter().filter(|message| message["touser"] == json!([who]) && message["url"].is_null());
    notices.map(message_text).collect()
}

/// How many service keys there are.
fn keys(app: &TestApp) -> usize {
    app.query("SELECT count(*) FROM service_key")[0].parse().unwrap()
}

/// What the audit log says about questions of a kind.
fn rows(app: &TestApp, subject: Subject) -> Vec<String> {
    let events = match subject {
        Subject::Approval => "approval%",
        Subject::Caller => "caller%",
    };
    app.query(&format!(
        "SELECT event, employee_key, actor_key, reason, detail FROM login_log WHERE event LIKE '{events}' ORDER BY rowid"
    ))
}

/// The rows of an event with their reasons and details.
fn rows_of(app: &TestApp, event: &str) -> Vec<String> {
    app.query(&format!("SELECT employee_key, reason, detail FROM login_log WHERE event = '{event}' ORDER BY rowid"))
}

/// Two nodes; where a service runs alone, clients of it.
async fn two_nodes(app: TestApp) -> Vec<TestApp> {
    match StoreBackend::current() {
        StoreBackend::Embedded => vec![app],
        StoreBackend::ScaledOut => {
            let other = app.second_node().await;
            vec![app, other]
        }
    }
}

/// Whether a request was refused because its approval does not count.
#[track_caller]
fn assert_invalid(answer: &Response) {
    assert_eq!(answer.refused(401, 1008).reason(), "approval_invalid");
}

/// Whether a phone was told that its question is over.
#[track_caller]
fn assert_over(answer: &Response) {
    assert_eq!(answer.refused(409, 1019).reason(), "question_over");
}
