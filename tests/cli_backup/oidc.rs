//! OpenID Connect after a restore: what clients got is over, and a signing key that leaked stays withdrawn.

use serde_json::Value;

use super::Place;
use crate::harness::{OidcBrowser, OidcClient, Receiver, decoded, signed_by_us};

/// Registers a client at a receiver, on the command line.
fn client_at(place: &Place, receiver: &Receiver) -> OidcClient {
    let (redirect_uri, told) = (receiver.at("/callback"), receiver.at("/backchannel"));
    let add = ["oidc", "client", "add", "Wiki", "--redirect-uri", &redirect_uri, "--backchannel-uri", &told];
    let output = place.operator().succeed(&[&add[..], &["--algorithm", "ES256", "--json"]].concat());
    let made: Value = serde_json::from_str(output.lines().find(|line| line.starts_with('{')).unwrap()).unwrap();
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    OidcClient { id: text("client_id"), secret: Some(text("client_secret")), redirect_uri }
}

on_every_store! {
    async fn a_restore_revives_no_signing_key_and_no_grant() {
        let (place, receiver) = (Place::current(), Receiver::start().await);
        let process = place.serve();
        let client = client_at(&place, &receiver);
        let mut browser = OidcBrowser::at(&process.address).await;
        crate::harness::until("the service knows the client", async || {
            browser.http.get(&client.authorization().with("prompt", "none").path(), &[]).await.status == 303
        })
        .await;
        let tokens = browser.tokens(&client, "user01").await;
        let file = place.backup("all", &[]);
        place.operator().succeed(&["oidc", "rotate-keys", "--now"]);
        process.terminate();

        let restored = Place::current();
        let output = restored.restore(&file, &[]);
        assert!(output.contains(&client.id) && output.contains("signing key(s) withdrawn"), "{output}");
        let process = restored.serve();
        let told = receiver.told(1).await.remove(0);
        assert_eq!(decoded(&told).1["sid"], decoded(&tokens.id_token).1["sid"]);
        let mut browser = OidcBrowser::at(&process.address).await;
        let jwks = browser.http.jwks().await;
        assert!(!signed_by_us(&jwks, &tokens.id_token), "the leaked key is published again: {jwks}");
        assert!(signed_by_us(&jwks, &told));
        assert!(client.is_over(&mut browser.http, &tokens).await);
        let fresh = browser.tokens(&client, "user01").await;
        assert_ne!(decoded(&fresh.id_token).0["kid"], decoded(&tokens.id_token).0["kid"]);
        process.terminate();
    }
}
