//! The service log at 3 a.m.: each refusal and failure has one line, with the employee, the cause and the reference of the page.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Client, Operator, Process, fragment, location, request, target};

/// A running service, its operator and a client.
struct Desk {
    directory: tempfile::TempDir,
    process: Process,
    client: Client,
}

impl Desk {
    async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let process = Process::serve(&directory.path().join("data"), &[]);
        let client = Client::connect(&process.address).await;
        Self { directory, process, client }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Scans a code with the phone of `who`; returns the reference that its page shows.
    async fn refused_scan(&mut self, who: &str) -> String {
        let qrcode = self.client.qrcode().await;
        let page = self.client.scan(&qrcode, who).await;
        fragment(&page, "ref")
    }

    /// Stops the service; returns its log.
    fn stop(self) -> (tempfile::TempDir, String) {
        (self.directory, self.process.terminate().1)
    }
}

/// The reference of an API response: its request id begins with it.
fn reference(answer: &Value) -> String {
    answer["request_id"].as_str().unwrap().split('-').next().unwrap().to_owned()
}

/// The lines with a reference.
fn lines<'a>(log: &'a str, reference: &str) -> Vec<&'a str> {
    assert_eq!(reference.len(), 8, "{reference}");
    log.lines().filter(|line| line.contains(reference)).collect()
}

/// Whether a text looks like Rust's debug output: a struct, a tuple or an option.
fn debug_shape(line: &str) -> Option<&str> {
    let named = |at: usize| line[..at].chars().next_back().is_some_and(char::is_alphanumeric);
    let braces = line.match_indices(" { ").find(|(at, _)| named(*at)).map(|(at, _)| &line[at..]);
    let calls = ["Some(", "None", "Ok(", "Err(", "EmployeeKey(", "Refused(", "Internal("];
    braces.or_else(|| calls.into_iter().find(|call| line.contains(call)))
}

