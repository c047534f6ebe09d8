//! `deskpass copy`: the data that it copies, and the refusals before it changes anything.

use std::path::Path;
use std::time::{Duration, Instant};

use deskpass_core::{Clock, Timestamp};
use serde_json::json;

use crate::harness::{
    Client, ClusterStore, PASSWORD, PRODUCTION, Process, Servers, binary, cookies, free_address, query, with_settings,
};

/// Copies in development mode; returns whether it succeeded, and its output, which never includes a password.
fn copy(directory: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> (bool, String) {
    let mut command = binary();
    command.current_dir(directory).args(["copy", "--dev"]).args(arguments).envs(environment.iter().copied());
    let output = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!text.contains("canary"), "{text}");
    (output.status.success(), text)
}

const NOWHERE: &str = "postgres://desk:canary-password@127.0.0.1:1/desk";

#[test]
fn a_source_that_is_missing_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    for (from, words) in [
        ("sqlite:data", "there is no deskpass data in data; check --from"),
        ("sqlite:", "--from must be sqlite: and the directory"),
        (NOWHERE, "--from must be sqlite: and the directory"),
    ] {
        let (success, text) = copy(directory.path(), &["--from", from, "--to", NOWHERE], &[]);
        assert!(!success && text.contains(words), "{text}");
    }
    assert!(!directory.path().join("data").exists(), "nothing was made");
    std::fs::create_dir(directory.path().join("data")).unwrap();
    std::fs::write(directory.path().join("data/deskpass.db"), "").unwrap();
    let (success, text) = copy(directory.path(), &["--from", "sqlite:data/deskpass.db", "--to", NOWHERE], &[]);
    assert!(!success && text.contains("--from takes the directory that contains it"), "{text}");
}

#[test]
fn a_target_must_be_named_and_be_postgresql() {
    let directory = tempfile::tempdir().unwrap();
    let (success, text) = copy(directory.path(), &["--from", "sqlite:data"], &[]);
    assert!(!success && text.contains("name it with --to, or set store.url"), "{text}");
    let mysql = "mysql://desk:canary-password@db/desk";
    let (success, text) = copy(directory.path(), &["--from", "sqlite:data", "--to", mysql], &[]);
    assert!(!success && text.contains("store.url (--to): it begins with neither postgres://"), "{text}");
}

#[test]
fn the_target_may_come_from_the_settings_without_the_other_half_of_the_pair() {
    let directory = tempfile::tempdir().unwrap();
    let (success, text) = copy(directory.path(), &["--from", "sqlite:data"], &[("DESKPASS_STORE__URL", NOWHERE)]);
    assert!(!success && text.contains("there is no deskpass data in data") && !text.contains("half a pair"), "{text}");
}

#[test]
fn a_target_that_is_not_there_is_reported_without_its_password() {
    let directory = tempfile::tempdir().unwrap();
    let made = binary().current_dir(directory.path()).args(["migrate", "--create", "--dev"]).output().unwrap();
    assert!(made.status.success());
    let address = free_address();
    let silent = format!("postgres://desk:canary-password@{address}/desk");
    let (success, text) = copy(directory.path(), &["--from", "sqlite:data", "--to", &silent], &[]);
    assert!(!success && text.contains(&format!("cannot use postgres://desk:***@{address}/desk: ")), "{text}");
    assert!(text.contains("deskpass doctor"), "{text}");
}

pub(crate) const TABLES: [&str; 35] = [
    "employee",
    "user_role",
    "agent",
    "recovery_code",
    "guess",
    "half_session",
    "known_browser",
    "notice",
    "link",
    "session",
    "denied_token",
    "bind_proof",
    "login_log",
    "log_chain",
    "log_marker",
    "employee_term",
    "ip_rule",
    "service_key",
    "disowned",
    "sign_in_count",
    "employee_network",
    "retired_key",
    "oidc_client",
    "oidc_key",
    "oidc_grant",
    "oidc_token",
    "oidc_browser",
    "oidc_logout",
    "platform_event",
    "directory_department",
    "directory_member",
    "directory_tag",
    "directory_tag_member",
    "role_rule",
    "identifier_change",
];

