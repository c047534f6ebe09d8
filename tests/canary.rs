//! Secrets that go in everywhere must come out nowhere.

mod agents;
mod oidc;
mod questions;
mod services;
mod sockets;

use std::process::Stdio;

use serde_json::json;

use crate::harness::{
    Client, ClusterStore, PASSWORDS, PRODUCTION, Process, Response, Servers, StoreBackend, binary, cookies, finished,
    fragment, free_address, location, request, with_settings,
};

/// A service that logs everything, alone on its store.
struct Scene {
    directory: tempfile::TempDir,
    log: tempfile::NamedTempFile,
    /// The servers of the cluster store, used by this test only.
    pair: Option<(Servers, ClusterStore)>,
}

impl Scene {
    fn new() -> Self {
        let pair = (StoreBackend::current() == StoreBackend::ScaledOut).then(|| {
            let servers = Servers::with_passwords();
            let place = servers.cluster_store();
            (servers, place)
        });
        Self { directory: tempfile::tempdir().unwrap(), log: tempfile::NamedTempFile::new().unwrap(), pair }
    }

    fn serve(&self, format: &str) -> Process {
        let mut command = binary();
        command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(self.directory.path());
        with_settings(&mut command, self.pair.iter().flat_map(|(_, place)| place.settings()));
        with_settings(&mut command, [("log.level", "trace"), ("log.format", format)]);
        let log = std::fs::OpenOptions::new().append(true).open(self.log.path()).unwrap();
        command.stderr(Stdio::from(log));
        Process::spawn(command)
    }

    /// The whole log, after a check that it contains no password. The service has to stop by itself: a killed process loses its
    /// last log lines, which the test would then not check.
    fn log(&self, process: Process) -> String {
        assert_eq!(process.terminate().0, Some(0));
        let log = std::fs::read_to_string(self.log.path()).unwrap();
        assert!(!log.contains("canary"), "the log has a password");
        log
    }

    /// All stored data: files, rows and Redis records.
    fn kept(&self) -> Vec<Vec<u8>> {
        let paths = std::fs::read_dir(self.directory.path()).unwrap().map(|entry| entry.unwrap().path());
        let files = paths.filter(|path| path.is_file()).map(|path| std::fs::read(path).unwrap());
        let rows = self.pair.iter().flat_map(|(_, place)| place.rows()).map(String::into_bytes);
        files.chain(rows).chain(self.shared()).collect()
    }

    /// All data in Redis, including key names.
    fn shared(&self) -> Vec<Vec<u8>> {
        let records = self.pair.iter().flat_map(|(_, place)| place.records());
        records.flat_map(|(key, value)| [key.into_bytes(), value]).collect()
    }
}

fn is_in(needle: &str, things: &[Vec<u8>]) -> bool {
    things.iter().any(|thing| thing.windows(needle.len()).any(|window| window == needle.as_bytes()))
}

/// Makes every mistake that is possible with a token; returns all responses except those that hand over the token.
async fn misuse(client: &mut Client, token: &str) -> Vec<String> {
    let bearer = format!("Bearer {token}");
    let json = ("content-type", "application/json");
    let mut out = Vec::new();
    let mut note = |answer: Response| out.push(format!("{:?} {}", answer.headers, answer.body));
    note(client.post("/api/auth/verify", &[], &json!({ "token": token })).await);
    note(client.me(token).await);
    note(client.switch(token, token).await.clone());
    note(client.post(&format!("/api/auth/{token}"), &[], &json!({})).await);
    note(client.get(&format!("/api/auth/me?token={token}&ticket={token}"), &[("cookie", token)]).await);
    note(client.get("/api/auth/me", &[("authorization", &format!("Basic {token}"))]).await);
    note(client.get("/api/auth/me", &[("authorization", &bearer), ("authorization", &bearer)]).await);
    note(client.send(&request("POST", "/api/auth/verify", &[json], format!("{{\"token\":{token}}}").as_bytes())).await);
    note(client.send(&request("POST", "/api/auth/verify", &[], token.as_bytes())).await);
    note(
        client.post("/api/auth/bind", &[("user-agent", "x")], &json!({ "employee_id": token.replace('_', "/") })).await,
    );
    note(client.post("/api/dev/login", &[], &json!({ "employee_id": "user01", "role": "nothing" })).await);
    note(client.logout(token).await);
    note(client.me(token).await);
    note(client.get("/metrics", &[]).await);
    out
}

