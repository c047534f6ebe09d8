//! `deskpass explain`: the reasons for a refusal or a decision.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Client, Operator, PASSWORD, Process, Servers, binary, with_settings};

/// The lines of the attempts, between their heading and the next.
fn attempts(report: &str) -> Vec<&str> {
    let (_, attempts) = report.split_once("Last attempts, newest first:\n\n").unwrap_or_else(|| panic!("{report}"));
    attempts.split("\n20").collect()
}

/// Repeats a request until it gets this code, which takes a second at most on another node. These requests are not logged.
async fn heard(client: &mut Client, token: &str, code: u64) {
    let deadline = Instant::now() + Duration::from_secs(1);
    while client.ask_from("203.0.113.9", token, "GET", "/api/auth/me", &json!({})).await.code() != code {
        assert!(Instant::now() < deadline, "the node did not learn of the change in time");
    }
}

/// Attempts of every kind, and their explanations.
async fn logins(operator: Operator<'_>, client: &mut Client) {
    let explain = |employee: &str| operator.succeed(&["explain", "login", employee]);
    let report = explain("user01");
    assert!(
        report.starts_with("user01 (Uma User) of wwdeskpass\n\nemployee     enabled\nroles        user\n"),
        "{report}"
    );
    assert!(report.contains("agent        no record\nallow-lists  none for these roles\nsessions     0\n"), "{report}");
    assert!(
        report.contains("The audit log has no attempts by this employee") && report.contains("deskpass doctor"),
        "{report}"
    );
    let report = explain("stranger");
    assert!(
        report.starts_with("stranger of wwdeskpass\n\nThere is no such employee.") && report.contains("no attempt"),
        "{report}"
    );

    let user = json!({ "employee_id": "User01" });
    let token = client.sign_in_from("10.1.2.3", &user).await.data()["token"].as_str().unwrap().to_owned();
    let probe =
        client.post("/api/dev/login", &[], &json!({ "employee_id": "security01", "role": "user" })).await.data();
    operator.succeed(&["employee", "disable", "user01"]);
    heard(client, &token, 1001).await;
    client.sign_in_from("203.0.113.9", &user).await.refused(403, 1003);
    operator.succeed(&["employee", "enable", "user01"]);
    operator.succeed(&["ip-rule", "set", "user", "10.0.0.0/8"]);
    heard(client, probe["token"].as_str().unwrap(), 1017).await;
    client.sign_in_from("203.0.113.9", &user).await.refused(403, 1017);
    let report = explain("USER01");
    assert!(report.contains("allow-lists  user only from 10.0.0.0/8\n"), "{report}");
    let all = attempts(&report);
    assert!(all[0].contains(" by dev from 203.0.113.9: refused, address_not_allowed (role user) (ref "), "{report}");
    assert!(all[0].contains("See `deskpass ip-rule list`."), "{report}");
    let disabled = all.iter().find(|attempt| attempt.contains("refused, disabled_here (ref ")).expect("it was refused");
    assert!(
        disabled.contains("disabled the employee here.\n    They are enabled now: ask them to sign in again."),
        "advice that was followed is not repeated: {report}"
    );
    assert!(all.last().unwrap().trim_end().ends_with("by dev from 10.1.2.3: signed in as user"), "{report}");
    operator.succeed(&["ip-rule", "clear", "user"]);
}