/// The tokens of a service that was used and has stopped.
pub(crate) struct Lived {
    pub(crate) good: String,
    pub(crate) by_phone: String,
    pub(crate) signed_out: String,
    pub(crate) shut_out: String,
    pub(crate) half: String,
}

/// Produces every kind of agent data; returns a partial session, to be completed by the code of a device.
async fn work_as_agent(client: &mut Client) -> String {
    // Notices to the agent stay in the queue as long as the platform does not accept them.
    client.set_fault(&json!({ "api": "message/send", "drop": true, "times": 0 })).await;
    let bearer = format!("Bearer {}", client.sign_in("agent01").await);
    let page = [("authorization", &*bearer), ("sec-fetch-site", "same-origin")];
    let set = client.post("/api/agents/password", &page, &json!({ "new_password": PASSWORD })).await;
    assert!(set.data()["success"] == true && cookies(&set).contains("dpd_"), "{set:?}");
    let half = client.partial_sign_in("agent01").await;
    client.bind_device(&half, &Clock::steady(Timestamp::from_millis(0))).await;
    let half = client.partial_sign_in("agent01").await;
    client.agent_login("agent01", "no such password").await.refused(401, 1011);
    half
}

/// Produces every kind of data with a service in `data`.
pub(crate) async fn live(data: &Path) -> Lived {
    let process = Process::serve(data, &[]);
    let mut client = Client::connect(&process.address).await;
    let (good, signed_out) = (client.sign_in("admin01").await, client.sign_in("admin01").await);
    client.switch(&good, "agent").await.data();
    client.logout(&signed_out).await.data();
    let shut_out = client.sign_in("security01").await;
    let code = client.qrcode().await;
    let confirm = client.scan_as(&code, "user01").await;
    client.decide("confirm", &confirm).await.data();
    let by_phone = client.scan_status(code["ticket"].as_str().unwrap()).await["token"].as_str().unwrap().to_owned();
    let half = work_as_agent(&mut client).await;
    let (link, _) = client.begin_oauth(&format!("http://{}/h5/", process.address)).await;
    let back = client.authorize(&link, "wwpartner/partner01").await;
    assert!(cookies(&client.oauth_callback(&back, "").await).contains("dpb_"));
    for arguments in [
        &["employee", "disable", "security01"][..],
        &["employee", "add", "zhangsan", "--name", "张三 | O'Neil \\", "--role", "user"],
        &["link", "approve", "wwpartner/partner01", "user01"],
    ] {
        let output = binary().args(arguments).args(["--dev", "--data"]).arg(data).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(process.terminate().0, Some(0));
    Lived { good, by_phone, signed_out, shut_out, half }
}

/// The rows of a table, sorted for comparison.
pub(crate) fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort_unstable();
    rows
}

/// Returns whether nothing was copied. A log has its marker and the ends of its chains before it has a row.
fn is_empty(place: &ClusterStore) -> bool {
    let used = |table: &str| match table {
        "log_chain" => " WHERE seq > 0",
        "log_marker" => " WHERE adopted > 0",
        _ => "",
    };
    TABLES.iter().all(|table| {
        let there = place.query(&format!("SELECT to_regclass('{table}') IS NOT NULL")) == ["t"];
        !there || place.query(&format!("SELECT count(*) FROM {table}{}", used(table))) == ["0"]
    })
}

