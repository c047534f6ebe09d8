//! Races on two nodes: a code and a refresh token count once, and nothing outlives its session.

use std::time::Duration;

use tokio::task::JoinSet;

use super::{clients, desk, known_to, on_two_nodes, registered, two_nodes, unlimited};
use crate::harness::{
    OidcClient, Receiver, Response, TestApp, Tokens, decoded, oauth_error, registration, registration_at, rounds,
};

const MANY: usize = 50;

/// What a client asks of the token endpoint.
#[derive(Clone, Debug)]
enum Wish {
    Redeem { code: String, verifier: String },
    Refresh(String),
}

impl Wish {
    async fn send(self, client: OidcClient, address: String) -> Response {
        let mut http = crate::harness::Client::connect(&address).await;
        match self {
            Self::Redeem { code, verifier } => client.redeem(&mut http, &code, &verifier).await,
            Self::Refresh(token) => client.refresh(&mut http, &token).await,
        }
    }
}

/// Sends a wish many times at once, to all nodes in turn.
async fn at_once(nodes: &[&TestApp], client: &OidcClient, wish: &Wish) -> Vec<Response> {
    let mut all = JoinSet::new();
    for at in 0..MANY {
        all.spawn(wish.clone().send(client.clone(), nodes[at % nodes.len()].address.clone()));
    }
    all.join_all().await
}

/// The number of successes. Every other response is the same error.
fn successes(answers: &[Response]) -> usize {
    let (good, bad): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert!(bad.iter().all(|answer| (answer.status, &*oauth_error(answer)) == (400, "invalid_grant")), "{bad:?}");
    good.len()
}

/// A client that all nodes know.
async fn client_of(nodes: &[&TestApp]) -> OidcClient {
    let client = nodes[0].oidc_client(registration()).await;
    for node in nodes {
        known_to(node, &client).await;
    }
    client
}

/// A code that is redeemed by many at once: at most one gets tokens, and since it was used twice, nobody keeps them.
async fn race_a_code(nodes: &[&TestApp]) {
    let client = client_of(nodes).await;
    let asked = client.authorization();
    let mut browser = nodes[0].oidc_browser().await;
    let code = browser.enter(&asked, "user01").await.code();
    let wish = Wish::Redeem { code, verifier: asked.verifier };
    let answers = at_once(nodes, &client, &wish).await;
    assert_eq!(successes(&answers), 1);
    let tokens = Tokens::of(answers.iter().find(|answer| answer.status == 200).unwrap());
    for node in nodes {
        let mut http = node.client().await;
        crate::cluster::soon("the tokens of a code that was used twice", async || {
            client.is_over(&mut http, &tokens).await
        })
        .await;
    }
    assert_eq!(nodes[0].query("SELECT count(*) FROM oidc_grant"), ["1"]);
    assert_ne!(nodes[0].query("SELECT count(*) FROM login_log WHERE event = 'oidc_reused'"), ["0"]);
}

