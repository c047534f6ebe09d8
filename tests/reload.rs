//! Settings change while the service runs: by `deskpass reload` and by SIGHUP, all at once or not at all.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;

use crate::cli_simulate::Simulated;
use crate::harness::{
    Client, Operator, PRODUCTION, Process, Servers, TestSocket, binary, location, metric, rounds, until, with_settings,
};

/// A service in development mode with a settings file.
struct Desk {
    directory: TempDir,
    process: Process,
}

fn serve(directory: &Path) -> Process {
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0"]).current_dir(directory);
    Process::spawn(command)
}

impl Desk {
    fn start(settings: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("deskpass.toml"), settings).unwrap();
        let process = serve(directory.path());
        Self { directory, process }
    }

    fn write(&self, settings: &str) {
        std::fs::write(self.directory.path().join("deskpass.toml"), settings).unwrap();
    }

    /// Changes the settings file and runs `deskpass reload`; returns what it prints.
    fn reload(&self, settings: &str) -> String {
        self.write(settings);
        Operator::In(self.directory.path()).succeed(&["reload"])
    }

    async fn client(&self) -> Client {
        Client::connect(&self.process.address).await
    }

    async fn page(&self) -> String {
        self.client().await.get("/", &[]).await.body
    }

    async fn metric(&self, name: &str) -> String {
        let metrics = self.client().await.get("/metrics", &[]).await.body;
        metric(&metrics, name).unwrap_or_else(|| panic!("no {name}: {metrics}")).to_owned()
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("data/deskpass.sock")
    }
}

/// Sends the head of a request, and waits until the service reads its body.
async fn hold(desk: &Desk, path: &str, token: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(&desk.process.address).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nexpect: 100-continue\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut line = [0; 12];
    stream.read_exact(&mut line).await.unwrap();
    assert_eq!(&line, b"HTTP/1.1 100", "{path}");
    stream
}