/// Explanations for agents, employees without a role, and employees of another corporation.
async fn agents_and_roles(operator: Operator<'_>, client: &mut Client) {
    let explain = |employee: &str| operator.succeed(&["explain", "login", employee]);
    client.first_password("agent01").await;
    for _ in 0..12 {
        assert!([401, 429].contains(&client.agent_login("agent01", "wrong").await.status));
    }
    let report = explain("agent01");
    assert!(
        report.contains("agent        agent, paused until 20") && report.contains("password: set; authenticator: none"),
        "{report}"
    );
    assert_eq!(attempts(&report).len(), 10, "{report}");
    assert!(
        report.contains("refused, too_many_failures (ref ") && report.contains("`deskpass agent unlock agent01`"),
        "{report}"
    );
    operator.succeed(&["agent", "unlock", "agent01"]);
    assert!(explain("agent01").contains("agent        agent, enabled;"));

    let report = explain("norole01");
    assert!(
        report.contains("roles        none assigned; user by default for sign-ins through the platform"),
        "{report}"
    );
    operator.succeed(&["agent", "add", "norole01", "--role", "security"]);
    assert!(explain("norole01").contains("roles        none assigned; security by default (agent record)"));

    operator.fail(
        &["employee", "add", "lisi", "--corp", "wwother", "--name", "李\u{1b}[31m四"],
        "--name must be 1 to 128 visible characters",
    );
    operator.succeed(&["employee", "add", "lisi", "--corp", "wwother", "--name", "李四"]);
    let told = operator.succeed(&["explain", "login", "lisi", "--corp", "wwother"]);
    assert!(told.starts_with("lisi (李四) of wwother\n"), "{told}");
    operator.fail(&["explain", "login", "a b"], "EMPLOYEE must be 1 to 64 characters");
}

/// The permissions of an employee, and the rules that decide.
fn access(operator: Operator<'_>) {
    let explain = |arguments: &[&str]| operator.succeed(&[&["explain", "access"], arguments].concat());
    let report = explain(&["admin01", "conversation", "read", "all"]);
    assert!(report.starts_with("admin01 (Ada Admin) of wwdeskpass: read conversation in scope all\n"), "{report}");
    assert!(report.contains("roles: admin, agent, user\nmatrix: built-in;"), "{report}");
    for line in [
        "admin  allowed  admin may read conversation in scope all\n",
        "agent  refused  agent may read conversation only in scope department\n",
        "user   refused  user may read conversation only in scope own\n",
    ] {
        assert!(report.contains(line), "{report}");
    }
    let report = explain(&["agent01", "account", "delete", "own", "--role", "agent"]);
    assert!(report.contains("\nagent  refused  agent may not delete account at all\n"), "{report}");
    assert!(!report.contains("\nuser "), "{report}");
    let report = explain(&["user01", "conversation", "read", "own", "--role", "admin"]);
    assert!(
        report.contains("admin  refused  role not held; to grant it: deskpass role grant user01 admin"),
        "{report}"
    );

    operator.succeed(&["ip-rule", "set", "admin", "10.0.0.0/8"]);
    let report = explain(&["admin01", "account", "update", "all", "--role", "admin"]);
    assert!(
        report.contains(
            "admin  allowed  admin may update account in scope all; by the allow-list, admin may be \
                           active only from 10.0.0.0/8\n"
        ),
        "{report}"
    );
    let report = explain(&["admin01", "account", "update", "all", "--role", "admin", "--from", "203.0.113.9"]);
    assert!(
        report.contains(
            "admin  refused  the allow-list does not permit 203.0.113.9: admin may be active only from 10.0.0.0/8\n"
        ),
        "{report}"
    );
    let report = explain(&["admin01", "account", "update", "all", "--role", "admin", "--from", "::ffff:10.0.0.1"]);
    assert!(report.contains("admin  allowed  "), "{report}");
    operator.succeed(&["ip-rule", "clear", "admin"]);
    operator.succeed(&["employee", "disable", "security01"]);
    let report = explain(&["security01", "conversation", "read", "own"]);
    assert!(
        report.matches("refused  the employee is disabled; to enable: deskpass employee enable security01").count()
            == 2,
        "{report}"
    );

    for (arguments, words) in [
        (&["nobody", "conversation", "read", "all"][..], "there is no employee nobody"),
        (&["user01", "conversations", "read", "all"], "known: conversation, approval, knowledge, account"),
        (&["user01", "conversation", "look", "all"], "known: read, create, update, delete"),
        (&["user01", "conversation", "read", "everything"], "known: own, department, all"),
        (&["user01", "conversation", "read", "all", "--role", "boss"], "there is no role boss"),
        (&["user01", "conversation", "read", "all", "--from", "here"], "--from"),
        (&["user01", "conversation", "read"], "SCOPE"),
    ] {
        operator.fail(&[&["explain", "access"], arguments].concat(), words);
    }
}

