//! GET /api/admin/login-log, exported as a file.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Client, Download, Process, StoreBackend, TestApp, query, request};

const LOG: &str = "/api/admin/login-log";

async fn file(app: &TestApp, token: &str, path: &str, accept: &str) -> crate::harness::Response {
    Download::begin(&app.address, token, path, accept).await.rest().await.expect("the whole of it")
}

/// The cells of a table, parsed according to RFC 4180.
fn cells(table: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut characters = table.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => cell.extend(characters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    assert!(!quoted && row.is_empty() && cell.is_empty(), "it ends with a line");
    rows
}

/// The identifier of a row that is recent enough to be kept.
fn id(number: usize) -> String {
    format!("{:012x}{number:020x}", 1_799_999_000_000_u64)
}

/// Inserts many rows into the log directly, past the service.
fn fill(count: usize, put: impl Fn(&str)) {
    let long = "x".repeat(300);
    for from in (0..count).step_by(1_000) {
        let rows: Vec<_> = (from..count.min(from + 1_000)).map(|at| {
            format!("('{}', 1799999000000, 'sign_in', 'wwdeskpass', 'user01', 3, 'dev', 'h5', '10.0.0.1', '10.0.0.1', '{long}')", id(at))
        }).collect();
        put(&format!(
            "INSERT INTO login_log (id, at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address, peer_address, user_agent) VALUES {}",
            rows.join(", ")
        ));
    }
}

/// So many rows that a file of them is longer than what the system takes from the service for a client that does not read.
const ROWS: usize = 8_000;

fn fill_desk(app: &TestApp) {
    fill(ROWS, |sql| drop(app.query(sql)));
}

on_every_store! {
    async fn a_table_a_spreadsheet_can_be_trusted_with(app) {
        let mut client = app.client().await;
        let agents = ["=HYPERLINK(\"http://evil\",\"x\")", "a \"quoted\", one", "+1", "@SUM(A1)", "-1", "plain", "＝1", "张三", "x;=1; @y"];
        for agent in agents {
            client.post("/api/dev/login", &[("user-agent", agent)], &json!({ "employee_id": "user01" })).await.data();
            app.clock.advance(Duration::from_millis(1));
        }
        // A header cannot contain a line break, but another source of the row may.
        app.query("UPDATE login_log SET user_agent = 'two' || chr(10) || 'lines' WHERE user_agent = 'plain'".replace("chr(", if StoreBackend::current() == StoreBackend::Embedded { "char(" } else { "chr(" }).as_str());
        let token = client.sign_in("admin01").await;
        let answer = file(&app, &token, &format!("{LOG}?employee_id=user01"), "text/csv").await;
        assert_eq!(answer.status, 200);
        for (name, value) in [
            ("content-type", "text/csv; charset=utf-8; header=present"), ("vary", "accept"), ("cache-control", "no-store"), ("x-content-type-options", "nosniff"),
            ("content-disposition", "attachment; filename=\"login-log-wwdeskpass-20270115T080000Z.csv\""),
        ] {
            assert_eq!(answer.header(name), Some(value), "{name}");
        }
        let rows = cells(&answer.body);
        assert_eq!(rows[0].join(","), "id,at,event,corp_id,employee_id,current_role,login_method,login_source,ip_address,peer_address,user_agent,actor_corp_id,actor_employee_id,reason,detail,decided_address,verified,reference");
        assert!(rows.iter().all(|row| row.len() == rows[0].len()));
        let written: Vec<_> = rows[1..].iter().rev().map(|row| row[10].as_str()).collect();
        let expected = ["'=HYPERLINK(\"http://evil\",\"x\")", "a \"quoted\", one", "'+1", "'@SUM(A1)", "'-1", "two\nlines", "'＝1", "张三", "x;'=1;' @y"];
        assert_eq!(written, expected);
        let verified: Vec<_> = rows[1..].iter().rev().map(|row| row[16].as_str()).collect();
        assert_eq!(verified, ["true", "true", "true", "true", "true", "false", "true", "true", "true"], "the row that \
             was not written by the service");
        assert!(answer.body.ends_with("\r\n"));
    }

    async fn lines_say_the_same_as_pages(app) {
        let mut client = app.client().await;
        client.post("/api/auth/bind", &[("user-agent", "a \"b\"")], &json!({ "employee_id": "norole01" })).await.refused(403, 1003);
        let user = client.sign_in("user01").await;
        client.logout(&user).await.data();
        app.auth().operator().grant(app.key("user01"), "agent").await.unwrap();
        let token = client.sign_in("admin01").await;
        let items = client.get_as(&token, LOG).await.data()["items"].as_array().unwrap().clone();
        for (accept, kind) in [("application/x-ndjson", "application/x-ndjson"), ("application/jsonl", "application/jsonl"), ("application/json;q=0.1, application/jsonl", "application/jsonl")] {
            let answer = file(&app, &token, LOG, accept).await;
            assert_eq!(answer.header("content-type"), Some(kind));
            let lines: Vec<Value> = answer.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(lines, items);
        }
        for accept in ["*/*", "application/json", "text/html", "text/csv;q=0, */*"] {
            assert_eq!(client.get(LOG, &[("authorization", &format!("Bearer {token}")), ("accept", accept)]).await.data()["items"], json!(items));
        }
        let nothing = file(&app, &token, &format!("{LOG}?event=device_reset"), "application/jsonl").await;
        assert_eq!((nothing.status, &*nothing.body), (200, ""));
        let filtered = file(&app, &token, &format!("{LOG}?event=logout&page_size=1"), "text/csv").await;
        assert_eq!(cells(&filtered.body).len(), 2);
        assert_eq!(app.query("SELECT count(*) FROM login_log"), [items.len().to_string()], "an export is not logged");
    }

    async fn a_user_without_read_access_gets_no_file(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        for accept in ["text/csv", "application/jsonl"] {
            let headers = [("authorization", &*format!("Bearer {token}")), ("accept", accept)];
            assert_eq!(client.get(LOG, &headers).await.refused(403, 1003).reason(), "role_needed");
        }
        let admin = client.sign_in("admin01").await;
        let headers = [("authorization", &*format!("Bearer {admin}")), ("accept", "text/csv")];
        client.get(&format!("{LOG}?event=x"), &headers).await.refused(400, 1002);
        client.get(&format!("{LOG}?after=x"), &headers).await.refused(400, 1002);
    }

    /// A slow reader blocks no other request, and gets the whole file in the end.
    async fn a_long_log_is_whole(app) {
        fill_desk(&app);
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let mut slow = Download::begin(&app.address, &token, &format!("{LOG}?employee_id=user01"), "text/csv").await;
        slow.take(1_000).await;
        for _ in 0..20 {
            client.sign_in("agent01").await;
            assert_eq!(client.get_as(&token, LOG).await.data()["items"].as_array().unwrap().len(), 50);
        }
        let all = file(&app, &token, &format!("{LOG}?employee_id=user01"), "application/jsonl").await;
        assert_eq!(all.body.lines().count(), ROWS);
        let first: Value = serde_json::from_str(all.body.lines().next().unwrap()).unwrap();
        assert_eq!(first["id"], id(ROWS - 1));
        let rows = cells(&slow.rest().await.expect("the whole of it").body);
        assert_eq!(rows.len(), ROWS + 1);
        let ids: HashSet<_> = rows[1..].iter().map(|row| row[0].clone()).collect();
        assert_eq!(ids.len(), ROWS);
    }

    /// A partial file must not look like a complete one.
    async fn a_user_who_loses_the_right_loses_the_rest_of_the_file(app) {
        fill_desk(&app);
        let mut client = app.client().await;
        let begin = async |client: &mut Client| {
            let token = client.sign_in("admin01").await;
            let mut download = Download::begin(&app.address, &token, LOG, "text/csv").await;
            download.take(1_000).await;
            (token, download)
        };
        let (token, download) = begin(&mut client).await;
        client.logout(&token).await.data();
        assert!(download.rest().await.is_none(), "signed out");
        let (token, download) = begin(&mut client).await;
        client.switch(&token, "agent").await.data();
        assert!(download.rest().await.is_none(), "another role");
        let (_, download) = begin(&mut client).await;
        app.clock.advance(Duration::from_hours(9));
        assert!(download.rest().await.is_none(), "expired");
        let (_, download) = begin(&mut client).await;
        assert!(download.rest().await.is_some());
    }

    async fn a_desk_that_stops_breaks_a_file_off(app) {
        fill_desk(&app);
        let mut app = app;
        let token = app.client().await.sign_in("admin01").await;
        let mut download = Download::begin(&app.address, &token, LOG, "text/csv").await;
        download.take(1_000).await;
        let mut client = app.client().await;
        app.ask_to_stop();
        let ready = request("GET", "/api/ready", &[], b"");
        while client.try_send(&ready).await.is_some_and(|answer| answer.status == 200) {}
        assert!(download.rest().await.is_none());
        app.stop().await;
    }
}

/// The resident memory of a process in MiB.
fn memory(process: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() >> 10
}

/// Forty downloads of about eight megabytes each, whose clients do not read.
#[tokio::test]
async fn files_that_wait_take_little_memory() {
    let data = tempfile::tempdir().unwrap();
    let process = Process::serve(data.path(), &[]);
    fill(20_000, |sql| drop(query(&data.path().join("deskpass.db"), sql)));
    let mut client = Client::connect(&process.address).await;
    let token = client.sign_in("admin01").await;
    let whole = Download::begin(&process.address, &token, LOG, "text/csv").await.rest().await.unwrap();
    assert!(whole.body.len() > 7 << 20);
    let (before, mut waiting) = (memory(&process), Vec::new());
    for _ in 0..40 {
        let mut one = Download::begin(&process.address, &token, LOG, "text/csv").await;
        one.take(1_000).await;
        waiting.push(one);
    }
    client.sign_in("user01").await;
    let grown = memory(&process).saturating_sub(before);
    assert!(grown < 100, "{grown} MiB");
}

/// The download breaks off when the store fails; the service goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_fails_midway_breaks_a_file_off() {
    let servers = crate::harness::Servers::private();
    let place = servers.cluster_store();
    let app = TestApp::at(&place, crate::harness::settings(&[("development.enabled", "true")])).await;
    fill_desk(&app);
    let mut client = app.client().await;
    let token = client.sign_in("admin01").await;
    let mut download = Download::begin(&app.address, &token, LOG, "text/csv").await;
    download.take(1_000).await;
    servers.stop_postgres();
    assert!(download.rest().await.is_none());
    let headers = [("authorization", &*format!("Bearer {token}")), ("accept", "text/csv")];
    let refused = client.get(LOG, &headers).await;
    assert_eq!((refused.status, refused.code()), (503, 1005), "what has not begun is an answer");
    servers.start_postgres();
    assert!(Download::begin(&app.address, &token, LOG, "text/csv").await.rest().await.is_some());
}
