//! Writes what users hold, and what is in progress, into `target/fixture`: the fixture from which the tests of later releases start.
//!
//! Run once at a release: `cargo test --workspace --test acceptance upgrade::write -- --ignored`, then move `target/fixture` to
//! `tests/fixtures/VERSION`.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deskpass_core::{Clock, EmployeeKey, Role, Timestamp};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::harness::{
    Client, ClusterStore, Device, OidcClient, PASSWORD, PRODUCTION, Platform, Servers, TestApp, binary, finished,
    fragment, query, registration, with_settings,
};

const SETTINGS: [(&str, &str); 2] = [("agents.password_fallback", "always"), ("limits.enabled", "false")];

fn machine_time() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap())
}

/// The people, and the rules that an administrator made.
async fn furnish(app: &TestApp) {
    for (employee, role) in [("admin01", Role::Admin), ("agent01", Role::Agent), ("user01", Role::User)] {
        app.add(employee, role).await;
    }
    let operator = app.auth().operator();
    operator.grant(app.key("agent01"), "supervisor").await.unwrap();
    operator.add_agent(app.key("agent01"), "agent").await.unwrap();
    operator.add_agent(app.key("admin01"), "admin").await.unwrap();
    operator.approve_link(EmployeeKey::from_parts("wwpartner", "partner01"), app.key("user01")).await.unwrap();
    operator.set_ip_rules_of(Role::Security, vec!["10.0.0.0/8".parse().unwrap()]).await.unwrap();
}

/// A password and an authenticator for someone who has just signed in.
async fn credentials(client: &mut Client, token: &str, clock: &Clock) -> Device {
    client.post_as(token, "/api/agents/password", &json!({ "new_password": PASSWORD })).await.data();
    client.bind_device(token, clock).await.0
}

fn described(device: &Device) -> Value {
    json!({ "secret": device.seed.base32(), "recovery_code": device.recovery_codes[0] })
}

/// A program, and what it was given for a user with this session.
async fn program(app: &TestApp, token: &str) -> Value {
    let client = app.oidc_client(registration()).await;
    let mut browser = app.oidc_browser().await;
    browser.token = Some(token.to_owned());
    let tokens = browser.tokens_in_session(&client).await;
    json!({
        "id": client.id, "secret": client.secret, "redirect_uri": client.redirect_uri,
        "access": tokens.access, "refresh": tokens.refresh, "id_token": tokens.id_token,
    })
}

/// A request of a program that its user has not answered, and a code that the program has not redeemed.
async fn requests(app: &TestApp, client: &OidcClient, token: &str) -> Value {
    let mut browser = app.oidc_browser().await;
    browser.token = Some(token.to_owned());
    let redeemable = client.authorization();
    let id = browser.begin(&redeemable).await;
    let code = browser.proceed_to_client(&id).await.code();
    let mut browser = app.oidc_browser().await;
    let authorization = client.authorization();
    let request = browser.begin(&authorization).await;
    json!({
        "request": { "id": request, "verifier": authorization.verifier, "cookies": browser.cookies },
        "code": { "value": code, "verifier": redeemable.verifier },
    })
}

/// Sign-ins that are under way: nobody has scanned, somebody has, and a browser is at the platform.
async fn in_progress(client: &mut Client, platform: &Platform) -> Value {
    let waiting = client.qrcode().await;
    let scanned = client.qrcode().await;
    let confirm = fragment(&platform.scan(client, &scanned, "user01").await, "confirm");
    let (link, cookies) = client.begin_oauth("https://desk.example.com/itagent/").await;
    json!({
        "waiting": { "ticket": waiting["ticket"], "qrcode_url": waiting["qrcode_url"] },
        "scanned": { "ticket": scanned["ticket"], "confirm": confirm },
        "oauth": { "authorize_url": link, "cookies": cookies },
    })
}

