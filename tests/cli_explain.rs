//! `deskpass explain`: the reasons for a refusal or a decision.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Client, Operator, PASSWORD, Process, Servers, binary, with_settings};

/// The lines of the attempts, between their heading and the next.
fn attempts(told: &str) -> Vec<&str> {
    let (_, attempts) = told.split_once("Last attempts, the newest first:\n\n").unwrap_or_else(|| panic!("{told}"));
    attempts.split("\n20").collect()
}

/// Repeats a request until it gets this code, which takes a second at most on another node. These requests are not logged.
async fn heard(client: &mut Client, token: &str, code: u64) {
    let deadline = Instant::now() + Duration::from_secs(1);
    while client.ask_from("203.0.113.9", token, "GET", "/api/auth/me", &json!({})).await.code() != code {
        assert!(Instant::now() < deadline, "it was not heard of");
    }
}

/// Attempts of every kind, and their explanations.
async fn logins(operator: Operator<'_>, client: &mut Client) {
    let explain = |employee: &str| operator.succeed(&["explain", "login", employee]);
    let told = explain("user01");
    assert!(told.starts_with("user01 (Uma User) of wwdeskpass\n\nemployee     enabled\nroles        user\n"), "{told}");
    assert!(
        told.contains("agent        no record\nallow-lists  no list for any of their roles\nsessions     0\n"),
        "{told}"
    );
    assert!(told.contains("The log has no attempt of theirs") && told.contains("deskpass doctor"), "{told}");
    let told = explain("stranger");
    assert!(
        told.starts_with("stranger of wwdeskpass\n\nNobody here is called that.") && told.contains("no attempt"),
        "{told}"
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
    let told = explain("USER01");
    assert!(told.contains("allow-lists  user only from 10.0.0.0/8\n"), "{told}");
    let all = attempts(&told);
    assert!(all[0].contains(" by dev from 203.0.113.9: refused, address_not_allowed (role user)\n"), "{told}");
    assert!(all[0].contains("See `deskpass ip-rule list`."), "{told}");
    let disabled = all.iter().find(|attempt| attempt.contains("refused, disabled\n")).expect("it was refused");
    assert!(
        disabled.contains("The employee is disabled.\n    To enable: `deskpass employee enable USER01`."),
        "{told}"
    );
    assert!(all.last().unwrap().trim_end().ends_with("by dev from 10.1.2.3: signed in as user"), "{told}");
    operator.succeed(&["ip-rule", "clear", "user"]);
}

/// Explanations for agents, employees without a role, and employees of another corporation.
async fn standings(operator: Operator<'_>, client: &mut Client) {
    let explain = |employee: &str| operator.succeed(&["explain", "login", employee]);
    client.first_password("agent01").await;
    for _ in 0..12 {
        assert!([401, 429].contains(&client.agent_login("agent01", "wrong").await.status));
    }
    let told = explain("agent01");
    assert!(
        told.contains("agent        agent, shut until 20") && told.contains("password: set; device: none"),
        "{told}"
    );
    assert_eq!(attempts(&told).len(), 10, "{told}");
    assert!(
        told.contains("refused, too_many_failures\n") && told.contains("`deskpass agent unlock agent01`"),
        "{told}"
    );
    operator.succeed(&["agent", "unlock", "agent01"]);
    assert!(explain("agent01").contains("agent        agent, enabled;"));

    let told = explain("norole01");
    assert!(told.contains("roles        none assigned; user is lent to whoever signs in"), "{told}");
    operator.succeed(&["agent", "add", "norole01", "--role", "security"]);
    assert!(explain("norole01").contains("roles        none assigned; security is lent by their agent record"));

    let (success, text) = operator.run(&["employee", "add", "lisi", "--corp", "wwother", "--name", "李\u{1b}[31m四"]);
    assert!(!success && text.contains("--name must be 1 to 128 characters that can be seen"), "{text}");
    operator.succeed(&["employee", "add", "lisi", "--corp", "wwother", "--name", "李四"]);
    let told = operator.succeed(&["explain", "login", "lisi", "--corp", "wwother"]);
    assert!(told.starts_with("lisi (李四) of wwother\n"), "{told}");
    let (success, text) = operator.run(&["explain", "login", "a b"]);
    assert!(!success && text.contains("EMPLOYEE must be 1 to 64 characters"), "{text}");
}

/// The permissions of an employee, and the rules that decide.
fn access(operator: Operator<'_>) {
    let explain = |arguments: &[&str]| operator.succeed(&[&["explain", "access"], arguments].concat());
    let told = explain(&["admin01", "conversation", "read", "all"]);
    assert!(
        told.starts_with("admin01 (Ada Admin) of wwdeskpass: may they read conversation in scope all?\n"),
        "{told}"
    );
    assert!(told.contains("roles: admin, agent, user\nmatrix: the built-in one"), "{told}");
    for line in [
        "admin  allowed  admin may read conversation in scope all\n",
        "agent  refused  agent may read conversation in scope department; all is wider\n",
        "user   refused  user may read conversation in scope own; all is wider\n",
    ] {
        assert!(told.contains(line), "{told}");
    }
    let told = explain(&["agent01", "account", "delete", "own", "--role", "agent"]);
    assert!(told.contains("\nagent  refused  agent may not delete account at all\n"), "{told}");
    assert!(!told.contains("\nuser "), "{told}");
    let told = explain(&["user01", "conversation", "read", "own", "--role", "admin"]);
    assert!(told.contains("admin  refused  they do not hold it; `deskpass role grant user01 admin`"), "{told}");

    operator.succeed(&["ip-rule", "set", "admin", "10.0.0.0/8"]);
    let told = explain(&["admin01", "account", "update", "all", "--role", "admin"]);
    assert!(told.contains("admin  allowed  admin may update account in scope all; the allow-list has admin active only from 10.0.0.0/8\n"), "{told}");
    let told = explain(&["admin01", "account", "update", "all", "--role", "admin", "--from", "203.0.113.9"]);
    assert!(
        told.contains(
            "admin  refused  the allow-list bars it from 203.0.113.9: admin may be active only from 10.0.0.0/8\n"
        ),
        "{told}"
    );
    let told = explain(&["admin01", "account", "update", "all", "--role", "admin", "--from", "::ffff:10.0.0.1"]);
    assert!(told.contains("admin  allowed  "), "{told}");
    operator.succeed(&["ip-rule", "clear", "admin"]);
    operator.succeed(&["employee", "disable", "security01"]);
    let told = explain(&["security01", "conversation", "read", "own"]);
    assert!(told.matches("refused  they are disabled; `deskpass employee enable security01`").count() == 2, "{told}");

    for (arguments, words) in [
        (&["nobody", "conversation", "read", "all"][..], "there is no employee nobody"),
        (&["user01", "conversations", "read", "all"], "they are conversation, approval, knowledge, account"),
        (&["user01", "conversation", "look", "all"], "they are read, create, update, delete"),
        (&["user01", "conversation", "read", "everything"], "they are own, department, all"),
        (&["user01", "conversation", "read", "all", "--role", "boss"], "there is no role boss"),
        (&["user01", "conversation", "read", "all", "--from", "here"], "--from"),
        (&["user01", "conversation", "read"], "SCOPE"),
    ] {
        let (success, text) = operator.run(&[&["explain", "access"], arguments].concat());
        assert!(!success && text.contains(words), "{arguments:?}\n{text}");
    }
}

/// The explanation of a token, which never contains the token.
fn explained(operator: Operator<'_>, input: &str) -> (bool, String) {
    let (success, told) = operator.run_with(&["explain", "token"], input);
    let random = input.trim().rsplit(' ').next().and_then(|token| token.get(4..47)).unwrap_or("-----");
    assert!(!told.contains(random), "{told}");
    (success, told)
}

fn known(operator: Operator<'_>, input: &str) -> String {
    let (success, told) = explained(operator, input);
    assert!(success, "{told}");
    told
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
        let told = good(&input);
        assert!(told.starts_with("This is an access token: it opens a session.\nIt is whole"), "{told}");
        assert!(told.contains("whose        agent01 (Arno Agent) of wwdeskpass\n"), "{told}");
        assert!(told.contains(" from 203.0.113.9 by dev, to h5\n") && told.contains("active role  agent\n"), "{told}");
        assert!(told.contains("It is good. agent may be active from anywhere."), "{told}");
    }
    operator.succeed(&["ip-rule", "set", "agent", "10.0.0.0/8"]);
    let told = good(&token);
    assert!(told.contains("agent may be active only from 10.0.0.0/8.\nFrom 203.0.113.9, where it began, it is not good (address_not_allowed)"), "{told}");
    operator.succeed(&["ip-rule", "clear", "agent"]);
    operator.succeed(&["role", "revoke", "agent01", "agent"]);
    let told = good(&token);
    assert!(told.contains("It is not good (role_taken_away).") && told.contains("that count in it: user"), "{told}");
    operator.succeed(&["role", "grant", "agent01", "agent"]);
    client.logout(&token).await.data();
    assert!(good(&token).contains("It is not good (signed_out). The user signed out.\nSign in again."));
    let kicked = client.sign_in("supervisor01").await;
    operator.succeed(&["employee", "disable", "supervisor01"]);
    assert!(good(&kicked).contains("It is not good (disabled)."));
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
    let told = good(&half);
    assert!(
        told.starts_with("This is a half-authenticated token") && told.contains("whose  supervisor01 of wwdeskpass\n"),
        "{told}"
    );
    assert!(told.contains("It is good."), "{told}");
    client.logout(&half).await.data();
    assert!(good(&half).contains("It is not good (signed_out)."));

    let made = operator.succeed(&["service-key", "create", "工单", "--scope", "messages"]);
    let key = made.lines().find_map(|line| line.trim().strip_prefix("service key: ")).unwrap().to_owned();
    let told = good(&key);
    assert!(told.starts_with("This is a service key") && told.contains("name    工单\nscopes  messages\n"), "{told}");
    assert!(told.contains("It is good."), "{told}");
    let id = told.lines().find_map(|line| line.strip_prefix("id      ")).unwrap().to_owned();
    operator.succeed(&["service-key", "revoke", &id]);
    assert!(good(&key).contains("It is not good (revoked)."));

    let qrcode = client.qrcode().await;
    let ticket = qrcode["ticket"].as_str().unwrap().to_owned();
    assert!(good(&ticket).starts_with("This is a ticket: whoever shows it collects one sign-in"));

    let (success, told) = operator.run(&["explain", "token", &ticket]);
    assert!(!success, "a token has no place on the command line: {told}");
    vec![half, key, ticket]
}

