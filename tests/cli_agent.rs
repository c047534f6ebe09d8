//! `deskpass agent`: manages the agents, who may sign in while the platform is down.

use std::time::{Duration, Instant};

use deskpass_core::{Clock, Timestamp};
use serde_json::json;

use crate::harness::{Client, Operator, PASSWORD, PRODUCTION, Process, Response, Servers, binary, with_settings};

impl Operator<'_> {
    /// The list's columns for an employee: role, state, password, device, and when the device was last used.
    fn listed(self, employee: &str) -> Option<[String; 5]> {
        let text = self.succeed(&["agent", "list"]);
        let cells = |line: &str| -> Vec<String> {
            line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
        };
        let rows: Vec<_> = text.lines().map(cells).collect();
        assert!(rows.iter().all(|row| row.len() == 8), "{text}");
        let row = rows.into_iter().find(|row| row[1] == employee)?;
        Some(std::array::from_fn(|column| row[column + 3].clone()))
    }
}

/// A text with its timestamps replaced, for comparisons.
fn timeless(text: &str) -> String {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape.replace("0000-00-00T00:00:00Z", "TIME")
}

/// The setup code in the output of `deskpass agent reset-password`.
fn setup_code(report: &str) -> String {
    let code = report.lines().find_map(|line| line.trim().strip_prefix("setup code: ")).expect("a code").to_owned();
    assert_eq!(code.split('-').map(str::len).collect::<Vec<_>>(), [4; 4], "{report}");
    assert_eq!(report.matches(&code).count(), 1, "{report}");
    code
}

/// Runs every command, on either store.
fn an_agents_life(operator: Operator<'_>) {
    let states = |employee: &str| operator.listed(employee).map(|row| row.map(|cell| timeless(&cell)));
    let fresh = |role: &str| Some([role, "enabled", "not set", "none", "never"].map(str::to_owned));
    assert_eq!((states("agent01"), states("user01")), (fresh("agent"), None));
    let report = operator.succeed(&["agent", "add", "User01"]);
    assert!(report.starts_with("User01 is now an agent; the default role is agent, unless"), "{report}");
    assert_eq!(states("user01"), fresh("agent"));
    operator.succeed(&["agent", "add", "norole01", "--role", "admin"]);
    assert_eq!(states("norole01"), fresh("admin"));
    let report = operator.succeed(&["agent", "set-role", "NOROLE01", "security"]);
    assert!(report.contains("is now security") && report.contains("0 session(s) ended"), "{report}");
    assert_eq!(states("norole01"), fresh("security"));

    let report = operator.succeed(&["agent", "disable", "user01"]);
    assert!(report.contains("0 session(s) ended") && report.contains("deskpass employee disable"), "{report}");
    assert_eq!(states("user01").unwrap()[1], "disabled");
    operator.succeed(&["employee", "disable", "user01"]);
    assert_eq!(states("user01").unwrap()[1], "disabled, employee disabled");
    assert!(operator.succeed(&["agent", "enable", "user01"]).contains("user01 is enabled as an agent"));
    assert_eq!(states("user01").unwrap()[1], "employee disabled");
    operator.succeed(&["employee", "enable", "user01"]);

    assert!(operator.succeed(&["agent", "unlock", "user01"]).contains("user01 was not locked"));
    let report = operator.succeed(&["agent", "reset-otp", "user01"]);
    assert!(
        report.contains("user01 had no authenticator")
            && timeless(&report).contains("The code is valid once, until TIME"),
        "{report}"
    );
    assert_eq!(timeless(&states("user01").unwrap()[3]), "none, code until TIME");
    assert_ne!(setup_code(&operator.succeed(&["agent", "reset-otp", "user01"])), setup_code(&report));
    let report = operator.succeed(&["agent", "reset-password", "user01"]);
    let first = setup_code(&report);
    assert!(timeless(&report).contains("The code is valid once, until TIME"), "{report}");
    assert!(report.contains("POST http://") && report.contains("/api/agents/password/setup"), "{report}");
    assert_eq!(states("user01").unwrap()[2], "code until TIME");
    assert_ne!(setup_code(&operator.succeed(&["agent", "reset-password", "user01"])), first);

    operator.succeed(&["employee", "add", "wangwu", "--corp", "wwother", "--name", "王五"]);
    operator.succeed(&["agent", "add", "wangwu", "--corp", "wwother"]);
    operator.succeed(&["agent", "set-role", "wangwu", "user", "--corp", "wwother"]);
    assert_eq!(states("wangwu"), fresh("user"));
}