/// A refresh token that is used by many at once: all get the same successor.
async fn race_a_refresh(nodes: &[&TestApp]) {
    let client = client_of(nodes).await;
    let (_, first) = nodes[0].oidc_sign_in(&client, "user01").await;
    let mut current = first;
    for _ in 0..2 {
        let answers = at_once(nodes, &client, &Wish::Refresh(current.refresh().to_owned())).await;
        assert_eq!(successes(&answers), MANY, "two tabs at once are normal");
        let all: Vec<_> = answers.iter().map(Tokens::of).collect();
        assert!(all.iter().all(|one| (&one.access, &one.refresh) == (&all[0].access, &all[0].refresh)), "a fork");
        let [one, other] = [decoded(&all[0].id_token).1, decoded(&all[MANY - 1].id_token).1];
        assert_eq!(one, other, "the ID tokens say the same");
        current = all[0].clone();
    }
    for node in nodes {
        assert!(client.is_live(&mut node.client().await, &current).await);
    }
    let live = "SELECT count(*) FROM oidc_token WHERE kind = 'refresh' AND used_at IS NULL";
    assert_eq!(nodes[0].query(live), ["1"], "one chain");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_counts_once_on_one_node() {
    let (app, _) = desk().await;
    race_a_code(&[&app]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refresh_token_has_one_successor_on_one_node() {
    let (app, _) = desk().await;
    race_a_refresh(&[&app]).await;
}

on_two_nodes! {
    async fn a_code_counts_once_on_two_nodes() {
        let [one, other] = two_nodes().await;
        race_a_code(&[&one, &other]).await;
    }

    async fn a_refresh_token_has_one_successor_on_two_nodes() {
        let [one, other] = two_nodes().await;
        race_a_refresh(&[&one, &other]).await;
    }

    /// Each step on another node than the one before.
    async fn a_request_goes_on_at_any_node() {
        let nodes = two_nodes().await;
        let client = registered(&nodes, registration()).await;
        for round in 0..4 {
            let [here, there] = [&nodes[round % 2], &nodes[(round + 1) % 2]];
            let (mut browser, asked) = (here.oidc_browser().await, client.authorization());
            let id = browser.begin(&asked).await;
            browser.move_to(&there.address).await;
            browser.sign_in("user01").await;
            assert_eq!(browser.prompt(&id).await.data()["client"], "Help desk");
            browser.move_to(&here.address).await;
            let code = browser.proceed_to_client(&id).await.code();
            browser.move_to(&there.address).await;
            let tokens = Tokens::of(&client.redeem(&mut browser.http, &code, &asked.verifier).await);
            let mut http = here.client().await;
            assert!(client.is_live(&mut http, &tokens).await);
            let next = Tokens::of(&client.refresh(&mut http, tokens.refresh()).await);
            assert!(client.is_live(&mut browser.http, &next).await);
            browser.silently(&client.authorization().with("prompt", "none")).await.code();
            // What one node ended is used up on the other.
            assert_eq!(oauth_error(&client.redeem(&mut http, &code, &asked.verifier).await), "invalid_grant");
            crate::cluster::soon("a code that was used twice", async || client.is_over(&mut browser.http, &next).await).await;
        }
    }

    /// A session ends while its clients refresh and redeem: whatever they get is over at once, or never was.
    async fn nothing_outlives_the_session_that_ends_meanwhile() {
        let nodes = two_nodes().await;
        let client = registered(&nodes, registration()).await;
        let other = registered(&nodes, registration()).await;
        let [mut here, mut there] = clients(&nodes).await;
        let [mut third, mut fourth] = clients(&nodes).await;
        let mut won = [0; 2];
        for round in 0.. {
            // It goes on until both have happened, so that it does race.
            if round >= rounds(100) && (!won.contains(&0) || round >= 500) {
                break;
            }
            let (mut browser, tokens) = nodes[round % 2].oidc_sign_in(&client, "user01").await;
            let asked = other.authorization();
            let id = browser.begin(&asked).await;
            let code = browser.proceed_to_client(&id).await.code();
            let session = browser.token.clone().unwrap();
            let (refreshed, redeemed, ended) = tokio::join!(
                client.refresh(&mut here, tokens.refresh()),
                other.redeem(&mut there, &code, &asked.verifier),
                third.logout(&session),
            );
            ended.data();
            for (answer, of) in [(refreshed, &client), (redeemed, &other)] {
                won[usize::from(answer.status == 200)] += 1;
                if answer.status == 200 {
                    let got = Tokens::of(&answer);
                    assert!(of.is_over(&mut third, &got).await, "it outlived its session where that ended");
                    crate::cluster::soon("the end of a grant", async || of.is_over(&mut fourth, &got).await).await;
                } else {
                    assert_eq!((answer.status, oauth_error(&answer).as_str()), (400, "invalid_grant"));
                }
            }
            assert!(client.is_over(&mut third, &tokens).await);
        }
        assert!(!won.contains(&0), "this test races nothing: {won:?}");
        assert_eq!(nodes[0].query("SELECT count(*) FROM oidc_grant"), ["0"]);
    }
}

on_every_store! {
    /// Within ten seconds the old refresh token gives the same answer; after that its use means that it was stolen.
    async fn a_refresh_token_that_is_used_again_later_ends_the_grant() {
        let app = TestApp::with(unlimited(&[])).await;
        let receiver = Receiver::start().await;
        let client = app.oidc_client(registration_at(&receiver)).await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        let next = Tokens::of(&client.refresh(&mut browser.http, tokens.refresh()).await);
        assert_eq!(client.introspect(&mut browser.http, tokens.refresh()).await["active"], false, "it was used");
        app.clock.advance(Duration::from_millis(9_999));
        let same = Tokens::of(&client.refresh(&mut browser.http, tokens.refresh()).await);
        assert_eq!((&same.access, &same.refresh), (&next.access, &next.refresh));
        assert_eq!(decoded(&same.id_token).1, decoded(&next.id_token).1);
        let third = Tokens::of(&client.refresh(&mut browser.http, next.refresh()).await);
        app.clock.advance(Duration::from_millis(2));
        assert!(client.is_live(&mut browser.http, &third).await);
        let reused = client.refresh(&mut browser.http, tokens.refresh()).await;
        assert_eq!((reused.status, oauth_error(&reused).as_str()), (400, "invalid_grant"));
        assert!(client.is_over(&mut browser.http, &third).await);
        let told = receiver.told(1).await.remove(0);
        assert_eq!(browser.http.claims(&told).await["sid"], decoded(&tokens.id_token).1["sid"]);
        assert_eq!(app.query("SELECT count(*) FROM login_log WHERE event = 'oidc_reused'"), ["1"]);
        let session = browser.token.clone().unwrap();
        assert!(browser.http.is_valid(&session).await, "the session is not the thief's");
    }
}