/// Inputs that are no tokens, or incomplete ones.
fn no_tokens(operator: Operator<'_>, token: &str) {
    for (input, words) in [
        (String::new(), "there is no token on standard input"),
        ("\n".into(), "there is no token on standard input"),
        ("hello\n".into(), "this is no token of this program"),
        (token[..40].to_owned(), "begins like an access token: it opens a session, but it is not whole"),
        (format!("{token}x"), "it is not whole"),
        (token.replacen("dpa_", "dpk_", 1), "begins like a service key"),
        ("x".repeat(100_000), "this is no token of this program"),
    ] {
        let (success, told) = explained(operator, &input);
        assert!(!success && told.contains(words), "{told}");
    }
}

/// Tokens that were never issued, and expired ones.
fn old_tokens(operator: Operator<'_>, token: &str) {
    let good = |input: &str| {
        let (success, told) = operator.run_with(&["explain", "token"], input);
        assert!(success, "{told}");
        told
    };
    operator.sql("UPDATE session SET expires_at = created_at + 1");
    let told = good(token);
    assert!(
        told.contains("whose        ") && told.contains("It is not good (expired). The token has expired."),
        "{told}"
    );
    operator.sql("DELETE FROM session");
    assert!(good(token).contains("It is not good (unknown)."));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_service_explains_and_its_log_has_no_token() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(&directory.path().join("data"), &[]);
    let operator = Operator::In(directory.path());
    let mut client = Client::connect(&process.address).await;
    logins(operator, &mut client).await;
    standings(operator, &mut client).await;
    access(operator);
    let tokens = tokens(operator, &mut client).await;
    let live = client.sign_in("user01").await;
    let (_, log) = process.terminate();
    assert!(log.contains("Explain(Token") && log.contains("Explain(Login"), "it is logged: {log}");
    for token in tokens {
        assert!(!log.contains(&token[4..47]), "{log}");
    }
    old_tokens(operator, &live);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_is_explained_on_the_pair() {
    let place = Servers::shared().cluster_store();
    let operator = Operator::At(&place);
    operator.succeed(&["migrate"]);
    let process = Process::node(&place, &[]);
    let mut client = Client::connect(&process.address).await;
    logins(operator, &mut client).await;
    standings(operator, &mut client).await;
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
    run(&["migrate"], None);
    let matrix = run(&["config", "matrix"], None);
    let narrow = matrix.replace("read = \"all\"", "read = \"own\"");
    assert_ne!(matrix, narrow);
    std::fs::write(directory.path().join("matrix.toml"), narrow).unwrap();
    let told =
        run(&["explain", "access", "admin01", "conversation", "read", "all", "--role", "admin"], Some("matrix.toml"));
    assert!(told.contains("matrix: of matrix.toml, which replaces the built-in one\n"), "{told}");
    assert!(told.contains("admin  refused  admin may read conversation in scope own; all is wider\n"), "{told}");
}