/// Asks the running service for a reload, as the command does; `None` if it ends meanwhile.
async fn reload_by(socket: &Path) -> Option<String> {
    let mut stream = UnixStream::connect(socket).await.ok()?;
    stream.write_all(b"{\"development\":true,\"errand\":\"Reload\"}\n").await.ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).await.ok().filter(|read| *read > 0)?;
    Some(line)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_and_branding_change_without_a_restart() {
    let desk = Desk::start("branding.name = \"Before Ltd\"\nlimits.enabled = true");
    assert!(desk.page().await.contains("Before Ltd"));
    let mut client = desk.client().await;
    for _ in 0..3 {
        client.qrcode().await;
    }
    let text = desk.reload("branding.name = \"After Ltd\"\nlimits.enabled = true\nlimits.qrcode = \"1/min\"");
    assert_eq!(text, "reloaded: branding.name, limits.qrcode\n");
    assert!(desk.page().await.contains("After Ltd"));
    // The connection from before sees them too. The first request may be refused for those before the reload.
    client.get("/api/auth/qrcode", &[]).await;
    client.get("/api/auth/qrcode", &[]).await.refused(429, 1006);
    assert_eq!(Operator::In(desk.directory.path()).succeed(&["reload"]), "nothing to reload\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_access_matrix_is_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let printed = Operator::In(directory.path()).succeed(&["config", "matrix"]);
    let file = directory.path().join("matrix.toml");
    std::fs::write(&file, &printed).unwrap();
    let desk = Desk::start(&format!("access.matrix_file = \"{}\"", file.display()));
    let mut client = desk.client().await;
    let token = client.sign_in("admin01").await;
    let wish = ["conversation", "read", "all"];
    assert_eq!(client.check(&token, wish).await.data()["allowed"], true);
    let (before, admin) = printed.split_once("[admin]").unwrap();
    std::fs::write(&file, format!("{before}[admin]{}", admin.replacen("read = \"all\"", "read = \"own\"", 1))).unwrap();
    let text = Operator::In(desk.directory.path()).succeed(&["reload"]);
    assert_eq!(text, "reloaded: access.matrix_file\n");
    assert_eq!(client.check(&token, wish).await.data()["allowed"], false);
    // An invalid one changes nothing.
    std::fs::write(&file, "[admin]").unwrap();
    Operator::In(desk.directory.path()).fail(&["reload"], "admin.conversation");
    assert_eq!(client.check(&token, wish).await.data()["allowed"], false);
}

/// What an operator withdrew must not count, however slowly a client sends its body.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_comes_after_a_reload_is_judged_by_the_new_settings() {
    let directory = tempfile::tempdir().unwrap();
    let matrix = Operator::In(directory.path()).succeed(&["config", "matrix"]);
    let file = directory.path().join("matrix.toml");
    std::fs::write(&file, &matrix).unwrap();
    let in_file = format!("access.matrix_file = \"{}\"\n", file.display());
    let desk = Desk::start(&format!("{in_file}approval.methods = [\"otp\", \"phone\"]"));
    let token = desk.client().await.sign_in("admin01").await;
    let wish = json!({ "resource": "conversation", "operation": "read", "scope": "all" });
    let asked = json!({ "method": "POST", "path": "/api/admin/agents/agent01/unlock" });
    let mut held = Vec::new();
    for (path, body, expected) in
        [("/api/auth/check", wish, "\"allowed\":false"), ("/api/auth/approvals", asked, "\"reason\":\"approvals_off\"")]
    {
        let body = body.to_string();
        held.push((path, hold(&desk, path, &token, &body).await, body, expected));
    }
    let (before, admin) = matrix.split_once("[admin]").unwrap();
    std::fs::write(&file, format!("{before}[admin]{}", admin.replacen("read = \"all\"", "read = \"own\"", 1))).unwrap();
    // Several reloads while a body is awaited.
    desk.reload(&format!("{in_file}approval.methods = [\"phone\"]"));
    desk.reload(&format!("{in_file}approval.methods = [\"otp\"]"));
    for (path, mut stream, body, expected) in held {
        stream.write_all(body.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.contains(expected), "{path}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_reloads_and_the_log_changes_its_level() {
    let desk = Desk::start("log.level = \"info\"");
    desk.page().await;
    desk.write("log.level = \"debug\"\nbranding.name = \"Signalled Ltd\"");
    desk.process.hang_up();
    until("the new name", async || desk.page().await.contains("Signalled Ltd")).await;
    desk.page().await;
    let (code, log) = desk.process.terminate();
    assert_eq!(code, Some(0), "{log}");
    let (_, after) = log.split_once("settings reloaded").unwrap_or_else(|| panic!("{log}"));
    assert!(after.contains("answered"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_needs_a_restart_is_named_and_the_rest_changes() {
    let desk = Desk::start("");
    let changed = "data = \"./elsewhere\"\nsession.cache_entries = 2000\nsession.lifetime = \"1h\"";
    desk.write(changed);
    let data = desk.directory.path().join("data");
    let operator = Operator::In(desk.directory.path());
    // The file names another directory, so the command is told where the service runs.
    let text = operator.succeed(&["reload", "--data", data.to_str().unwrap()]);
    assert_eq!(text, "reloaded: session.lifetime; needs a restart: data, session.cache_entries\n");
    let again = operator.succeed(&["reload", "--data", data.to_str().unwrap()]);
    assert_eq!(again, "nothing to reload; needs a restart: data, session.cache_entries\n");
    let mut client = desk.client().await;
    let token = client.sign_in("user01").await;
    assert!(client.verify(&token).await["expires_in"].as_u64().unwrap() <= 3600);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_settings_change_nothing_and_are_reported() {
    let desk = Desk::start("branding.name = \"Before Ltd\"");
    let [successful, at] =
        ["deskpass_config_last_reload_successful", "deskpass_config_last_reload_success_timestamp_seconds"];
    assert_eq!(desk.metric(successful).await, "1");
    let started = desk.metric(at).await;
    let operator = Operator::In(desk.directory.path());
    let logo = "branding.name = \"After Ltd\"\nbranding.logo = \"missing.svg\"";
    for (settings, words) in [
        ("branding.name = \"After Ltd\"\nsession.lifetime = \"soon\"\nlimits.qrcod = 1", "session.lifetime"),
        (logo, "missing.svg"),
        ("branding.name = \"After Ltd\"\n[broken", "not TOML"),
    ] {
        desk.write(settings);
        let text = operator.fail(&["reload"], words);
        if words == "session.lifetime" {
            assert!(text.contains("limits.qrcod") && text.contains("limits.qrcode"), "{text}");
        }
        assert!(desk.page().await.contains("Before Ltd"));
    }
    assert_eq!((desk.metric(successful).await, desk.metric(at).await), ("0".to_owned(), started));
    assert_eq!(desk.reload("branding.name = \"After Ltd\""), "reloaded: branding.name\n");
    assert_eq!(desk.metric(successful).await, "1");
    // The other mode has other defaults.
    let mut other = binary();
    other.args(["reload"]).current_dir(desk.directory.path());
    let text = String::from_utf8(other.output().unwrap().stderr).unwrap();
    assert!(text.contains("add --dev"), "{text}");
    let (_, log) = desk.process.terminate();
    assert_eq!(log.matches("settings not reloaded: nothing was changed").count(), 2, "{log}");
}

#[test]
fn a_service_that_the_command_does_not_reach_is_reloaded_by_a_signal() {
    let directory = tempfile::tempdir().unwrap();
    Operator::In(directory.path()).fail(&["reload"], "kill -HUP");
    let place = Servers::shared().cluster_store();
    Operator::At(&place).fail(&["reload"], "systemctl reload deskpass");
}

/// Signs in through the platform; returns the address that the browser is sent to.
async fn landing(desk: &Process, platform: &Simulated) -> String {
    let mut client = Client::connect(&desk.address).await;
    let (link, cookies) = client.begin_oauth("https://desk.example.com/itagent/").await;
    let back = Client::connect(&platform.address).await.authorize(&link, "user01").await;
    location(&client.oauth_callback(&back, &cookies).await).to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_secret_of_the_platform_is_used_without_a_restart() {
    let platform = Simulated::start(&["--secret", "new-secret", "--domain", "desk.example.com"]);
    let directory = tempfile::tempdir().unwrap();
    let (secret, data) = (directory.path().join("secret"), directory.path().join("data"));
    std::fs::write(&secret, "old-secret").unwrap();
    let at = |path: &str| format!("http://{}/sim{path}", platform.address);
    let mut command = binary();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&data).current_dir(directory.path());
    let required = PRODUCTION.into_iter().filter(|(key, _)| *key != "platform.secret");
    with_settings(&mut command, required.chain([("platform.agent_id", "1000002"), ("server.settle", "0s")]));
    let [api, authorize, web] = ["", "/connect/oauth2/authorize", "/wwlogin/sso/login"].map(at);
    with_settings(
        &mut command,
        [("platform.api_url", &*api), ("platform.authorize_url", &authorize), ("platform.web_login_url", &web)],
    );
    command.env("DESKPASS_PLATFORM__SECRET_FILE", &secret);
    let desk = Process::spawn(command);
    assert!(landing(&desk, &platform).await.contains("error="));
    std::fs::write(&secret, "new-secret").unwrap();
    // The command has none of the service's variables, and needs none.
    let mut reload = binary();
    reload.args(["reload", "--data"]).arg(&data).current_dir(directory.path());
    let output = reload.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "reloaded: platform.secret\n", "{output:?}");
    let landed = landing(&desk, &platform).await;
    assert!(landed.contains("ticket="), "{landed}");
}

/// The settings of a round: every second round changes them back.
fn alternating(round: usize) -> String {
    let (lifetime, qrcode) = (["2h", "3h"][round % 2], ["100/min", "200/min"][round % 2]);
    format!(
        "branding.name = \"Round {}\"\nsession.lifetime = \"{lifetime}\"\nlimits.qrcode = \"{qrcode}\"\n\
         server.idle_timeout = \"{}s\"\n",
        round % 2,
        60 + round % 2
    )
}

/// Sends requests until told to stop, on a connection that stays open and on new ones; each must succeed.
async fn load(address: String, enough: Arc<AtomicBool>, sent: Arc<AtomicUsize>) {
    let mut kept = Client::connect(&address).await;
    let token = kept.sign_in("user01").await;
    while !enough.load(Ordering::Relaxed) {
        kept.me(&token).await.data();
        assert!(kept.is_valid(&token).await);
        let page = Client::connect(&address).await.get("/", &[]).await;
        assert!(page.status == 200 && page.body.contains("Round "), "{page:?}");
        sent.fetch_add(3, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_during_many_reloads() {
    let desk = Desk::start(&alternating(0));
    let token = desk.client().await.sign_in("user01").await;
    let mut socket = TestSocket::open(&desk.process.address, "employee", &token).await;
    socket.event("ready").await;
    let (enough, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut clients = JoinSet::new();
    for _ in 0..3 {
        clients.spawn(load(desk.process.address.clone(), Arc::clone(&enough), Arc::clone(&sent)));
    }
    for round in 1..=rounds(1_000) {
        desk.write(&alternating(round));
        let result = reload_by(&desk.socket()).await.unwrap();
        assert!(result.contains("reloaded: session.lifetime"), "{result}");
        assert_eq!(clients.len(), 3, "a request failed");
    }
    enough.store(true, Ordering::Relaxed);
    // Panics where a request failed.
    clients.join_all().await;
    socket.is_quiet().await;
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent > 100, "only {sent} requests: this test looks at nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_during_a_reload_leaves_nothing_half_done() {
    let mut desk = Desk::start(&alternating(0));
    let mut tokens = Vec::new();
    for round in 1..=rounds(50) {
        tokens.push(desk.client().await.sign_in("user01").await);
        let mut reloads = JoinSet::new();
        for turn in 0..4 {
            desk.write(&alternating(round + turn));
            let socket = desk.socket();
            reloads.spawn(async move { reload_by(&socket).await });
        }
        // One is done, others are waiting or under way.
        reloads.join_next().await;
        let Desk { directory, process } = desk;
        process.kill();
        desk = Desk { process: serve(directory.path()), directory };
        let name = format!("Round {}", (round + 3) % 2);
        assert!(desk.page().await.contains(&name), "the file counts, as it is");
        let mut client = desk.client().await;
        for token in &tokens {
            assert!(client.is_valid(token).await);
        }
        desk.write(&alternating(round));
        assert!(reload_by(&desk.socket()).await.unwrap().starts_with("{\"Ok\""));
    }
}