fn mistakes(operator: Operator<'_>) {
    let before = operator.succeed(&["agent", "list"]);
    operator.succeed(&["employee", "add", "lisi", "--corp", "wwother"]);
    for (arguments, words) in [
        (&["add", "nobody"][..], "there is no employee nobody; to add one: deskpass employee add nobody"),
        (&["add", "nobody", "--corp", "wwother"], "deskpass employee add nobody --corp wwother"),
        (&["add", "a b"], "EMPLOYEE must be 1 to 64 characters"),
        (&["add", "user01", "--corp", "a/b"], "--corp must be 1 to 64 characters"),
        (&["add", "user01", "--role", "boss"], "the roles are admin, agent, user, supervisor, security"),
        (&["add", "AGENT01"], "AGENT01 is already an agent; to change the role: deskpass agent set-role AGENT01 ROLE"),
        (&["set-role", "agent01", "Agent"], "there is no role Agent"),
        (&["set-role", "agent01"], "ROLE"),
        (&["reset-password", "lisi", "--corp", "wwother"], "agents of wwother have no password"),
    ] {
        operator.fail(&[&["agent"], arguments].concat(), words);
    }
    for command in ["set-role", "disable", "enable", "unlock", "reset-otp", "reset-password"] {
        let role = if command == "set-role" { &["agent"][..] } else { &[] };
        let (success, text) = operator.run(&[&["agent", command, "user01"], role].concat());
        assert!(
            !success && text.contains("user01 is not an agent; to add one: deskpass agent add user01"),
            "{command}\n{text}"
        );
        let (success, text) = operator.run(&[&["agent", command, "nobody"], role].concat());
        assert!(!success && text.contains("to add one: deskpass employee add nobody"), "{command}\n{text}");
    }
    assert_eq!(operator.succeed(&["agent", "list"]), before, "nothing was done");
}

/// The list's state of agents with failed attempts.
fn guesses(operator: Operator<'_>) {
    let guessed = |employee: &str, trial: &str, in_a_row: u32, last_at: &str| {
        operator.sql(&format!(
            "INSERT INTO guess (corp_id, employee_key, trial, recent, in_a_row, last_at)
             VALUES ('wwdeskpass', '{employee}', '{trial}', 5, {in_a_row}, {last_at})"
        ));
    };
    let state = |employee: &str| operator.listed(employee).unwrap()[1].clone();
    // The year 2100.
    guessed("agent01", "otp", 99, "4102444800000");
    guessed("admin01", "password", 100, "1800000000000");
    guessed("supervisor01", "password", 99, "1");
    assert_eq!(state("agent01"), "paused until 2100-01-01T00:15:00Z");
    assert_eq!((state("admin01"), state("supervisor01")), ("locked".into(), "enabled".into()));
    assert!(operator.succeed(&["agent", "unlock", "admin01"]).contains("admin01 is unlocked"));
    assert!(operator.succeed(&["agent", "unlock", "agent01"]).contains("agent01 is unlocked"));
    assert_eq!((state("admin01"), state("agent01")), ("enabled".into(), "enabled".into()));
}

#[test]
fn agents_are_looked_after_where_no_service_runs() {
    let directory = tempfile::tempdir().unwrap();
    let operator = Operator::In(directory.path());
    operator.fail(&["agent", "add", "agent01"], "there is no deskpass data in ./data");
    operator.succeed(&["migrate", "--create"]);
    mistakes(operator);
    an_agents_life(operator);
    guesses(operator);
}

#[test]
fn agents_are_looked_after_by_a_running_service() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(&directory.path().join("data"), &[]);
    let operator = Operator::In(directory.path());
    mistakes(operator);
    an_agents_life(operator);
    process.kill();
    assert_eq!(operator.listed("norole01").unwrap()[0], "security", "it was the service's own data");
}

#[test]
fn agents_are_looked_after_on_the_pair() {
    let place = Servers::shared().cluster_store();
    let operator = Operator::At(&place);
    operator.succeed(&["migrate", "--create"]);
    mistakes(operator);
    an_agents_life(operator);
    guesses(operator);
}

async fn set_up(client: &mut Client, employee: &str, code: &str) -> Response {
    let body = json!({ "employee_id": employee, "setup_code": code, "new_password": PASSWORD });
    client.post("/api/agents/password/setup", &[], &body).await
}

/// Waits until a token is refused, which takes a second at most on another node.
async fn ends(client: &mut Client, token: &str, reason: &str) {
    let deadline = Instant::now() + Duration::from_secs(1);
    loop {
        let answer = client.get_as(token, "/api/auth/otp-status").await;
        if answer.status == 401 {
            assert_eq!(answer.refused(401, 1001).reason(), reason);
            return;
        }
        assert!(Instant::now() < deadline, "the node did not learn of the change in time: {answer:?}");
    }
}

