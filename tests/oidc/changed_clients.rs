//! Clients whose registration changes while they are used.

use deskpass_core::Role;
use deskpass_core::oidc::ClientRegistration;
use serde_json::json;

use super::{assert_error_page, assert_stays, desk, issuer, unlimited};
use crate::harness::{Receiver, TestApp, Tokens, location, oauth_error, registration, registration_at};

on_every_store! {
    /// An administrator removes the address of a program that was taken over: nothing goes there any more, whatever was begun.
    async fn a_redirect_uri_that_was_removed_gets_no_code() {
        let (app, client) = desk().await;
        let mut browser = app.oidc_browser().await;
        // One tab has a code, one waits for its user, and one sent a form.
        let early = client.authorization();
        let code = browser.enter(&early, "user01").await.code();
        let id = browser.begin(&client.authorization()).await;
        let answer = browser.submit("/oidc/authorize", &client.authorization().query()).await;
        let kept = location(&answer).strip_prefix(&issuer(&app)).unwrap().to_owned();
        let redirect_uris = vec!["https://rp.example/moved".to_owned()];
        let moved = ClientRegistration { redirect_uris, ..registration() };
        app.auth().operator().change_oidc_client(&client.id, moved).await.unwrap();

        for path in ["/api/auth/oidc/continue", "/api/auth/oidc/deny"] {
            let refused = browser.call(path, &json!({ "request": id })).await;
            assert!((400..500).contains(&refused.status), "{path}: {refused:?}");
            assert!(!refused.body.contains("rp.example"), "{path}: {refused:?}");
        }
        assert_stays(&app, &browser.navigate(&kept).await);
        assert_error_page(&browser.authorize(&client.authorization().with("prompt", "none")).await);
        let refused = client.redeem(&mut browser.http, &code, &early.verifier).await;
        assert_eq!((refused.status, oauth_error(&refused).as_str()), (400, "invalid_grant"));
        assert_eq!(app.query("SELECT count(*) FROM oidc_grant"), ["0"]);
    }

    /// A client that is for fewer users than before loses what it got for all of them, and what ended stays so.
    async fn a_client_that_is_narrowed_loses_what_it_got() {
        let app = TestApp::with(unlimited(&[])).await;
        let receiver = Receiver::start().await;
        let client = app.oidc_client(registration_at(&receiver)).await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        let asked = client.authorization().with("prompt", "consent");
        let id = browser.begin(&asked).await;
        let code = browser.proceed_to_client(&id).await.code();
        let narrow = ClientRegistration { roles: [Role::Agent].into_iter().collect(), ..registration_at(&receiver) };
        let operator = app.auth().operator();
        operator.change_oidc_client(&client.id, narrow).await.unwrap();
        assert!(client.is_over(&mut browser.http, &tokens).await);
        receiver.told(1).await;
        assert_eq!(oauth_error(&client.redeem(&mut browser.http, &code, &asked.verifier).await), "invalid_grant");
        let session = browser.token.clone().unwrap();
        assert!(browser.http.is_valid(&session).await);
        operator.change_oidc_client(&client.id, registration_at(&receiver)).await.unwrap();
        assert!(client.is_over(&mut browser.http, &tokens).await);
        let asked = client.authorization();
        let code = browser.silently(&asked).await.code();
        Tokens::of(&client.redeem(&mut browser.http, &code, &asked.verifier).await);
    }

    /// A role that the user got after the client was first told: it ends with the role as well.
    async fn a_role_that_the_client_was_told_later_ends_with_it() {
        let (app, client) = desk().await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        let operator = app.auth().operator();
        operator.grant(app.key("user01"), "security").await.unwrap();
        let told = browser.http.userinfo(&tokens.access).await.json();
        assert!(told["roles"].as_array().unwrap().contains(&json!("security")), "{told}");
        operator.revoke(app.key("user01"), "security").await.unwrap();
        assert!(client.is_over(&mut browser.http, &tokens).await);
        let session = browser.token.clone().unwrap();
        assert!(browser.http.is_valid(&session).await);
    }

    /// The platform gave the identifier of a person who left to another one: programs do not take them for the same.
    async fn an_identifier_with_a_new_owner_is_another_user() {
        let app = TestApp::with(unlimited(&[])).await;
        let receiver = Receiver::start().await;
        let client = app.oidc_client(registration_at(&receiver)).await;
        let operator = app.auth().operator();
        operator.set_email(app.key("user01"), Some("uma@example.com")).await.unwrap();
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        let before = browser.http.userinfo(&tokens.access).await.json();
        assert_eq!(before["email"], "uma@example.com");
        assert_eq!(operator.renew_subject(app.key("user01")).await.unwrap(), 1);
        assert!(client.is_over(&mut browser.http, &tokens).await);
        receiver.told(1).await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        let after = browser.http.userinfo(&tokens.access).await.json();
        assert_ne!(after["sub"], before["sub"]);
        assert!(after.get("email").is_none(), "{after}");
        assert_eq!(app.query("SELECT count(*) FROM login_log WHERE event = 'subject_renewed'"), ["1"]);
    }
}