async fn holdings(app: &TestApp, platform: &Platform) -> Value {
    let mut client = app.client().await;
    let admin = platform.sign_in(&mut client, "admin01").await;
    let admin_device = credentials(&mut client, &admin, &app.clock).await;
    let agent = platform.sign_in(&mut client, "agent01").await;
    let agent_device = credentials(&mut client, &agent, &app.clock).await;
    let user = platform.sign_in(&mut client, "user01").await;
    let ended = platform.sign_in(&mut client, "user01").await;
    client.logout(&ended).await.data();
    json!({
        "written_at_millis": app.clock.now().millis(),
        "key": PRODUCTION[3].1,
        "password": PASSWORD,
        "service_key": app.service_key("introspect").await.0,
        "sessions": { "admin01": admin, "agent01": agent, "user01": user },
        "ended": ended,
        "devices": { "admin01": described(&admin_device), "agent01": described(&agent_device) },
        "program": program(app, &user).await,
    })
}

/// Runs the program on the data in this directory; returns what it prints.
fn run(directory: &Path, arguments: &[&str]) -> String {
    let mut command = binary();
    command.args(arguments).current_dir(directory);
    with_settings(&mut command, PRODUCTION);
    let output = finished(&mut command);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Opens the data of a directory on PostgreSQL, and leaves sign-ins in progress in Redis; returns the store and both.
async fn scaled_out(data: &Path, platform: &Platform, clock: &Clock, held: &Value) -> (ClusterStore, Value) {
    let place = ClusterStore { prefix: "deskpass-fixture".to_owned(), ..Servers::shared().cluster_store() };
    let from = format!("sqlite:{}", data.display());
    run(data, &["copy", "--from", &from, "--to", &place.store]);
    let app = TestApp::at_time(&place, platform.settings(&SETTINGS), clock.clone()).await;
    let mut client = app.client().await;
    let user = held["sessions"]["user01"].as_str().unwrap();
    let text = |name: &str| held["program"][name].as_str().unwrap().to_owned();
    let program = OidcClient { id: text("id"), secret: Some(text("secret")), redirect_uri: text("redirect_uri") };
    let begun = in_progress(&mut client, platform).await;
    let requests = requests(&app, &program, user).await;
    let records: Vec<_> = place.records().iter().map(|(key, value)| json!([key, STANDARD.encode(value)])).collect();
    (place, json!({ "prefix": "deskpass-fixture", "in_progress": begun, "requests": requests, "records": records }))
}

/// The tables and their rows as SQL, without the name of the schema.
fn dump(place: &ClusterStore) -> String {
    let schema = place.query("SELECT current_schema()").remove(0);
    let (server, _) = place.store.split_once('?').unwrap();
    let mut command = Command::new("pg_dump");
    command.args(["--no-owner", "--no-privileges", "--no-comments", "--inserts", "--schema", &schema]);
    let output = command.args(["--dbname", server]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap().replace(&format!("{schema}."), "");
    let about = ["--", "SET ", "SELECT pg_catalog", "CREATE SCHEMA", "\\"];
    let lines = text.lines().filter(|line| !line.is_empty() && !about.iter().any(|word| line.starts_with(word)));
    lines.fold(String::new(), |dump, line| dump + line + "\n")
}

fn save(name: &str, contents: &[u8]) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fixture");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join(name), contents).unwrap();
}

fn compressed(contents: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(contents).unwrap();
    gzip.finish().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "writes the fixture of a release"]
async fn the_fixture_of_this_release() {
    let platform = Platform::start("desk.example.com").await;
    let clock = Clock::manual(machine_time());
    let mut app = TestApp::on_data(platform.settings(&SETTINGS), clock.clone(), async |_, _| {}).await;
    furnish(&app).await;
    let mut held = Box::pin(holdings(&app, &platform)).await;
    app.stop().await;
    let database = app.database();
    let data = database.parent().unwrap();
    let directory = tempfile::tempdir().unwrap();
    drop(query(&database, "PRAGMA wal_checkpoint(TRUNCATE)"));
    std::fs::copy(&database, directory.path().join("deskpass.db")).unwrap();
    let verified = run(data, &["audit", "verify", "--data", directory.path().to_str().unwrap()]);
    held["receipt"] = json!(verified.split_whitespace().find(|word| word.starts_with("deskpass-log-")).unwrap());
    let (place, redis) = Box::pin(scaled_out(directory.path(), &platform, &clock, &held)).await;
    save("deskpass.db.gz", &compressed(&std::fs::read(directory.path().join("deskpass.db")).unwrap()));
    save("people.json", &serde_json::to_vec_pretty(&held).unwrap());
    save("redis.json", &serde_json::to_vec_pretty(&redis).unwrap());
    save("postgres.sql", dump(&place).as_bytes());
}