/// The explanation of a token, which never contains the token.
fn explained(operator: Operator<'_>, input: &str) -> (bool, String) {
    let (success, report) = operator.run_with(&["explain", "token"], input);
    let random = input.trim().rsplit(' ').next().and_then(|token| token.get(4..47)).unwrap_or("-----");
    assert!(!report.contains(random), "{report}");
    (success, report)
}

fn known(operator: Operator<'_>, input: &str) -> String {
    let (success, report) = explained(operator, input);
    assert!(success, "{report}");
    report
}

/// Session tokens in every state; returns those that must not be printed.
async fn tokens(operator: Operator<'_>, client: &mut Client) -> Vec<String> {
    let good = |input: &str| known(operator, input);
    let token = client.sign_in_from("203.0.113.9", &json!({ "employee_id": "agent01" })).await.data()["token"].clone();
    let token = token.as_str().unwrap().to_owned();
    for input in [
        token.clone(),
        format!("{token}\n"),
        format!("  {token}\r\nmore\n"),
        format!("Authorization: Bearer {token}\n"),
    ] {
        let report = good(&input);
        assert!(report.starts_with("This is an access token, the token of a session.\nIt is complete"), "{report}");
        assert!(report.contains("owner        agent01 (Arno Agent) of wwdeskpass\n"), "{report}");
        assert!(
            report.contains(" from 203.0.113.9 by dev, to h5\n") && report.contains("active role  agent\n"),
            "{report}"
        );
        assert!(report.contains("It is valid. agent may be active from anywhere."), "{report}");
    }
    operator.succeed(&["ip-rule", "set", "agent", "10.0.0.0/8"]);
    let report = good(&token);
    assert!(
        report.contains(
            "agent may be active only from 10.0.0.0/8.\nFrom 203.0.113.9, where it began, it is not \
                           valid (address_not_allowed)"
        ),
        "{report}"
    );
    operator.succeed(&["ip-rule", "clear", "agent"]);
    operator.succeed(&["role", "revoke", "agent01", "agent"]);
    let report = good(&token);
    assert!(
        report.contains("It is not valid (role_taken_away).") && report.contains("that it can switch to: user"),
        "{report}"
    );
    operator.succeed(&["role", "grant", "agent01", "agent"]);
    client.logout(&token).await.data();
    assert!(good(&token).contains("It is not valid (signed_out). The user signed out.\nSign in again."));
    let kicked = client.sign_in("supervisor01").await;
    operator.succeed(&["employee", "disable", "supervisor01"]);
    assert!(good(&kicked).contains("It is not valid (disabled)."));
    operator.succeed(&["employee", "enable", "supervisor01"]);

    let mut all = other_tokens(operator, client).await;
    no_tokens(operator, &token);
    all.extend([token, kicked]);
    all
}

/// Tokens of other kinds.
async fn other_tokens(operator: Operator<'_>, client: &mut Client) -> Vec<String> {
    let good = |input: &str| known(operator, input);
    client.first_password("supervisor01").await;
    let half = client.agent_login("supervisor01", PASSWORD).await.data()["token"].as_str().unwrap().to_owned();
    let report = good(&half);
    assert!(
        report.starts_with("This is a half-authenticated token")
            && report.contains("owner    supervisor01 of wwdeskpass\n"),
        "{report}"
    );
    assert!(report.contains("It is valid."), "{report}");
    client.logout(&half).await.data();
    assert!(good(&half).contains("It is not valid (signed_out)."));

    let made = operator.succeed(&["service-key", "create", "工单", "--scope", "messages"]);
    let key = made.lines().find_map(|line| line.trim().strip_prefix("service key: ")).unwrap().to_owned();
    let report = good(&key);
    assert!(
        report.starts_with("This is a service key") && report.contains("name     工单\nscopes   messages\n"),
        "{report}"
    );
    assert!(report.contains("It is valid."), "{report}");
    let id = report.lines().find_map(|line| line.strip_prefix("id       ")).unwrap().to_owned();
    operator.succeed(&["service-key", "revoke", &id]);
    assert!(good(&key).contains("It is not valid (revoked)."));

    let qrcode = client.qrcode().await;
    let ticket = qrcode["ticket"].as_str().unwrap().to_owned();
    assert!(good(&ticket).starts_with("This is a sign-in ticket, which collects the token of one sign-in"));

    let (success, report) = operator.run(&["explain", "token", &ticket]);
    assert!(!success, "a token has no place on the command line: {report}");
    vec![half, key, ticket]
}

