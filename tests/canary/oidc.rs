//! What OpenID Connect clients send and get.

use deskpass_core::{Clock, Timestamp, TotpStep};
use serde_json::json;

use super::{Scene, is_in};
use crate::harness::{Client, OidcBrowser, OidcClient, Process, Receiver, Response, Tokens, oauth_error, request};

/// Registers a client that is told of logouts, as an administrator does.
async fn register(process: &Process, receiver: &Receiver) -> OidcClient {
    let mut http = Client::connect(&process.address).await;
    let clock = Clock::steady(Timestamp::from_millis(0));
    let admin = http.sign_in("admin01").await;
    let (device, _) = http.bind_device(&admin, &clock).await;
    let code = device.seed.code_at(TotpStep::from_number(TotpStep::at(clock.now()).number() + 1));
    let body = json!({
        "name": "Desk", "redirect_uris": [receiver.at("/callback")], "algorithm": "ES256",
        "backchannel_logout_uri": receiver.at("/backchannel"),
    });
    let made = http.admin_request(&admin, &code, "POST", "/api/admin/oidc-clients", &body).await.data();
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    OidcClient { id: text("client_id"), secret: Some(text("client_secret")), redirect_uri: receiver.at("/callback") }
}

/// Sends secrets to where they do not belong; returns all responses.
async fn misuse(http: &mut Client, client: &OidcClient, secrets: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    let mut note = |answer: Response| out.push(format!("{:?} {}", answer.headers, answer.body));
    for secret in secrets {
        note(http.get(&format!("/oidc/authorize?client_id={secret}&redirect_uri={secret}"), &[]).await);
        note(http.get(&format!("/oidc/authorize?resume={secret}"), &[]).await);
        note(http.get(&format!("/oidc/logout?id_token_hint={secret}&client_id={secret}"), &[]).await);
        note(http.get(&format!("/oidc/userinfo?access_token={secret}"), &[("cookie", secret)]).await);
        note(http.get(&format!("/oidc/{secret}"), &[]).await);
        note(http.userinfo(secret).await);
        note(http.post_form("/oidc/token", &[], &[("client_id", secret), ("client_secret", secret)]).await);
        note(client.redeem(http, secret, secret).await);
        note(client.refresh(http, secret).await);
        note(client.call(http, "/oidc/token", &[("grant_type", secret), (secret, secret)]).await);
        note(
            http.send(&request("POST", "/oidc/token", &[("content-type", "application/json")], secret.as_bytes()))
                .await,
        );
        note(http.post("/api/auth/oidc/continue", &[], &json!({ "request": secret })).await);
    }
    note(http.get("/metrics", &[]).await);
    out
}

on_every_store! {
    async fn no_code_token_or_secret_of_a_client_reaches_log_figure_or_file() {
        let (scene, receiver) = (Scene::new(), Receiver::start().await);
        let process = scene.serve("json");
        let client = register(&process, &receiver).await;
        let (mut browser, asked) = (OidcBrowser::at(&process.address).await, client.authorization());
        let id = browser.begin(&asked).await;
        browser.sign_in_by_phone(&id, "user01").await;
        let code = browser.proceed_to_client(&id).await.code();
        let tokens = Tokens::of(&client.redeem(&mut browser.http, &code, &asked.verifier).await);
        let next = Tokens::of(&client.refresh(&mut browser.http, tokens.refresh()).await);
        browser.http.userinfo(&next.access).await;
        client.introspect(&mut browser.http, &next.access).await;
        let again = client.redeem(&mut browser.http, &code, &asked.verifier).await;
        assert_eq!(oauth_error(&again), "invalid_grant");
        let token = browser.token.clone().unwrap();
        browser.http.logout(&token).await.data();
        let told = receiver.told(1).await.remove(0);
        let signature = |token: &str| token.rsplit_once('.').unwrap().1.to_owned();
        let secrets = [
            client.secret.clone().unwrap(), id, code, asked.verifier.clone(), tokens.access.clone(), tokens.refresh().to_owned(),
            next.access.clone(), next.refresh().to_owned(), signature(&tokens.id_token), signature(&next.id_token),
            signature(&told), browser.cookies["deskpass_sso"].clone(), browser.cookies["deskpass_browser"].clone(),
        ];
        let answers = misuse(&mut browser.http, &client, &secrets[..4]).await;
        let kept = scene.kept();
        let log = scene.log(process);
        assert!(log.contains("/oidc/token") && log.contains("/metrics"), "the log is silent: this test looks at nothing");
        for secret in &secrets {
            // Our own secrets begin with a prefix that the log may contain.
            let random = secret.get(4..47).unwrap_or(secret);
            assert!(random.len() >= 20, "{secret}");
            let at = log.find(random).map(|at| &log[at.saturating_sub(300)..at]);
            assert_eq!(at, None, "{secret} is in the log");
            assert!(!is_in(random, &kept), "{secret} is kept somewhere");
            let repeated = answers.iter().find(|answer| answer.contains(random));
            assert_eq!(repeated, None, "{secret} is repeated");
        }
    }
}
