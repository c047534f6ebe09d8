//! Signing keys: published before they sign, rotated under load, sealed at rest, and the same on every node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deskpass_core::oidc::{ClientRegistration, SigningAlgorithm};
use serde_json::Value;

use super::{clients, known_to, on_two_nodes, registered, two_nodes, unlimited};
use crate::cluster::soon;
use crate::harness::{Client, OidcClient, TestApp, Tokens, decoded, registration, signed_by_us};

/// The key identifiers in a set.
fn kids(jwks: &Value) -> Vec<String> {
    let mut kids: Vec<_> =
        jwks["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect();
    kids.sort_unstable();
    kids
}

/// The key that signs now.
async fn signer(app: &TestApp, client: &OidcClient) -> String {
    let (_, tokens) = app.oidc_sign_in(client, "user01").await;
    decoded(&tokens.id_token).0["kid"].as_str().unwrap().to_owned()
}

/// Waits until both nodes publish this many keys.
async fn published([one, other]: &mut [Client; 2], count: usize) -> Vec<String> {
    soon("another key", async || {
        let [here, there] = [kids(&one.jwks().await), kids(&other.jwks().await)];
        here == there && here.len() == count
    })
    .await;
    kids(&one.jwks().await)
}

on_two_nodes! {
    async fn a_key_is_published_a_day_before_it_signs_and_a_week_after() {
        let nodes = two_nodes().await;
        let client = registered(&nodes, registration()).await;
        let (mut both, clock) = (clients(&nodes).await, &nodes[0].clock);
        let first = published(&mut both, 1).await.remove(0);
        assert_eq!(signer(&nodes[1], &client).await, first);

        let made = nodes[1].auth().operator().rotate_signing_keys(false).await.unwrap();
        assert_eq!(made.len(), 1);
        let all = published(&mut both, 2).await;
        assert!(all.contains(&first) && all.contains(&made[0]), "{all:?} {made:?}");
        clock.advance(Duration::from_hours(24) - Duration::from_millis(1));
        assert_eq!(signer(&nodes[0], &client).await, first);
        clock.advance(Duration::from_millis(1));
        for node in &nodes {
            assert_eq!(signer(node, &client).await, made[0]);
        }
        clock.advance(Duration::from_hours(7 * 24) - Duration::from_millis(1));
        published(&mut both, 2).await;
        clock.advance(Duration::from_millis(1));
        assert_eq!(published(&mut both, 1).await, made);
    }

    /// After a leak the old key neither signs nor counts any more, at once and everywhere.
    async fn a_leaked_key_is_withdrawn_at_once() {
        let nodes = two_nodes().await;
        let client = registered(&nodes, registration()).await;
        let mut both = clients(&nodes).await;
        let (mut browser, tokens) = nodes[0].oidc_sign_in(&client, "user01").await;
        let old = published(&mut both, 1).await;
        let made = nodes[0].auth().operator().rotate_signing_keys(true).await.unwrap();
        soon("the new key", async || kids(&both[1].jwks().await) == made).await;
        assert_ne!(made, old);
        let jwks = both[0].jwks().await;
        assert!(!signed_by_us(&jwks, &tokens.id_token));
        for node in &nodes {
            assert_eq!(signer(node, &client).await, made[0]);
        }
        let asked = client.authorization().with("prompt", "none").with("id_token_hint", &tokens.id_token);
        assert_eq!(browser.silently(&asked).await.error(), "login_required", "a hint of the leaked key");
        // Sessions and opaque tokens are not affected.
        assert!(client.is_live(&mut both[1], &tokens).await);
        let next = Tokens::of(&client.refresh(&mut both[1], tokens.refresh()).await);
        assert!(signed_by_us(&jwks, &next.id_token));
    }

    /// No token is signed by a key that a client could not know which read the keys a minute before.
    async fn rotation_under_load_leaves_no_token_unverifiable() {
        let nodes = two_nodes().await;
        let client = registered(&nodes, registration()).await;
        let enough = Arc::new(AtomicBool::new(false));
        let mut load = tokio::task::JoinSet::new();
        for node in &nodes {
            let (address, client, enough) = (node.address.clone(), client.clone(), Arc::clone(&enough));
            load.spawn(async move {
                let mut count = 0_usize;
                while !enough.load(Ordering::Relaxed) {
                    let mut browser = crate::harness::OidcBrowser::at(&address).await;
                    // The clock may jump over the minute that a code lives; that is not what this test is about.
                    let asked = client.authorization();
                    let id = browser.begin(&asked).await;
                    browser.sign_in("user01").await;
                    let answer = browser.proceed(&id).await;
                    if answer.status == 200 {
                        let jwks = browser.http.jwks().await;
                        let back = crate::harness::Returned { address: answer.data()["redirect_to"].as_str().unwrap().to_owned() };
                        let answer = client.redeem(&mut browser.http, &back.code(), &asked.verifier).await;
                        if answer.status == 200 {
                            assert!(signed_by_us(&jwks, &Tokens::of(&answer).id_token), "unknown to a client: {jwks}");
                            count += 1;
                        }
                    }
                }
                count
            });
        }
        let mut both = clients(&nodes).await;
        for step in 0..24 {
            let at = step % 2;
            let jwks = both[at].jwks().await;
            if step % 6 == 1 {
                nodes[at].auth().operator().rotate_signing_keys(false).await.unwrap();
            }
            nodes[0].clock.advance(Duration::from_mins(1));
            let (_, tokens) = nodes[1 - at].oidc_sign_in(&client, "agent01").await;
            assert!(signed_by_us(&jwks, &tokens.id_token), "a client that read the keys a minute before lacks this one");
            nodes[0].clock.advance(Duration::from_hours(5));
        }
        enough.store(true, Ordering::Relaxed);
        assert!(load.join_all().await.into_iter().sum::<usize>() > 0, "this test loads nothing");
    }

    async fn both_nodes_publish_the_same_bytes() {
        let nodes = two_nodes().await;
        for algorithm in SigningAlgorithm::ALL {
            nodes[0].oidc_client(ClientRegistration { algorithm, ..registration() }).await;
        }
        let mut both = clients(&nodes).await;
        let all = published(&mut both, 2).await;
        assert_eq!(all.len(), 2);
        for path in ["/.well-known/openid-configuration", "/oidc/jwks"] {
            let [here, there] = [both[0].get(path, &[]).await, both[1].get(path, &[]).await];
            assert_eq!((here.status, here.body), (200, there.body), "{path}");
        }
    }

    /// Two nodes that need the first key at once make one.
    async fn two_nodes_make_one_key() {
        let nodes = two_nodes().await;
        for round in 1..=5 {
            let (one, other) = tokio::join!(nodes[0].oidc_client(registration()), nodes[1].oidc_client(registration()));
            known_to(&nodes[1], &one).await;
            known_to(&nodes[0], &other).await;
            let (first, second) = tokio::join!(nodes[1].oidc_sign_in(&one, "user01"), nodes[0].oidc_sign_in(&other, "agent01"));
            let names = [first, second].map(|(_, tokens)| decoded(&tokens.id_token).0["kid"].clone());
            assert_eq!(names[0], names[1]);
            assert_eq!(nodes[0].query("SELECT count(*) FROM oidc_key"), ["1"], "round {round}");
        }
    }
}

/// The members of a public key, by algorithm. Anything else could be private.
const MEMBERS: [(&str, &[&str]); 2] =
    [("RS256", &["alg", "e", "kid", "kty", "n", "use"]), ("ES256", &["alg", "crv", "kid", "kty", "use", "x", "y"])];

/// A list of encryption keys.
fn key_list(keys: &[[u8; 32]]) -> String {
    keys.iter().map(|key| STANDARD.encode(key)).collect::<Vec<_>>().join(",")
}

on_every_store! {
    async fn the_private_part_stays_here() {
        let app = TestApp::with(unlimited(&[])).await;
        for algorithm in SigningAlgorithm::ALL {
            app.oidc_client(ClientRegistration { algorithm, ..registration() }).await;
        }
        let jwks = app.client().await.jwks().await;
        let keys = jwks["keys"].as_array().unwrap();
        for (algorithm, members) in MEMBERS {
            let key = keys.iter().find(|key| key["alg"] == algorithm).unwrap();
            let names: Vec<_> = key.as_object().unwrap().keys().map(String::as_str).collect();
            let mut sorted = names.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, members, "{key}");
        }
        assert_eq!(keys.len(), 2);
        // What is stored is sealed: no private member, and no key in any usual form.
        for row in app.query("SELECT sealed FROM oidc_key") {
            assert!(!row.contains("PRIVATE") && !row.contains("\"d\""), "{row}");
        }
        let rows = app.query("SELECT event, detail FROM login_log WHERE event = 'oidc_key_added'");
        assert_eq!(rows.len(), 2, "{rows:?}");
    }

    /// The keys survive a restart, a new encryption key beside the old one, and the removal of the old one.
    async fn signing_keys_outlive_the_encryption_key() {
        let (old, new) = ([1; 32], [2; 32]);
        let with = |keys: &[[u8; 32]]| unlimited(&[("public_url", "http://desk.test"), ("encryption_key", &key_list(keys))]);
        let app = TestApp::with(with(&[old])).await;
        let client = app.oidc_client(registration()).await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        let first = kids(&browser.http.jwks().await);
        let app = app.restart_with(with(&[new, old])).await;
        let mut http = app.client().await;
        assert_eq!(kids(&http.jwks().await), first);
        assert_eq!(vec![signer(&app, &client).await], first);
        // Tokens go on as well.
        assert!(client.is_live(&mut http, &tokens).await);
        // The data moves to the new key, and the old one is removed.
        let operator = app.auth().operator();
        operator.switch_key().await.unwrap();
        assert_eq!(operator.reseal_signing_keys().await.unwrap(), 1);
        assert_eq!(operator.reseal_signing_keys().await.unwrap(), 0, "again, with nothing left to do");
        drop(operator);
        let app = app.restart_with(with(&[new])).await;
        let mut http = app.client().await;
        assert_eq!(kids(&http.jwks().await), first);
        assert_eq!(vec![signer(&app, &client).await], first);
        assert!(client.is_live(&mut http, &tokens).await);
        let next = Tokens::of(&client.refresh(&mut http, tokens.refresh()).await);
        assert!(client.is_live(&mut http, &next).await);
    }
}
