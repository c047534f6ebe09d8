//! Every kind of secret and token at every wrong door.

use serde_json::json;

use super::unlimited;
use crate::harness::{
    Client, OidcBrowser, OidcClient, Receiver, TestApp, Tokens, oauth_error, registration, registration_at,
};

/// One of each kind, all of them valid at their own doors.
struct Kinds {
    app: TestApp,
    client: OidcClient,
    browser: OidcBrowser,
    tokens: Tokens,
    /// Name and value.
    all: Vec<(&'static str, String)>,
}

impl Kinds {
    async fn new() -> Self {
        let (app, receiver) = (TestApp::with(unlimited(&[])).await, Receiver::start().await);
        let client = app.oidc_client(registration_at(&receiver)).await;
        let logout_token = Self::logout_token(&app, &client, &receiver).await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        let asked = client.authorization().with("prompt", "none");
        let code = browser.silently(&asked).await.code();
        let request = browser.begin(&client.authorization().with("prompt", "consent")).await;
        browser.http.first_password("supervisor01").await;
        let half = browser.http.partial_sign_in("supervisor01").await;
        let all = vec![
            ("session", browser.token.clone().unwrap()),
            ("partial session", half),
            ("service key", app.service_key("introspect messages").await.0),
            ("code", code),
            ("access token", tokens.access.clone()),
            ("refresh token", tokens.refresh().to_owned()),
            ("ID token", tokens.id_token.clone()),
            ("logout token", logout_token),
            ("client secret", client.secret.clone().unwrap()),
            ("request", request),
            ("browser", browser.cookies["deskpass_sso"].clone()),
        ];
        Self { app, client, browser, tokens, all }
    }

    /// A logout token of an earlier session of the same user.
    async fn logout_token(app: &TestApp, client: &OidcClient, receiver: &Receiver) -> String {
        let (mut browser, _) = app.oidc_sign_in(client, "user01").await;
        let token = browser.token.clone().unwrap();
        browser.http.logout(&token).await.data();
        receiver.told(1).await.remove(0)
    }

    /// All of them except those that belong at a door.
    fn except(&self, own: &[&str]) -> Vec<(&'static str, String)> {
        self.all.iter().filter(|(kind, _)| !own.contains(kind)).cloned().collect()
    }