fn to_sqlite(directory: &Path, sql: &str) {
    rusqlite::Connection::open(directory.join("data/deskpass.db")).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_is_copied_and_signed_in_users_stay_signed_in() {
    let directory = tempfile::tempdir().unwrap();
    let lived = live(&directory.path().join("data")).await;
    to_sqlite(
        directory.path(),
        "INSERT INTO ip_rule VALUES (1, '127.0.0.0/8');
         INSERT INTO service_key VALUES ('k', 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'gateway', 'introspect', 1, NULL, NULL, 2, NULL);
         INSERT INTO disowned VALUES ('01a2', 1);
         INSERT INTO oidc_client (id, registration, created_at) VALUES ('wiki', '{}', 1);
         INSERT INTO oidc_key (kid, algorithm, public_jwk, sealed, created_at, active_from) VALUES ('k', 'ES256', '{}', 'x', 1, 1);
         INSERT INTO oidc_grant (id, session, client_id, corp_id, employee_key, subject, sid, scopes, roles, address, code, created_at, expires_at)
             VALUES ('g', 's', 'wiki', 'ww', 'user01', 'u', 'i', 'openid', 'user', '127.0.0.1', 'c', 1, 2);
         INSERT INTO oidc_token (digest, grant_id, kind, created_at, expires_at) VALUES ('t', 'g', 'access', 1, 2);
         INSERT INTO oidc_browser VALUES ('b', 's', 2);
         INSERT INTO oidc_logout (sid, client_id, subject, at, tries, due_at) VALUES ('i', 'wiki', 'u', 1, 0, 1);
         INSERT INTO platform_event (digest, change, received_at) VALUES ('e', '', 1);
         INSERT INTO directory_department VALUES ('ww', '2', NULL, '运维 | O''Neil');
         INSERT INTO directory_member VALUES ('ww', 'user01', '2');
         INSERT INTO directory_tag VALUES ('ww', '7', 'IT');
         INSERT INTO directory_tag_member VALUES ('ww', '7', 'department', '2');
         INSERT INTO identifier_change VALUES ('ww', 'user01', 1, 0);
         INSERT INTO role_rule VALUES ('ww', 3, 'department', '2');
         UPDATE user_role SET by_rule = 1, until = 9, reason = 'on call' WHERE employee_key = 'zhangsan';
         UPDATE employee SET left_at = 1, left_why = 'left', checked_at = 1, seen = 1 WHERE employee_key = 'zhangsan';
         UPDATE employee SET name = name || char(9) WHERE employee_key = 'zhangsan'",
    );
    let place = Servers::shared().cluster_store();
    let (success, text) = copy(directory.path(), &["--from", "sqlite:data", "--to", &place.store], &[]);
    assert!(success && text.contains(&format!(" of {} table(s) in ", TABLES.len())), "{text}");
    for table in TABLES {
        let rows = query(&directory.path().join("data/deskpass.db"), &format!("SELECT * FROM {table}"));
        // Development mode has one key, which is never replaced.
        assert!(!rows.is_empty() || table == "retired_key", "{table} is empty: this test looks at nothing");
        let report = text.lines().any(|line| line.split_whitespace().eq([table, &*rows.len().to_string()]));
        assert!(report, "{table} {} is not in\n{text}", rows.len());
        assert_eq!(sorted(rows), sorted(place.query(&format!("SELECT * FROM {table}"))), "{table}");
    }
    let node = Process::node(&place, &[]);
    let mut client = Client::connect(&node.address).await;
    assert_eq!(client.verify(&lived.good).await["current_role"], "agent");
    assert_eq!(client.verify(&lived.by_phone).await["employee_id"], "user01");
    assert_eq!(client.me(&lived.signed_out).await.refused(401, 1001).reason(), "signed_out");
    assert_eq!(client.me(&lived.shut_out).await.refused(401, 1001).reason(), "disabled");
    assert_eq!(client.get_as(&lived.half, "/api/auth/otp-status").await.data()["bound"], true);
    assert_eq!(client.agent_login("agent01", PASSWORD).await.data()["otp"], "verify");
    client.logout(&lived.good).await.data();
    let (success, text) = copy(directory.path(), &["--from", "sqlite:data", "--to", &place.store], &[]);
    assert!(
        !success && text.contains("already contains data (employee: ") && text.contains("choose an empty database"),
        "{text}"
    );
    assert!(!client.is_valid(&lived.good).await, "what was there is as it was");
}

#[test]
fn a_source_in_use_and_data_of_the_other_mode_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let place = Servers::shared().cluster_store();
    let process = Process::serve(&directory.path().join("data"), &[]);
    let arguments = ["--from", "sqlite:data", "--to", &*place.store];
    let (success, text) = copy(directory.path(), &arguments, &[]);
    assert!(!success && text.contains("a service runs on data; stop it first"), "{text}");
    process.terminate();
    let output = binary().current_dir(directory.path()).arg("copy").args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("development mode"), "{text}");
    assert!(place.rows().is_empty(), "nothing was made");
    let mut made = binary();
    made.current_dir(directory.path()).args(["migrate", "--create"]);
    with_settings(&mut made, PRODUCTION.into_iter().chain(place.settings()));
    assert!(made.output().unwrap().status.success());
    let (success, text) = copy(directory.path(), &arguments, &[]);
    assert!(
        !success && text.contains("was created in production") && text.contains("choose another database"),
        "{text}"
    );
    assert!(is_empty(&place));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_breaks_off_leaves_nothing_behind_and_can_be_run_again() {
    let directory = tempfile::tempdir().unwrap();
    let lived = live(&directory.path().join("data")).await;
    let place = Servers::shared().cluster_store();
    let arguments = ["--from", "sqlite:data", "--to", &*place.store];
    // PostgreSQL stores no text with this character.
    to_sqlite(directory.path(), "UPDATE login_log SET user_agent = 'a' || char(0) || 'b' WHERE event = 'logout'");
    let (success, text) = copy(directory.path(), &arguments, &[]);
    assert!(!success && text.contains("failed in login_log") && text.contains("nothing was copied"), "{text}");
    assert!(is_empty(&place));
    to_sqlite(directory.path(), "UPDATE login_log SET user_agent = 'ab' WHERE event = 'logout'");
    assert!(copy(directory.path(), &arguments, &[]).0);
    let node = Process::node(&place, &[]);
    assert!(Client::connect(&node.address).await.is_valid(&lived.good).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_in_the_middle_has_nothing_of_the_copy() {
    let directory = tempfile::tempdir().unwrap();
    live(&directory.path().join("data")).await;
    let servers = Servers::private();
    let place = servers.cluster_store();
    let mut migrate = binary();
    migrate.current_dir(directory.path()).args(["migrate", "--create", "--dev"]);
    with_settings(&mut migrate, place.settings());
    assert!(migrate.output().unwrap().status.success());
    place.query("DELETE FROM employee_term");
    place.query("DELETE FROM user_role");
    place.query("DELETE FROM agent");
    place.query("DELETE FROM employee");
    // The copy waits at this lock.
    let held = place.hold("BEGIN; LOCK TABLE bind_proof IN EXCLUSIVE MODE").await;
    let (path, store) = (directory.path().to_owned(), place.store.clone());
    let copying = std::thread::spawn(move || copy(&path, &["--from", "sqlite:data", "--to", &store], &[]));
    let waits =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'COPY bind_proof%'";
    let deadline = Instant::now() + Duration::from_secs(20);
    while place.query(waits) != ["1"] {
        assert!(Instant::now() < deadline && !copying.is_finished(), "the copy does not wait");
    }
    servers.stop_postgres();
    let (success, text) = copying.join().unwrap();
    assert!(!success && text.contains("failed in bind_proof") && text.contains("can be run again"), "{text}");
    drop(held);
    servers.start_postgres();
    assert!(is_empty(&place));
    assert!(copy(directory.path(), &["--from", "sqlite:data", "--to", &place.store], &[]).0);
}

#[test]
fn fifty_thousand_sessions_take_seconds_and_progress_is_printed() {
    let directory = tempfile::tempdir().unwrap();
    Process::serve(&directory.path().join("data"), &[]).terminate();
    to_sqlite(
        directory.path(),
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
            INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at, proven, lent_role_id)
            SELECT printf('%043d', i), 'wwdeskpass', 'user01', 3, 'dev', 'h5', i, i, 0, NULL FROM n",
    );
    let place = Servers::shared().cluster_store();
    let started = Instant::now();
    let (success, text) = copy(directory.path(), &["--from", "sqlite:data", "--to", &place.store], &[]);
    assert!(success && text.contains("\nemployee: 0 of 6\n"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert_eq!(place.query("SELECT count(*), sum(expires_at) FROM session"), ["50000|1250025000"]);
}
