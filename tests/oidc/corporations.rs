//! Which users may use a client: corporations, roles, addresses.

use deskpass_core::oidc::ClientRegistration;
use deskpass_core::{Role, Roles};
use serde_json::{Value, json};

use super::{desk, unlimited};
use crate::harness::{Client, OidcBrowser, OidcClient, TestApp, Tokens, registration};

/// Continues to a client with a session; returns the user, or the reason of the refusal.
async fn enter(app: &TestApp, client: &OidcClient, token: &str) -> Result<Value, String> {
    let (mut browser, asked) = (OidcBrowser::at(&app.address).await, client.authorization());
    let id = browser.begin(&asked).await;
    browser.token = Some(token.to_owned());
    let answer = browser.proceed(&id).await;
    if answer.status != 200 {
        assert_eq!(answer.status, 403, "{answer:?}");
        // The client is told nothing until the user presses the button.
        assert_eq!(browser.deny(&id).await.error(), "access_denied");
        return Err(answer.reason());
    }
    let to = answer.data()["redirect_to"].as_str().unwrap().to_owned();
    let code = crate::harness::Returned { address: to }.code();
    let tokens = Tokens::of(&client.redeem(&mut browser.http, &code, &asked.verifier).await);
    Ok(browser.http.userinfo(&tokens.access).await.json())
}

fn refusals(app: &TestApp) -> String {
    app.query("SELECT count(*) FROM login_log WHERE event = 'oidc_refused'").remove(0)
}

async fn sign_in(http: &mut Client, who: &str, role: &str) -> String {
    let login = http.post("/api/dev/login", &[], &json!({ "employee_id": who, "role": role })).await.data();
    login["token"].as_str().unwrap().to_owned()
}

on_every_store! {
    async fn namesakes_of_two_corporations_share_nothing() {
        let app = TestApp::with(unlimited(&[("oidc.email_domain", "example.com")])).await;
        let of = |corporations: &[&str]| ClientRegistration {
            corporations: corporations.iter().map(|&corporation| corporation.to_owned()).collect(),
            ..registration()
        };
        let home = app.oidc_client(of(&[])).await;
        let abroad = app.oidc_client(of(&["wwpartner"])).await;
        let both = app.oidc_client(of(&["wwdeskpass", "wwpartner"])).await;
        let here = app.client().await.sign_in("user01").await;
        let there = app.sign_in_at_partner().await;

        assert_eq!(enter(&app, &home, &there).await.unwrap_err(), "client_not_allowed");
        assert_eq!(enter(&app, &abroad, &here).await.unwrap_err(), "client_not_allowed");
        assert_eq!(refusals(&app), "2");
        let [one, other] = [enter(&app, &both, &here).await.unwrap(), enter(&app, &both, &there).await.unwrap()];
        assert_eq!(one["sub"], enter(&app, &home, &here).await.unwrap()["sub"]);
        assert_eq!(other["sub"], enter(&app, &abroad, &there).await.unwrap()["sub"]);
        assert_eq!([&one["preferred_username"], &other["preferred_username"]], ["user01", "user01@wwpartner"]);
        assert_eq!([&one["corp_id"], &other["corp_id"]], ["wwdeskpass", "wwpartner"]);
        assert_eq!(one["email"], "user01@example.com");
        for claim in ["sub", "preferred_username", "email", "corp_id"] {
            assert_ne!(one.get(claim), other.get(claim), "{claim}");
        }
    }

    async fn a_client_is_for_its_roles() {
        let app = TestApp::with(unlimited(&[])).await;
        let roles = Roles::NONE.with(Role::Agent).with(Role::Admin);
        let client = app.oidc_client(ClientRegistration { roles, ..registration() }).await;
        let mut http = app.client().await;
        let [user, agent] = [http.sign_in("user01").await, sign_in(&mut http, "agent01", "user").await];
        assert_eq!(enter(&app, &client, &user).await.unwrap_err(), "client_not_allowed");
        assert_eq!(enter(&app, &client, &agent).await.unwrap()["name"], "Arno Agent");
        let row = app.query("SELECT employee_key, reason FROM login_log WHERE event = 'oidc_refused'");
        assert_eq!(row, ["user01|client_not_allowed"]);
    }
}

on_one_store! {
    /// The browser's address counts, when the user continues.
    async fn an_active_role_that_may_not_be_used_from_there_gets_no_code() {
        let (app, client) = desk().await;
        let mut http = app.client().await;
        let agent = sign_in(&mut http, "agent01", "agent").await;
        app.auth().operator().set_ip_rules_of(Role::Agent, vec!["192.0.2.0/24".parse().unwrap()]).await.unwrap();
        assert_eq!(enter(&app, &client, &agent).await.unwrap_err(), "address_not_allowed");
    }

    async fn a_disabled_client_gets_nothing() {
        let (app, client) = desk().await;
        app.auth().operator().set_oidc_client_enabled(&client.id, false).await.unwrap();
        let mut browser = app.oidc_browser().await;
        super::assert_error_page(&browser.authorize(&client.authorization()).await);
        let answer = client.call(&mut browser.http, "/oidc/introspect", &[("token", "x")]).await;
        assert_eq!((answer.status, crate::harness::oauth_error(&answer).as_str()), (401, "invalid_client"));
        // Discovery does not disappear while a client is registered.
        browser.http.discovery().await;
        app.auth().operator().set_oidc_client_enabled(&client.id, true).await.unwrap();
        browser.begin(&client.authorization()).await;
    }
}