on_every_store! {
    async fn a_token_reaches_no_log_no_error_no_figure_and_no_file() {
        let scene = Scene::new();
        for format in ["json", "text"] {
            let process = scene.serve(format);
            let mut client = Client::connect(&process.address).await;
            let token = client.sign_in("admin01").await;
            let random = &token[4..47];
            // The refusal names the requested role, so that users see what they mistyped; nothing else is repeated.
            let answers = misuse(&mut client, &token).await;
            let repeated: Vec<_> = answers.iter().filter(|answer| answer.contains(random)).collect();
            assert_eq!(repeated.len(), 1, "{repeated:?}");
            assert!(repeated[0].contains("role_not_held"));
            let kept = scene.kept();
            let log = scene.log(process);
            assert!(log.contains("answered") && log.contains("signed in"), "the log is silent: this test looks at nothing");
            assert!(log.contains("/metrics"), "the log ends too early");
            assert!(!log.contains(random), "the log has the token");
            assert!(!is_in(random, &kept), "the token is kept somewhere");
        }
    }
}

#[test]
fn settings_that_are_secret_stay_so() {
    let secrets = [PRODUCTION[1].1, PRODUCTION[3].1];
    let directory = tempfile::tempdir().unwrap();
    let production = |arguments: &[&str]| {
        let mut command = binary();
        command.current_dir(directory.path()).args(arguments);
        with_settings(&mut command, PRODUCTION);
        with_settings(&mut command, [("log.level", "trace")]);
        command
    };
    for arguments in [
        &["config", "show"][..],
        &["config", "check"],
        &["migrate", "--create"],
        &["employee", "list"],
        &["serve", "--listen", "nonsense"],
    ] {
        let output = finished(&mut production(arguments));
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!text.is_empty());
        for secret in secrets {
            assert!(!text.contains(secret), "{arguments:?} disclosed a secret:\n{text}");
        }
    }
    let process = Process::spawn(production(&["serve", "--listen", "127.0.0.1:0"]));
    let (code, log) = process.terminate();
    assert_eq!(code, Some(0));
    assert!(!secrets.iter().any(|secret| log.contains(secret)));
}

/// Signs in through the platform in every way; returns every secret on the way.
async fn sign_in_every_way(client: &mut Client, address: &str) -> Vec<String> {
    let page = format!("http://{address}/h5/");
    let page_of_ours = client.get("/api/auth/qrcode", &[("sec-fetch-site", "same-origin")]).await;
    let browser = cookies(&page_of_ours);
    let code = client.qrcode().await;
    let scan_id = code["qrcode_url"].as_str().unwrap().split_once("sid%3D").unwrap().1[..53].to_owned();
    let confirm = client.scan_as(&code, "user01").await;
    client.decide("confirm", &confirm).await.data();
    let ticket = code["ticket"].as_str().unwrap().to_owned();
    let token = client.scan_status(&ticket).await["token"].as_str().unwrap().to_owned();
    let (link, flow) = client.begin_oauth(&page).await;
    let back = client.authorize(&link, "user01").await;
    let platform_code = back.split_once("code=").unwrap().1.split('&').next().unwrap().to_owned();
    let landed = location(&client.oauth_callback(&back, &flow).await).to_owned();
    let back = client.authorize(&link, "user01").await;
    let pending = fragment(location(&client.oauth_callback(&back, "").await), "continue");
    let stranger = client.authorize(&link, "wwpartner/partner01").await;
    let proof = cookies(&client.oauth_callback(&stranger, "").await);
    for fault in
        [json!({ "api": "auth/getuserinfo", "errcode": 60020 }), json!({ "drop": true }), json!({ "body": "<html>" })]
    {
        client.set_fault(&fault).await;
        let back = client.authorize(&link, "user01").await;
        client.oauth_callback(&back, "").await;
    }
    let calls = client.get("/sim/calls", &[]).await.json();
    let access = calls["last"]["auth/getuserinfo"]["pairs"][0][1].as_str().unwrap().to_owned();
    let value = |cookie: &str| cookie.split_once('=').unwrap().1.to_owned();
    let (flow, proof, browser) = (value(&flow), value(&proof), value(&browser));
    vec![
        browser,
        scan_id,
        confirm,
        ticket,
        token,
        flow,
        platform_code,
        fragment(&landed, "ticket"),
        pending,
        proof,
        access,
    ]
}

