//! Clients without a secret: programs in browsers and on the user's own computer.

use deskpass_core::oidc::{ClientKind, ClientRegistration, SsoMode};

use super::{assert_error_page, desk, unlimited};
use crate::harness::{Client, Response, TestApp, Tokens, oauth_error, public, registration, request};

/// Asks whether a page of an origin may call.
async fn preflight(http: &mut Client, path: &str, origin: &str) -> Response {
    let headers = [("origin", origin), ("access-control-request-method", "POST")];
    http.send(&request("OPTIONS", path, &headers, b"")).await
}

fn allowed(answer: &Response) -> Option<&str> {
    assert!(answer.header("access-control-allow-credentials").is_none(), "{answer:?}");
    answer.header("access-control-allow-origin")
}

on_one_store! {
    async fn a_public_client_proves_itself_with_pkce_alone() {
        let app = TestApp::with(unlimited(&[])).await;
        let client = app.oidc_client(public(registration())).await;
        assert_eq!(client.secret, None);
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        let next = Tokens::of(&client.refresh(&mut browser.http, tokens.refresh()).await);
        assert!(client.is_live(&mut browser.http, &next).await);
        let refused = client.call(&mut browser.http, "/oidc/introspect", &[("token", &next.access)]).await;
        assert_eq!((refused.status, oauth_error(&refused).as_str()), (401, "invalid_client"));
        // A secret that it does not have does not help.
        let wrong = [("client_id", client.id.as_str()), ("client_secret", "x"), ("grant_type", "refresh_token"),
            ("refresh_token", next.refresh())];
        assert_eq!(browser.http.post_form("/oidc/token", &[], &wrong).await.status, 401);
        assert_eq!(client.revoke(&mut browser.http, &next.access).await.status, 200);
        assert!(client.is_over(&mut browser.http, &next).await);
        // A confidential client cannot leave its secret out.
        let confidential = app.oidc_client(registration()).await;
        let form = [("client_id", confidential.id.as_str()), ("grant_type", "refresh_token"), ("refresh_token", "x")];
        let refused = browser.http.post_form("/oidc/token", &[], &form).await;
        assert_eq!((refused.status, oauth_error(&refused).as_str()), (401, "invalid_client"));
    }

    async fn only_registered_origins_read_answers() {
        let app = TestApp::with(unlimited(&[])).await;
        let own = "https://spa.example";
        let spa = public(ClientRegistration { origins: vec![own.to_owned()], ..registration() });
        let client = app.oidc_client(spa).await;
        let mut http = app.client().await;
        for path in ["/oidc/token", "/oidc/userinfo", "/oidc/revoke"] {
            let answer = preflight(&mut http, path, own).await;
            assert!(answer.status < 300 && allowed(&answer) == Some(own), "{path}: {answer:?}");
            for origin in ["null", "https://evil.example", "https://spa.example.evil.example", "http://spa.example"] {
                assert_eq!(allowed(&preflight(&mut http, path, origin).await), None, "{path} {origin}");
                let form = [("client_id", client.id.as_str())];
                assert_eq!(allowed(&http.post_form(path, &[("origin", origin)], &form).await), None, "{path} {origin}");
            }
            let answer = http.post_form(path, &[("origin", own)], &[("client_id", &client.id)]).await;
            assert_eq!(allowed(&answer), Some(own), "errors can be read, too: {answer:?}");
        }
        for path in ["/oidc/authorize", "/oidc/introspect", "/oidc/logout"] {
            assert_eq!(allowed(&preflight(&mut http, path, own).await), None, "{path}");
            assert_eq!(allowed(&http.get(path, &[("origin", own)]).await), None, "{path}");
        }
        for path in ["/.well-known/openid-configuration", "/oidc/jwks"] {
            assert_eq!(allowed(&http.get(path, &[("origin", "null")]).await), Some("*"), "{path}");
        }
    }

    async fn a_native_client_listens_on_any_port_of_the_loopback_address() {
        let app = TestApp::with(unlimited(&[])).await;
        let redirect_uris = vec!["http://127.0.0.1/cb".to_owned(), "http://[::1]/cb".to_owned()];
        let native = ClientRegistration { kind: ClientKind::Native, redirect_uris: redirect_uris.clone(), ..registration() };
        let client = app.oidc_client(native).await;
        let mut browser = app.oidc_browser().await;
        for address in ["http://127.0.0.1:5000/cb", "http://127.0.0.1/cb", "http://[::1]:5000/cb"] {
            browser.begin(&client.authorization().with("redirect_uri", address)).await;
        }
        for address in ["http://127.0.0.1:5000/other", "http://localhost:5000/cb", "http://127.0.0.1:5000@evil.example/cb"] {
            assert_error_page(&browser.authorize(&client.authorization().with("redirect_uri", address)).await);
        }
        // The code is bound to the address with its port.
        let mut asked = client.authorization().with("redirect_uri", "http://127.0.0.1:5000/cb");
        let code = browser.enter(&asked, "user01").await.code();
        let mut moved = client.clone();
        moved.redirect_uri = "http://127.0.0.1:5001/cb".to_owned();
        assert_eq!(oauth_error(&moved.redeem(&mut browser.http, &code, &asked.verifier).await), "invalid_grant");
        asked = client.authorization().with("redirect_uri", "http://127.0.0.1:5000/cb").with("prompt", "consent");
        let id = browser.begin(&asked).await;
        let code = browser.proceed_to_client(&id).await.code();
        moved.redirect_uri = "http://127.0.0.1:5000/cb".to_owned();
        Tokens::of(&moved.redeem(&mut browser.http, &code, &asked.verifier).await);
    }

    /// Any program of the computer could send this request and listen on a port of its own (RFC 8252, 8.6).
    async fn a_native_client_on_loopback_gets_a_code_only_after_a_press() {
        let app = TestApp::with(unlimited(&[])).await;
        let redirect_uris = vec!["http://127.0.0.1/cb".to_owned(), "https://app.example/cb".to_owned()];
        let native = ClientRegistration { kind: ClientKind::Native, redirect_uris, ..registration() };
        let client = app.oidc_client(native.clone()).await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        for port in [5000, 5001] {
            let address = format!("http://127.0.0.1:{port}/cb");
            let asked = client.authorization().with("redirect_uri", &address);
            assert_eq!(browser.silently(&asked.clone().with("prompt", "none")).await.error(), "interaction_required");
            let id = browser.begin(&asked).await;
            assert_eq!(browser.prompt(&id).await.data()["needs"], "press");
            browser.proceed_to_client(&id).await.code();
        }
        // Without a browser nothing changes, and only the program itself receives what goes to its own site.
        Tokens::of(&client.refresh(&mut browser.http, tokens.refresh()).await);
        let asked = client.authorization().with("redirect_uri", "https://app.example/cb");
        browser.silently(&asked.with("prompt", "none")).await.code();
        // No registration makes it silent.
        let silent = ClientRegistration { sso: SsoMode::Silent, ..native };
        let refused = app.auth().operator().add_oidc_client(silent.clone()).await.unwrap_err();
        assert!(refused.to_string().contains("sso cannot be silent"), "{refused}");
        let redirect_uris = vec!["https://app.example/cb".to_owned()];
        app.oidc_client(ClientRegistration { redirect_uris, ..silent }).await;
    }

    /// A client that asked for no refresh token gets none, nor one that may not ask.
    async fn scopes_are_those_that_the_client_may_have() {
        let (app, client) = desk().await;
        let scopes = deskpass_core::oidc::OidcScopes::parse("openid profile");
        let small = app.oidc_client(ClientRegistration { scopes, ..registration() }).await;
        let (_, tokens) = app.oidc_sign_in(&small, "user01").await;
        assert_eq!((&tokens.answer["scope"], tokens.refresh), (&serde_json::json!("openid profile"), None));
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        let form = [("grant_type", "refresh_token"), ("refresh_token", tokens.refresh()), ("scope", "openid email")];
        let narrow = Tokens::of(&client.call(&mut browser.http, "/oidc/token", &form).await);
        assert_eq!(narrow.answer["scope"], "openid email");
        let claims = browser.http.claims(&narrow.id_token).await;
        assert_eq!((claims.get("name"), claims.get("groups")), (None, None));
    }
}