/// Inputs that are no tokens, or incomplete ones.
fn no_tokens(operator: Operator<'_>, token: &str) {
    for (input, words) in [
        (String::new(), "there is no token on standard input"),
        ("\n".into(), "there is no token on standard input"),
        ("hello\n".into(), "this is not a deskpass token"),
        ("eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln\n".into(), "this is an ID or logout token"),
        (token[..40].to_owned(), "begins like an access token, the token of a session, but is incomplete or mistyped"),
        (format!("{token}x"), "but is incomplete or mistyped"),
        (token.replacen("dpa_", "dpk_", 1), "begins like a service key"),
        ("x".repeat(100_000), "this is not a deskpass token"),
    ] {
        let (success, report) = explained(operator, &input);
        assert!(!success && report.contains(words), "{report}");
    }
}

/// Tokens that were never issued, and expired ones.
fn old_tokens(operator: Operator<'_>, token: &str) {
    let good = |input: &str| {
        let (success, report) = operator.run_with(&["explain", "token"], input);
        assert!(success, "{report}");
        report
    };
    operator.sql("UPDATE session SET expires_at = created_at + 1");
    let report = good(token);
    assert!(
        report.contains("owner        ") && report.contains("It is not valid (expired). The token has expired."),
        "{report}"
    );
    operator.sql("DELETE FROM session");
    assert!(good(token).contains("It is not valid (unknown)."));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_service_explains_and_its_log_has_no_token() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(&directory.path().join("data"), &[]);
    let operator = Operator::In(directory.path());
    let mut client = Client::connect(&process.address).await;
    logins(operator, &mut client).await;
    agents_and_roles(operator, &mut client).await;
    access(operator);
    let tokens = tokens(operator, &mut client).await;
    let live = client.sign_in("user01").await;
    let (_, log) = process.terminate();
    assert!(log.contains("explain token") && log.contains("explain login"), "it is logged: {log}");
    for token in tokens {
        assert!(!log.contains(&token[4..47]), "{log}");
    }
    old_tokens(operator, &live);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_is_explained_on_the_pair() {
    let place = Servers::shared().cluster_store();
    let operator = Operator::At(&place);
    operator.succeed(&["migrate", "--create"]);
    let process = Process::node(&place, &[]);
    let mut client = Client::connect(&process.address).await;
    logins(operator, &mut client).await;
    agents_and_roles(operator, &mut client).await;
    access(operator);
    tokens(operator, &mut client).await;
    let live = client.sign_in("user01").await;
    process.kill();
    old_tokens(operator, &live);
}

#[test]
fn a_matrix_of_a_file_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], file: Option<&str>| {
        let mut command = binary();
        with_settings(&mut command, file.map(|file| ("access.matrix_file", file)));
        let output = command.current_dir(directory.path()).args(arguments).arg("--dev").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["migrate", "--create"], None);
    let matrix = run(&["config", "matrix"], None);
    let narrow = matrix.replace("read = \"all\"", "read = \"own\"");
    assert_ne!(matrix, narrow);
    std::fs::write(directory.path().join("matrix.toml"), narrow).unwrap();
    let report =
        run(&["explain", "access", "admin01", "conversation", "read", "all", "--role", "admin"], Some("matrix.toml"));
    assert!(report.contains("matrix: matrix.toml, which replaces the built-in matrix\n"), "{report}");
    assert!(report.contains("admin  refused  admin may read conversation only in scope own\n"), "{report}");
}