    async fn http(&self) -> Client {
        self.app.client().await
    }
}

on_every_store! {
    async fn no_kind_passes_for_another() {
        let mut kinds = Kinds::new().await;
        let (mut http, client) = (kinds.http().await, kinds.client.clone());
        for (kind, value) in kinds.except(&["access token"]) {
            let refused = http.userinfo(&value).await;
            let challenge = refused.header("www-authenticate").unwrap_or_default();
            assert!(refused.status == 401 && challenge.contains("invalid_token"), "{kind}: {refused:?}");
            let posted = http.post_form("/oidc/userinfo", &[], &[("access_token", &value)]).await;
            assert_eq!(posted.status, 401, "{kind}");
        }
        for (kind, value) in kinds.except(&["access token", "refresh token"]) {
            assert_eq!(client.introspect(&mut http, &value).await, json!({ "active": false }), "{kind}");
        }
        for (kind, value) in kinds.except(&["refresh token"]) {
            let refused = client.refresh(&mut http, &value).await;
            assert_eq!((refused.status, oauth_error(&refused).as_str()), (400, "invalid_grant"), "{kind}");
        }
        for (kind, value) in kinds.except(&["code"]) {
            let refused = client.redeem(&mut http, &value, &"v".repeat(43)).await;
            assert_eq!((refused.status, oauth_error(&refused).as_str()), (400, "invalid_grant"), "{kind}");
        }
        let (key, _) = kinds.app.service_key("introspect").await;
        for (kind, value) in kinds.except(&["session"]) {
            assert_eq!(http.me(&value).await.status, 401, "{kind}");
            assert!(!http.is_valid(&value).await, "{kind}");
            assert_eq!(http.introspect(&key, &value).await.json()["active"], false, "{kind}");
        }
        for (kind, value) in kinds.except(&["service key"]) {
            assert_eq!(http.introspect(&value, &key).await.status, 401, "{kind}");
        }
        for (kind, value) in kinds.except(&["request"]) {
            assert_ne!(kinds.browser.prompt(&value).await.status, 200, "{kind}");
            assert_ne!(kinds.browser.proceed(&value).await.status, 200, "{kind}");
        }
        // Nothing of that ended or used up anything.
        assert!(client.is_live(&mut http, &kinds.tokens).await);
        for (kind, value) in kinds.except(&["access token", "refresh token"]) {
            assert_eq!(client.revoke(&mut http, &value).await.status, 200, "{kind}");
        }
        assert!(client.is_live(&mut http, &kinds.tokens).await);
        assert!(http.is_valid(&kinds.browser.token.clone().unwrap()).await);
    }
}

on_one_store! {
    async fn no_kind_passes_for_a_hint_a_cookie_or_a_secret() {
        let kinds = Kinds::new().await;
        let (client, cookie) = (&kinds.client, kinds.browser.cookies["deskpass_sso"].clone());
        let none = || client.authorization().with("prompt", "none");
        for (kind, value) in kinds.except(&["ID token"]) {
            let mut browser = kinds.app.oidc_browser().await;
            browser.cookies.insert("deskpass_sso".to_owned(), cookie.clone());
            let back = browser.silently(&none().with("id_token_hint", &value)).await;
            assert_eq!(back.get("code"), None, "{kind}");
            let answer = browser.navigate(&format!("/oidc/logout?id_token_hint={value}")).await;
            super::assert_stays(&kinds.app, &answer);
            assert!(client.is_live(&mut browser.http, &kinds.tokens).await, "{kind} signed the user out");
        }
        for (kind, value) in kinds.except(&["browser"]) {
            let mut browser = kinds.app.oidc_browser().await;
            browser.cookies.insert("deskpass_sso".to_owned(), value);
            assert_eq!(browser.silently(&none()).await.error(), "login_required", "{kind}");
        }
        for (kind, value) in kinds.except(&["client secret"]) {
            let stranger = OidcClient { secret: Some(value), ..client.clone() };
            let refused = stranger.refresh(&mut kinds.http().await, kinds.tokens.refresh()).await;
            assert_eq!((refused.status, oauth_error(&refused).as_str()), (401, "invalid_client"), "{kind}");
        }
        assert!(client.is_live(&mut kinds.http().await, &kinds.tokens).await);
    }

    /// Clients keep apart what they got.
    async fn what_one_client_got_is_nothing_to_another() {
        let mut kinds = Kinds::new().await;
        let other = kinds.app.oidc_client(registration()).await;
        let (mut http, tokens) = (kinds.http().await, kinds.tokens.clone());
        for token in [tokens.access.as_str(), tokens.refresh()] {
            assert_eq!(other.introspect(&mut http, token).await, json!({ "active": false }));
            assert_eq!(other.revoke(&mut http, token).await.status, 200);
        }
        assert_eq!(oauth_error(&other.refresh(&mut http, tokens.refresh()).await), "invalid_grant");
        assert!(kinds.client.is_live(&mut http, &tokens).await, "another client ended it");
        // An ID token of one client is no hint at another.
        let asked = other.authorization().with("prompt", "none").with("id_token_hint", &tokens.id_token);
        assert_eq!(kinds.browser.silently(&asked).await.get("code"), None);
        let path = format!("/oidc/logout?id_token_hint={}&client_id={}", tokens.id_token, other.id);
        super::assert_stays(&kinds.app, &kinds.browser.navigate(&path).await);
        assert!(kinds.client.is_live(&mut http, &tokens).await);
        // The client itself may end it; its user stays signed in here.
        assert_eq!(kinds.client.revoke(&mut http, tokens.refresh()).await.status, 200);
        assert!(kinds.client.is_over(&mut http, &tokens).await);
        assert!(http.is_valid(&kinds.browser.token.clone().unwrap()).await);
    }
}