/// Refusals of many kinds; returns the reference of each with the reason and the employee that its line must have.
async fn refusals(desk: &mut Desk) -> Vec<(String, &'static str, Option<&'static str>)> {
    let operator_at = desk.path().to_owned();
    let operator = Operator::In(&operator_at);
    let left = desk.refused_scan("left01").await;
    let outsider = desk.refused_scan("outsider01").await;
    operator.succeed(&["employee", "disable", "user01"]);
    let disabled = desk.refused_scan("user01").await;
    operator.succeed(&["employee", "enable", "user01"]);
    let client = &mut desk.client;
    let wrong = reference(&client.agent_login("agent01", "wrong").await.json());
    let token = client.sign_in("user01").await;
    let peek = reference(&client.get_as(&token, "/api/admin/employees").await.refused(403, 1003).json());
    let switch = reference(&client.switch(&token, "admin").await.refused(403, 1003).json());
    vec![
        (left, "left_platform", Some("wwdeskpass/left01")),
        (outsider, "not_a_member", None),
        (disabled, "disabled_here", Some("wwdeskpass/user01")),
        (wrong, "no_password", Some("wwdeskpass/agent01")),
        (peek, "role_needed", Some("wwdeskpass/user01")),
        (switch, "role_not_held", Some("wwdeskpass/user01")),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_refusal_has_one_line_and_one_row_with_the_reference_of_the_page() {
    let mut desk = Desk::start().await;
    let refusals = refusals(&mut desk).await;
    let admin = desk.client.sign_in("admin01").await;
    for (reference, reason, employee) in &refusals {
        // As typed by an operator who reads it to another on the phone.
        let query = format!("/api/admin/login-log?reference={}", reference.to_uppercase());
        let rows = desk.client.get_as(&admin, &query).await.data()["items"].clone();
        assert_eq!(rows.as_array().unwrap().len(), 1, "{reason}: {rows}");
        assert_eq!((&rows[0]["reason"], &rows[0]["reference"]), (&json!(reason), &json!(reference)));
        let id = employee.map(|employee| employee.split_once('/').unwrap().1);
        assert_eq!((rows[0]["employee_id"].as_str(), &rows[0]["verified"]), (id, &json!(true)));
    }
    desk.client.get_as(&admin, "/api/admin/login-log?reference=1a2b").await.refused(400, 1002);
    let both = desk.client.get_as(&admin, "/api/admin/login-log?reason=disabled").await.data();
    assert_eq!(both["items"].as_array().unwrap().len(), 2, "the earlier word finds both kinds: {both}");
    let (_directory, log) = desk.stop();
    for (reference, reason, employee) in refusals {
        let lines = lines(&log, &reference);
        let lines: Vec<_> = lines.into_iter().filter(|line| line.contains("refused")).collect();
        assert_eq!(lines.len(), 1, "{reason}: {lines:#?}");
        assert!(lines[0].contains(&format!("reason=\"{reason}\"")), "{}", lines[0]);
        let named = employee.is_none_or(|employee| lines[0].contains(&format!("employee={employee}")));
        assert!(named && lines[0].contains("address=127.0.0.1"), "{}", lines[0]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_is_logged_with_the_employee_and_a_page_that_loads_twice_has_one_reference() {
    let mut desk = Desk::start().await;
    // The platform names the person; then the answer is lost in the store of the service, or the platform itself fails.
    let (link, cookies) = desk.client.begin_oauth("http://localhost/h5/").await;
    desk.client.set_fault(&json!({ "api": "auth/getuserinfo", "http_status": 500, "times": 9 })).await;
    let back = desk.client.authorize(&link, "user01").await;
    let mut references = Vec::new();
    for _ in 0..2 {
        let answer = desk.client.oauth_callback(&back, &cookies).await;
        assert_eq!(fragment(location(&answer), "error"), "platform_unavailable");
        references.push(fragment(location(&answer), "ref"));
    }
    assert_eq!(references[0], references[1], "both loads show the same reference");
    let invalid = async |client: &mut Client| {
        let answer = client.get(&target("http://x/api/auth/oauth2/callback?code=made-up&state=auth_login"), &[]).await;
        fragment(location(&answer), "ref")
    };
    assert_eq!(desk.client.send(&request("DELETE", "/sim/faults", &[], b"")).await.status, 200);
    let [first, second] = [invalid(&mut desk.client).await, invalid(&mut desk.client).await];
    assert_eq!(first, second);
    let (_directory, log) = desk.stop();
    let failed = lines(&log, &references[0]);
    assert!(
        failed.iter().any(|line| line.contains("sign-in failed") && line.contains("cause=platform")),
        "{failed:#?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_line_of_the_log_is_rust_debug_text() {
    let mut desk = Desk::start().await;
    refusals(&mut desk).await;
    let operator_at = desk.path().to_owned();
    let operator = Operator::In(&operator_at);
    for command in [
        &["employee", "add", "lisi", "--name", "李四", "--role", "user"][..],
        &["employee", "list"],
        &["role", "grant", "lisi", "agent"],
        &["role", "revoke", "lisi", "agent"],
        &["agent", "add", "lisi", "--role", "supervisor"],
        &["agent", "list"],
        &["agent", "reset-password", "lisi"],
        &["link", "approve", "wwpartner/partner01", "lisi"],
        &["link", "list"],
        &["ip-rule", "set", "admin", "10.0.0.0/8"],
        &["ip-rule", "clear", "admin"],
        &["service-key", "create", "billing", "--scope", "introspect"],
        &["explain", "login", "left01"],
        &["explain", "access", "lisi", "conversation", "read", "own"],
    ] {
        operator.succeed(command);
    }
    let client = &mut desk.client;
    let qrcode = client.qrcode().await;
    client.scan(&qrcode, "wwpartner%2Fpartner01").await;
    let token = client.sign_in_by_phone("agent01").await;
    client
        .post_as(&token, "/api/agents/password", &json!({ "new_password": "four horses crossed a bridge" }))
        .await
        .data();
    let mine = client.get_as(&token, "/api/auth/sign-ins").await.data()["items"][0]["id"].as_str().unwrap().to_owned();
    client.set_fault(&json!({ "api": "user/get", "errcode": 60011, "times": 1 })).await;
    // Locked out: the application may not see them any more.
    let qrcode = client.qrcode().await;
    client.scan(&qrcode, "supervisor01").await;
    client.post_as(&token, &format!("/api/auth/sign-ins/{mine}/not-me"), &json!({})).await.data();
    client.get("/api/ready", &[]).await;
    let (_directory, log) = desk.stop();
    assert!(log.contains("admin command command=agent add lisi --role supervisor"), "{log}");
    for line in log.lines() {
        assert_eq!(debug_shape(line), None, "{line}");
    }
}

#[test]
fn debug_text_is_recognised() {
    for line in ["identity=Member { userid: \"left01\" }", "by=Some(ww/admin01)", "employee=EmployeeKey(ww/a)"] {
        assert!(debug_shape(line).is_some(), "{line}");
    }
    for line in ["sign_in{reference=1a2b3c4d employee=ww/a}: refused reason=\"over\"", "{\"level\":\"INFO\"}"] {
        assert_eq!(debug_shape(line), None, "{line}");
    }
}

/// The only line with this text.
fn only<'a>(log: &'a str, text: &str) -> &'a str {
    let found: Vec<_> = log.lines().filter(|line| line.contains(text)).collect();
    assert_eq!(found.len(), 1, "{text}: {found:#?}\n{log}");
    found[0]
}

/// A program shows its users an error of its own at most, so the log says what it did wrong; and not what it sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_wrong_between_a_program_and_the_service_has_one_line() {
    let mut desk = Desk::start().await;
    let operator_at = desk.path().to_owned();
    let add = [
        "oidc",
        "client",
        "add",
        "Wiki",
        "--redirect-uri",
        "https://wiki.example/cb",
        "--algorithm",
        "ES256",
        "--json",
    ];
    let made: Value = serde_json::from_str(Operator::In(&operator_at).succeed(&add).trim()).unwrap();
    let id = made["client_id"].as_str().unwrap();
    let asked = format!(
        "/oidc/authorize?client_id={id}&redirect_uri=https%3A%2F%2Fwiki.example%2Fcb&response_type=code&scope=openid&state=s3cret"
    );
    let back = desk.client.get(&asked, &[]).await;
    assert!(location(&back).starts_with("https://wiki.example/cb?error=invalid_request&"), "{back:?}");
    let frame = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe"), ("sec-fetch-site", "cross-site")];
    let wrong = asked.replace("response_type=code", "response_type=token");
    let back = desk.client.get(&format!("{wrong}&prompt=none"), &frame).await;
    assert!(location(&back).starts_with("https://wiki.example/cb?error=unsupported_response_type&"), "{back:?}");
    let elsewhere = "https%3A%2F%2Fwiki.example%2Fbye%3Ftoken%3Ds3cret";
    let out = format!("/oidc/logout?client_id={id}&post_logout_redirect_uri={elsewhere}&state=s3cret");
    assert!(location(&desk.client.get(&out, &[]).await).ends_with("/?logout=done"));
    let form = [("client_id", id), ("client_secret", "dpe_s3cret"), ("grant_type", "authorization_code")];
    assert_eq!(desk.client.post_form("/oidc/token", &[], &form).await.status, 401);
    for number in 0..100 {
        desk.client.get(&format!("{asked}&nonce={number}"), &[]).await;
    }
    let (_directory, log) = desk.stop();
    let returned: Vec<_> = log.lines().filter(|line| line.contains("a request of a client was refused")).collect();
    assert!((1..30).contains(&returned.len()), "strangers fill the log: {}", returned.len());
    let client = format!("client_id=\"{id}\"");
    for (line, words) in [
        (
            returned[0],
            &["reason=\"invalid_request\"", "code_challenge is missing", "redirect_uri=\"https://wiki.example/cb\""][..],
        ),
        (
            only(&log, "reason=\"unsupported_response_type\""),
            &["a request of a client was refused", "redirect_uri=\"https://wiki.example/cb\""],
        ),
        (only(&log, "a post-logout address is not registered"), &["redirect_uri=\"https://wiki.example/bye\""]),
        (only(&log, "reason=\"invalid_client\""), &["its secret is wrong", "route=\"/oidc/token\""]),
    ] {
        assert!(line.contains(&client) && words.iter().all(|word| line.contains(word)), "{words:?}: {line}");
    }
    assert!(!log.contains("s3cret"), "{log}");
}

/// Anonymous refusals beyond the limit have no line; one line a minute says how many there were.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_anonymous_refusals_writes_few_lines() {
    let mut desk = Desk::start().await;
    for number in 0..400 {
        let path = format!("/api/auth/oauth2/callback?code=made-up-{number}&state=auth_login");
        assert_eq!(desk.client.get(&path, &[("x-forwarded-for", "198.51.100.7")]).await.status, 303);
    }
    let (_directory, log) = desk.stop();
    let refused: Vec<_> = log.lines().filter(|line| line.contains("invalid_code")).collect();
    // One line for each row of the audit log: 60 at once, and one more each second.
    assert!((60..90).contains(&refused.len()), "{}", refused.len());
    assert!(log.contains("summarised anonymous refusals beyond the limit in one audit row refusals=3"), "{log}");
    assert!(log.lines().count() < refused.len() + 20, "{log}");
}
