//! Nodes of this version and of the previous release on the same PostgreSQL and Redis, as during an upgrade one after the other.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::harness::{
    Client, ClusterStore, OidcBrowser, OidcClient, Platform, Process, Servers, Tokens, binary, decoded, finished,
    fragment, location, program, signed_by_us, until, with_settings,
};

/// The program of the previous release: `tools/previous` builds it.
fn previous() -> Command {
    let path =
        std::env::var_os("PREVIOUS_RELEASE").expect("PREVIOUS_RELEASE names the program of the previous release");
    program(Path::new(&path))
}

/// Runs a command of a release to its end; returns what it prints.
fn succeed(mut command: Command, arguments: &[&str]) -> String {
    let output = finished(command.args(arguments));
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

const REDIRECT_URI: &str = "https://rp.example/callback";

/// The command that registers a program whose ID tokens are signed with this algorithm.
fn registration(algorithm: &str) -> [&str; 9] {
    ["oidc", "client", "add", "Wiki", "--redirect-uri", REDIRECT_URI, "--algorithm", algorithm, "--json"]
}

/// The program that the command registered.
fn registered(output: &str) -> OidcClient {
    let made: Value = serde_json::from_str(output).unwrap();
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    OidcClient { id: text("client_id"), secret: Some(text("client_secret")), redirect_uri: REDIRECT_URI.to_owned() }
}

/// PostgreSQL, Redis and the platform, which all nodes share.
struct Scene {
    place: ClusterStore,
    platform: Platform,
}

impl Scene {
    async fn new() -> Self {
        Self { place: Servers::shared().cluster_store(), platform: Platform::start("desk.example.com").await }
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = self.platform.pairs();
        settings.push(("limits.enabled", "false".to_owned()));
        settings
    }

    fn node(&self, release: Command) -> Process {
        let settings = self.settings();
        let settings: Vec<_> = settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
        Process::release_node(release, &self.place, &settings)
    }

    fn operate(&self, mut command: Command, arguments: &[&str]) -> String {
        command.current_dir(std::env::temp_dir());
        let settings = self.settings();
        with_settings(&mut command, settings.iter().map(|(key, value)| (*key, value.as_str())));
        with_settings(&mut command, self.place.settings());
        succeed(command, arguments)
    }

    fn add_people(&self) {
        self.operate(previous(), &["migrate", "--create"]);
        self.operate(previous(), &["employee", "add", "user01", "--role", "user"]);
        self.operate(previous(), &["employee", "add", "agent01", "--role", "agent", "--role", "user"]);
    }

    fn add_program(&self, algorithm: &str) -> OidcClient {
        registered(&self.operate(previous(), &registration(algorithm)))
    }
}

/// A session that begins at one node counts at the other, and ends there.
async fn a_session(scene: &Scene, one: &Process, other: &Process) {
    let mut here = Client::connect(&one.address).await;
    let mut there = Client::connect(&other.address).await;
    let token = scene.platform.sign_in(&mut here, "agent01").await;
    assert_eq!(there.verify(&token).await["employee_id"], "agent01");
    there.switch(&token, "user").await.data();
    until("the role is known", async || here.verify(&token).await["current_role"] == "user").await;
    there.logout(&token).await.data();
    until("the sign-out is known", async || !here.is_valid(&token).await).await;
}

/// A QR code of one node, scanned and confirmed at the other, and collected where it was shown.
async fn a_qr_code(scene: &Scene, one: &Process, other: &Process) {
    let mut here = Client::connect(&one.address).await;
    let mut there = Client::connect(&other.address).await;
    let qrcode = here.qrcode().await;
    let confirm = fragment(&scene.platform.scan(&mut there, &qrcode, "user01").await, "confirm");
    there.decide("confirm", &confirm).await.data();
    let status = here.scan_status(qrcode["ticket"].as_str().unwrap()).await;
    assert_eq!(here.verify(status["token"].as_str().unwrap()).await["employee_id"], "user01", "{status}");
}

/// A sign-in by redirect that begins at one node and comes back to the other.
async fn a_redirect(scene: &Scene, one: &Process, other: &Process) {
    let mut here = Client::connect(&one.address).await;
    let mut there = Client::connect(&other.address).await;
    let (link, cookies) = here.begin_oauth("https://desk.example.com/itagent/").await;
    let back = scene.platform.client().await.authorize(&link, "agent01").await;
    let landed = there.oauth_callback(&back, &cookies).await;
    let path = format!("/api/auth/scan/status?ticket={}", fragment(location(&landed), "ticket"));
    let traded = here.get(&path, &[("cookie", &cookies), ("sec-fetch-site", "same-origin")]).await.data();
    assert_eq!(here.verify(traded["token"].as_str().unwrap()).await["employee_id"], "agent01", "{traded}");
}

/// The key that signed an ID token, which these nodes publish.
async fn key_of(nodes: [&mut Client; 2], id_token: &str) -> String {
    for node in nodes {
        let jwks = node.jwks().await;
        assert!(signed_by_us(&jwks, id_token), "{id_token} is not of {jwks}");
    }
    decoded(id_token).0["kid"].as_str().unwrap().to_owned()
}

/// A code of one node is redeemed at the other, refreshed at the first, and dies with the session everywhere. Both sign with the same key,
/// and publish it; returns its identifier.
async fn a_program(scene: &Scene, program: &OidcClient, one: &Process, other: &Process) -> String {
    let mut here = Client::connect(&one.address).await;
    let mut there = Client::connect(&other.address).await;
    let token = scene.platform.sign_in(&mut here, "user01").await;
    let mut browser = OidcBrowser::at(&one.address).await;
    browser.token = Some(token.clone());
    let authorization = program.authorization();
    let id = browser.begin(&authorization).await;
    let code = browser.proceed_to_client(&id).await.code();
    let tokens = Tokens::of(&program.redeem(&mut there, &code, &authorization.verifier).await);
    let key = key_of([&mut here, &mut there], &tokens.id_token).await;
    assert_eq!(here.userinfo(&tokens.access).await.status, 200);
    let tokens = Tokens::of(&program.refresh(&mut here, tokens.refresh()).await);
    assert_eq!(key_of([&mut here, &mut there], &tokens.id_token).await, key);
    assert_eq!(there.userinfo(&tokens.access).await.status, 200);
    there.logout(&token).await.data();
    until("the token is dead", async || here.userinfo(&tokens.access).await.status == 401).await;
    key
}

/// Uses each of these programs between the nodes; returns the keys that signed.
async fn programs(scene: &Scene, programs: &[OidcClient], one: &Process, other: &Process) -> Vec<String> {
    let mut keys = Vec::new();
    for program in programs {
        keys.push(a_program(scene, program, one, other).await);
    }
    keys
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the program of the previous release: make torture builds it"]
async fn nodes_of_both_versions_serve_the_same_users() {
    let scene = Scene::new().await;
    scene.add_people();
    let all = ["ES256", "RS256"].map(|algorithm| scene.add_program(algorithm));
    let old = scene.node(previous());
    let mut client = Client::connect(&old.address).await;
    let before = scene.platform.sign_in(&mut client, "user01").await;
    // No node of this version runs yet.
    let old_keys = programs(&scene, &all, &old, &old).await;
    let new = scene.node(binary());
    assert!(Client::connect(&new.address).await.is_valid(&before).await);
    // A node of the previous release also starts on the tables of this version.
    let restarted = scene.node(previous());
    drop(old);
    for [one, other] in [[&restarted, &new], [&new, &restarted]] {
        a_session(&scene, one, other).await;
        a_qr_code(&scene, one, other).await;
        a_redirect(&scene, one, other).await;
        assert_eq!(programs(&scene, &all, one, other).await, old_keys);
    }
    // Keys that this version makes serve the previous one as well.
    scene.operate(binary(), &["oidc", "rotate-keys", "--now"]);
    for node in [&restarted, &new] {
        let mut client = Client::connect(&node.address).await;
        until("the old keys are withdrawn", async || {
            let jwks = client.jwks().await.to_string();
            !old_keys.iter().any(|key| jwks.contains(key))
        })
        .await;
    }
    let new_keys = programs(&scene, &all, &restarted, &new).await;
    assert!(!new_keys.iter().any(|key| old_keys.contains(key)), "{new_keys:?}");
    assert_eq!(programs(&scene, &all, &new, &restarted).await, new_keys);
    assert!(Client::connect(&new.address).await.is_valid(&before).await);
    scene.operate(binary(), &["audit", "verify"]);
}

/// A command of a release in development mode, on the embedded data in this directory.
fn in_development(mut release: Command, directory: &Path, arguments: &[&str]) -> Command {
    release.args(arguments).arg("--dev").current_dir(directory);
    release
}

fn serve(release: Command, directory: &Path) -> Process {
    Process::spawn(in_development(release, directory, &["serve", "--listen", "127.0.0.1:0"]))
}

/// A program that the previous release registers while it serves.
async fn program_of_previous(directory: &Path, algorithm: &str, browser: &mut OidcBrowser) -> OidcClient {
    let client = registered(&succeed(in_development(previous(), directory, &registration(algorithm)), &[]));
    until("the service knows the program", async || {
        browser.http.get(&client.authorization().with("prompt", "none").path(), &[]).await.status == 303
    })
    .await;
    client
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the program of the previous release: make torture builds it"]
async fn an_encrypted_backup_of_the_previous_release_is_restored() {
    let [before, after] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let old = serve(previous(), before.path());
    let mut held = Vec::new();
    for algorithm in ["ES256", "RS256"] {
        let mut browser = OidcBrowser::at(&old.address).await;
        let program = program_of_previous(before.path(), algorithm, &mut browser).await;
        let tokens = browser.tokens(&program, "user01").await;
        held.push((program, tokens, browser.token.unwrap()));
    }
    let mut client = Client::connect(&old.address).await;
    let ended = client.sign_in("user01").await;
    client.logout(&ended).await.data();
    client.first_password("agent01").await;
    assert_eq!(old.terminate().0, Some(0));
    let password = after.path().join("password");
    std::fs::write(&password, "correct horse battery\n").unwrap();
    let file = after.path().join("backup");
    let encrypted = [file.to_str().unwrap(), "--password-file", password.to_str().unwrap()];
    succeed(in_development(previous(), before.path(), &["backup"]), &encrypted);
    succeed(in_development(binary(), after.path(), &["restore", "--keep-sessions"]), &encrypted);

    let new = serve(binary(), after.path());
    let mut client = Client::connect(&new.address).await;
    for (program, tokens, session) in held {
        assert_eq!(client.verify(&session).await["employee_id"], "user01");
        assert_eq!(client.userinfo(&tokens.access).await.status, 200);
        let refreshed = Tokens::of(&program.refresh(&mut client, tokens.refresh()).await);
        let jwks = client.jwks().await;
        assert!(signed_by_us(&jwks, &tokens.id_token) && signed_by_us(&jwks, &refreshed.id_token), "{jwks}");
        assert_eq!(decoded(&refreshed.id_token).0["kid"], decoded(&tokens.id_token).0["kid"]);
    }
    assert_eq!(client.me(&ended).await.refused(401, 1001).reason(), "signed_out");
    client.partial_sign_in("agent01").await;
    assert_eq!(new.terminate().0, Some(0));
    succeed(in_development(binary(), after.path(), &["audit", "verify"]), &[]);
}