on_every_store! {
    async fn nothing_on_the_way_through_the_platform_reaches_log_figure_or_file() {
        let scene = Scene::new();
        let process = scene.serve("json");
        let mut client = Client::connect(&process.address).await;
        let secrets = sign_in_every_way(&mut client, &process.address).await;
        let figures = client.get("/metrics", &[]).await.body;
        let kept = scene.kept();
        let log = scene.log(process);
        assert!(
            log.contains("signed in") && log.contains("sign-in failed"),
            "the log is silent: this test looks at nothing"
        );
        assert!(figures.contains("deskpass_platform_sign_ins_refused_total{reason=\"platform_unavailable\"} 3"), "{figures}");
        for secret in secrets {
            // Our own secrets begin with a prefix that the log may contain.
            let random = secret.get(4..47).unwrap_or(&secret);
            assert!(random.len() >= 20, "{secret}");
            for text in [&log, &figures] {
                let at = text.find(random).map(|at| &text[at.saturating_sub(300)..at]);
                assert_eq!(at, None, "{secret} is disclosed");
            }
            assert!(!is_in(random, &kept), "{secret} is kept somewhere");
        }
        // The platform's credentials are in the request's URL, which must not be logged.
        assert!(!log.contains("corpsecret") && !log.contains("access_token="), "an address of the platform is disclosed");
    }
}

/// The data in Redis reveals nothing about a user to its reader.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_holds_nothing_that_can_be_read() {
    let scene = StoreBackend::ScaledOut.run(async { Scene::new() }).await;
    let process = scene.serve("json");
    let mut client = Client::connect(&process.address).await;
    sign_in_every_way(&mut client, &process.address).await;
    let waiting = client.qrcode().await;
    client.scan_as(&waiting, "agent01").await;
    let shared = scene.shared();
    assert!(shared.len() >= 10, "{} names and records: this test looks at nothing", shared.len());
    assert!(is_in("user01", &scene.kept()), "not even PostgreSQL has it: this test looks at nothing");
    // Long enough not to occur by chance.
    let words = [
        ["user01", "agent01", "partner01", "wwpartner"],
        ["wwdeskpass", "Uma User", "Arno", "Sales"],
        ["127.0.0.1", "phone", "http", "auth_login"],
        ["dpt_", "dpa_", "dps_", "dpf_"],
        ["scanned", "waiting", "employee", "expires"],
    ];
    for word in words.concat() {
        assert!(!is_in(word, &shared), "{word} can be read");
    }
}

/// The passwords of the servers, with servers that accept them, with servers that reject them, and with no servers.
#[test]
fn the_passwords_of_the_pair_stay_secret() {
    let servers = Servers::with_passwords();
    let place = servers.cluster_store();
    let wrong = ClusterStore {
        store: place.store.replace("canary-store", "canary-wrong"),
        shared: place.shared.replace("canary-shared", "canary-wrong"),
        ..place.clone()
    };
    let nowhere = ClusterStore {
        store: format!("postgres://desk:{}@{}/desk", PASSWORDS[0].replace('@', "%40"), free_address()),
        shared: format!("redis://:{}@{}", PASSWORDS[1].replace('@', "%40"), free_address()),
        ..place.clone()
    };
    // The doctor looks for a running service here, and must not find one of another test.
    let silent = free_address();
    let directory = tempfile::tempdir().unwrap();
    for (place, works) in [(&place, true), (&wrong, false), (&nowhere, false)] {
        for (arguments, is_fine) in [
            (&["config", "show"][..], true),
            (&["config", "check"], true),
            (&["migrate"], works),
            (&["employee", "list"], works),
            (&["doctor"], false),
            (&["serve", "--listen", "nonsense"], false),
        ] {
            let mut command = binary();
            command.current_dir(directory.path()).args(arguments).arg("--dev");
            let more = [("log.level", "trace"), ("listen", silent.as_str())];
            with_settings(&mut command, place.settings().into_iter().chain(more));
            let output = finished(&mut command);
            let text =
                format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert_eq!(output.status.success(), is_fine, "{arguments:?} {text}");
            assert!(!text.contains("canary"), "{arguments:?} disclosed a password:\n{text}");
        }
    }
}
