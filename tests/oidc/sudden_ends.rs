//! SIGKILL while clients redeem and refresh: all of it or nothing, and nothing that was answered is undone.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::harness::{
    Client, OidcBrowser, OidcClient, Process, Response, Tokens, binary, oauth_error, query, request, rounds,
    with_settings,
};

/// The client of the settings file.
const SETTINGS: &str = r#"
[[oidc.clients]]
id = "wiki"
name = "Wiki"
secret = "canary-secret-canary-secret-canary-secret"
redirect_uris = ["https://rp.example/callback"]
algorithm = "ES256"
"#;

fn wiki() -> OidcClient {
    OidcClient {
        id: "wiki".to_owned(),
        secret: Some("canary-secret-canary-secret-canary-secret".to_owned()),
        redirect_uri: "https://rp.example/callback".to_owned(),
    }
}

fn serve(directory: &Path) -> Process {
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0"]).current_dir(directory);
    with_settings(&mut command, [("limits.enabled", "false"), ("public_url", "http://desk.test")]);
    Process::spawn(command)
}

/// What a client knows of one grant.
#[derive(Clone, Debug)]
struct Chain {
    /// The last tokens that were answered.
    tokens: Tokens,
    /// The session, and whether its logout was acknowledged; `None` while it was asked for and not answered.
    session: String,
    ended: Option<bool>,
}

/// Counts acknowledgements and signals when there are enough.
#[derive(Debug)]
struct Trigger {
    left: AtomicUsize,
    now: Notify,
}

impl Trigger {
    fn acknowledged(&self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.now.notify_one();
        }
    }
}

/// Sends the refresh of a chain; `None` when the service is gone.
async fn refreshed(http: &mut Client, chain: &Chain) -> Option<Response> {
    let client = wiki();
    let basic = client.basic();
    let headers = [("authorization", &*basic), ("content-type", "application/x-www-form-urlencoded")];
    let form = format!("grant_type=refresh_token&refresh_token={}", chain.tokens.refresh());
    http.try_send(&request("POST", "/oidc/token", &headers, form.as_bytes())).await
}

async fn ended(http: &mut Client, session: &str) -> Option<Response> {
    let bearer = format!("Bearer {session}");
    http.try_send(&request("POST", "/api/auth/logout", &[("authorization", &bearer)], b"")).await
}

/// Refreshes and signs out in a session until the service is gone.
async fn customer(address: String, mut chain: Chain, turns: usize, trigger: Arc<Trigger>) -> Chain {
    let mut http = Client::connect(&address).await;
    for turn in 0.. {
        if turn == turns {
            chain.ended = None;
            if ended(&mut http, &chain.session).await.is_some() {
                chain.ended = Some(true);
                trigger.acknowledged();
            }
            break;
        }
        let Some(answer) = refreshed(&mut http, &chain).await else { break };
        chain.tokens = Tokens::of(&answer);
        trigger.acknowledged();
    }
    chain
}

/// Signs in at a service.
async fn enter(address: &str) -> Chain {
    let mut browser = OidcBrowser::at(address).await;
    let tokens = browser.tokens(&wiki(), "user01").await;
    Chain { tokens, session: browser.token.unwrap(), ended: Some(false) }
}

async fn check(address: &str, chain: &Chain) {
    let (mut http, client) = (Client::connect(address).await, wiki());
    match chain.ended {
        Some(true) => assert!(client.is_over(&mut http, &chain.tokens).await, "an ended session came back"),
        Some(false) => {
            assert_eq!(http.userinfo(&chain.tokens.access).await.status, 200, "answered tokens were lost");
            // The same request again: the service knows its own answer, or the request never arrived.
            let answer = client.refresh(&mut http, chain.tokens.refresh()).await;
            let next = Tokens::of(&answer);
            assert!(client.is_live(&mut http, &next).await, "{chain:?}");
        }
        None => {
            let answer = client.refresh(&mut http, chain.tokens.refresh()).await;
            assert!(answer.status == 200 || oauth_error(&answer) == "invalid_grant", "{answer:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigkill_between_requests_and_answers_is_all_or_nothing() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("deskpass.toml"), SETTINGS).unwrap();
    let mut process = serve(directory.path());
    for kill in 0..rounds(30) {
        let trigger = Arc::new(Trigger { left: AtomicUsize::new(5 + kill * 7 % 23), now: Notify::new() });
        let mut customers = JoinSet::new();
        for at in 0..6 {
            let chain = enter(&process.address).await;
            let turns = if at % 2 == 0 { usize::MAX } else { 2 };
            customers.spawn(customer(process.address.clone(), chain, turns, Arc::clone(&trigger)));
        }
        // Others redeem codes meanwhile.
        let (mut browser, asked) = (OidcBrowser::at(&process.address).await, wiki().authorization());
        let code = browser.enter(&asked, "agent01").await.code();
        let (form, basic) = (wiki(), wiki().basic());
        let form: Vec<_> =
            form.redemption(&code, &asked.verifier).map(|(name, value)| format!("{name}={value}")).into();
        let headers = [("authorization", &*basic), ("content-type", "application/x-www-form-urlencoded")];
        let redeem = request("POST", "/oidc/token", &headers, form.join("&").as_bytes());
        trigger.now.notified().await;
        let redeemed = tokio::spawn(async move { browser.http.try_send(&redeem).await });
        for _ in 0..kill * 5 % 13 {
            tokio::task::yield_now().await;
        }
        process.kill();
        let chains = customers.join_all().await;
        process = serve(directory.path());
        for chain in &chains {
            check(&process.address, chain).await;
        }
        if let Some(answer) = redeemed.await.unwrap() {
            let tokens = Tokens::of(&answer);
            assert!(wiki().is_live(&mut Client::connect(&process.address).await, &tokens).await);
        }
    }
    drop(process);
    let database = directory.path().join("data/deskpass.db");
    let halves =
        "SELECT count(*) FROM oidc_grant g WHERE NOT EXISTS (SELECT 1 FROM oidc_token t WHERE t.grant_id = g.id)";
    assert_eq!(query(&database, halves), ["0"], "a grant without tokens");
    let orphans =
        "SELECT count(*) FROM oidc_grant g WHERE NOT EXISTS (SELECT 1 FROM session s WHERE s.digest = g.session)";
    assert_eq!(query(&database, orphans), ["0"], "a grant without a session");
}
