//! Nodes of this version and of the previous release on the same PostgreSQL and Redis, as during an upgrade one after the other.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::harness::{
    Client, ClusterStore, OidcBrowser, OidcClient, Platform, Process, Servers, Tokens, binary, finished, fragment,
    location, program, until, with_settings,
};

/// The program of the previous release: `tools/previous` builds it.
fn previous() -> Command {
    let path =
        std::env::var_os("PREVIOUS_RELEASE").expect("PREVIOUS_RELEASE names the program of the previous release");
    program(Path::new(&path))
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
        command.args(arguments).current_dir(std::env::temp_dir());
        let settings = self.settings();
        with_settings(&mut command, settings.iter().map(|(key, value)| (*key, value.as_str())));
        with_settings(&mut command, self.place.settings());
        let output = finished(&mut command);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn add_people(&self) {
        self.operate(previous(), &["migrate", "--create"]);
        self.operate(previous(), &["employee", "add", "user01", "--role", "user"]);
        self.operate(previous(), &["employee", "add", "agent01", "--role", "agent", "--role", "user"]);
    }

    fn add_program(&self) -> OidcClient {
        let redirect_uri = "https://rp.example/callback".to_owned();
        let arguments =
            ["oidc", "client", "add", "Wiki", "--redirect-uri", &redirect_uri, "--algorithm", "ES256", "--json"];
        let made: Value = serde_json::from_str(&self.operate(previous(), &arguments)).unwrap();
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        OidcClient { id: text("client_id"), secret: Some(text("client_secret")), redirect_uri }
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

/// A code of one node is redeemed at the other, refreshed at the first, and dies with the session everywhere.
async fn a_program(scene: &Scene, program: &OidcClient, one: &Process, other: &Process) {
    let mut here = Client::connect(&one.address).await;
    let mut there = Client::connect(&other.address).await;
    let token = scene.platform.sign_in(&mut here, "user01").await;
    let mut browser = OidcBrowser::at(&one.address).await;
    browser.token = Some(token.clone());
    let authorization = program.authorization();
    let id = browser.begin(&authorization).await;
    let code = browser.proceed_to_client(&id).await.code();
    let tokens = Tokens::of(&program.redeem(&mut there, &code, &authorization.verifier).await);
    assert_eq!(here.userinfo(&tokens.access).await.status, 200);
    let tokens = Tokens::of(&program.refresh(&mut here, tokens.refresh()).await);
    assert_eq!(there.userinfo(&tokens.access).await.status, 200);
    there.logout(&token).await.data();
    until("the token is dead", async || here.userinfo(&tokens.access).await.status == 401).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the program of the previous release: make torture builds it"]
async fn nodes_of_both_versions_serve_the_same_users() {
    let scene = Scene::new().await;
    scene.add_people();
    let program = scene.add_program();
    let old = scene.node(previous());
    let mut client = Client::connect(&old.address).await;
    let before = scene.platform.sign_in(&mut client, "user01").await;
    let new = scene.node(binary());
    assert!(Client::connect(&new.address).await.is_valid(&before).await);
    // A node of the previous release also starts on the tables of this version.
    let restarted = scene.node(previous());
    drop(old);
    for [one, other] in [[&restarted, &new], [&new, &restarted]] {
        a_session(&scene, one, other).await;
        a_qr_code(&scene, one, other).await;
        a_redirect(&scene, one, other).await;
        a_program(&scene, &program, one, other).await;
    }
    assert!(Client::connect(&new.address).await.is_valid(&before).await);
    scene.operate(binary(), &["audit", "verify"]);
}