/// A running service applies the operator's changes; `code` was made before it ran. Returns the codes that it must not log.
async fn the_service_goes_by_it(operator: Operator<'_>, client: &mut Client, code: String) -> Vec<String> {
    let clock = Clock::steady(Timestamp::from_millis(0));
    set_up(client, "agent01", &code).await.data();
    set_up(client, "agent01", &code).await.refused(403, 1003);
    let half = client.partial_sign_in("agent01").await;
    let (_, bound) = client.bind_device(&half, &clock).await;
    let token = bound["token"].as_str().unwrap();
    let [_, state, password, device, verified] = operator.listed("agent01").unwrap().map(|cell| timeless(&cell));
    assert_eq!([state, password, device, verified], ["enabled", "set", "since TIME, unproven", "TIME"]);

    for _ in 0..5 {
        client.agent_login("agent01", "wrong").await.refused(401, 1011);
    }
    client.agent_login("agent01", PASSWORD).await.refused(429, 1013);
    assert_eq!(timeless(&operator.listed("agent01").unwrap()[1]), "paused until TIME");
    operator.succeed(&["agent", "unlock", "agent01"]);
    assert_eq!(client.agent_login("agent01", PASSWORD).await.data()["otp"], "verify");
    let report = operator.succeed(&["agent", "reset-otp", "agent01"]);
    assert!(report.contains("no longer has an authenticator"), "{report}");
    let device_code = setup_code(&report);
    let [.., device, verified] = operator.listed("agent01").unwrap().map(|cell| timeless(&cell));
    assert_eq!([device, verified], ["none, code until TIME", "never"]);
    let setup = client.post_as(token, "/api/auth/otp-setup", &json!({ "setup_code": device_code })).await;
    assert_eq!(setup.data()["expires_in"], 600);
    assert_eq!(client.agent_login("agent01", PASSWORD).await.data()["otp"], "bind");

    let report = operator.succeed(&["agent", "reset-password", "agent01"]);
    assert!(report.contains("1 session(s) ended"), "{report}");
    ends(client, token, "kicked").await;
    client.agent_login("agent01", PASSWORD).await.refused(403, 1012);
    let another = setup_code(&report);
    set_up(client, "AGENT01", &another).await.data();

    let half = client.partial_sign_in("agent01").await;
    operator.succeed(&["agent", "disable", "agent01"]);
    ends(client, &half, "disabled").await;
    client.agent_login("agent01", PASSWORD).await.refused(401, 1011);
    operator.succeed(&["agent", "enable", "agent01"]);
    client.partial_sign_in("agent01").await;
    vec![code, another, device_code, a_default_role(operator, client, &clock).await]
}

/// Changing the agent role of an employee with no other role ends the session that it granted. Returns the agent's setup code.
async fn a_default_role(operator: Operator<'_>, client: &mut Client, clock: &Clock) -> String {
    operator.succeed(&["agent", "add", "norole01", "--role", "security"]);
    let code = setup_code(&operator.succeed(&["agent", "reset-password", "norole01"]));
    set_up(client, "norole01", &code).await.data();
    let half = client.partial_sign_in("norole01").await;
    let (_, bound) = client.bind_device(&half, clock).await;
    assert_eq!(bound["current_role"], "security", "{bound}");
    assert!(operator.succeed(&["agent", "set-role", "norole01", "agent"]).contains("1 session(s) ended"));
    ends(client, bound["token"].as_str().unwrap(), "kicked").await;
    code
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_service_knows_at_once_and_its_log_has_no_code() {
    let directory = tempfile::tempdir().unwrap();
    let operator = Operator::In(directory.path());
    operator.succeed(&["migrate", "--create"]);
    let code = setup_code(&operator.succeed(&["agent", "reset-password", "agent01"]));
    let process = Process::serve(&directory.path().join("data"), &[]);
    let mut client = Client::connect(&process.address).await;
    let codes = the_service_goes_by_it(operator, &mut client, code).await;
    let (_, log) = process.terminate();
    assert!(log.contains("command=agent reset-password "), "it is logged: {log}");
    for code in codes {
        assert!(!log.contains(&code), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_nodes_know_within_a_second() {
    let place = Servers::shared().cluster_store();
    let operator = Operator::At(&place);
    operator.succeed(&["migrate", "--create"]);
    let code = setup_code(&operator.succeed(&["agent", "reset-password", "agent01"]));
    let process = Process::node(&place, &[]);
    let mut client = Client::connect(&process.address).await;
    the_service_goes_by_it(operator, &mut client, code).await;
}

#[test]
fn in_production_the_address_is_the_public_url() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = binary();
        with_settings(&mut command, PRODUCTION);
        let output = command.current_dir(directory.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["employee", "add", "zhangsan", "--name", "张三"]);
    assert_eq!(run(&["agent", "list"]), "no agents; to add one: deskpass agent add EMPLOYEE\n");
    run(&["agent", "add", "zhangsan"]);
    let report = run(&["agent", "reset-password", "zhangsan"]);
    setup_code(&report);
    assert!(report.contains("POST https://desk.example.com/api/agents/password/setup\n"), "{report}");
}

#[test]
fn every_help_has_an_example() {
    let commands = ["add", "list", "set-role", "disable", "enable", "unlock", "reset-otp", "reset-password"];
    for command in commands.map(Some).into_iter().chain([None]) {
        let output = binary().arg("agent").args(command).arg("--help").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let example = format!("\n  deskpass agent {}", command.unwrap_or_default());
        assert!(text.contains("Example") && text.contains(&example), "{command:?}\n{text}");
    }
}
