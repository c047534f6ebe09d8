//! The tests of the OpenID conformance suite for providers, under its names:
//! `oidcc-rp-initiated-logout-certification-test-plan` and `oidcc-backchannel-rp-initiated-logout-certification-test-plan`.

use serde_json::json;
use url::Url;

use super::{assert_stays, desk, issuer, unlimited};
use crate::harness::{
    OidcBrowser, OidcClient, Receiver, Response, TestApp, Tokens, decoded, encoded, location, registration_at,
};

const SIGNED_OUT: &str = "https://rp.example/signed-out";

/// A user who is signed in at a client, and the client's request for a logout.
struct Scene {
    app: TestApp,
    client: OidcClient,
    browser: OidcBrowser,
    tokens: Tokens,
}

impl Scene {
    async fn start() -> Self {
        let (app, client) = desk().await;
        let (browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        Self { app, client, browser, tokens }
    }

    /// Sends the browser to the logout endpoint with these parameters.
    async fn logout(&mut self, parameters: &[(&str, &str)]) -> Response {
        let pairs: Vec<_> = parameters.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        self.browser.navigate(&format!("/oidc/logout?{}", pairs.join("&"))).await
    }

    /// Asserts that the user is signed out: everything that the client got is over, and the browser is not known any more.
    async fn assert_signed_out(&mut self) {
        assert!(self.client.is_over(&mut self.browser.http, &self.tokens).await);
        let token = self.browser.token.clone().unwrap();
        assert!(!self.browser.http.is_valid(&token).await);
        let again = self.browser.silently(&self.client.authorization().with("prompt", "none")).await;
        assert_eq!(again.error(), "login_required");
    }

    /// Asserts that the request alone signs nobody out, and leads nowhere else.
    async fn assert_refused(&mut self, answer: &Response) {
        assert_stays(&self.app, answer);
        assert!(self.client.is_live(&mut self.browser.http, &self.tokens).await, "signed out by a link: {answer:?}");
    }

    /// Asserts that the page asks first; confirms and returns where the browser is sent.
    async fn confirm(&mut self, answer: &Response) -> serde_json::Value {
        self.assert_refused(answer).await;
        let id = request_of(answer);
        // Another browser can neither read nor confirm it.
        let mut other = self.app.oidc_browser().await;
        for path in ["/api/auth/oidc/request", "/api/auth/oidc/logout"] {
            let refused = other.call(path, &json!({ "request": id })).await;
            assert_ne!(refused.status, 200, "{refused:?}");
        }
        self.browser.call("/api/auth/oidc/logout", &json!({ "request": id })).await.data()["redirect_to"].clone()
    }
}

/// The identifier of a logout that the page asks about.
fn request_of(answer: &Response) -> String {
    let url = Url::parse(location(answer)).unwrap();
    url.query_pairs().find(|(name, _)| name == "logout").unwrap_or_else(|| panic!("{answer:?}")).1.into_owned()
}

on_every_store! {
    async fn oidcc_rp_initiated_logout() {
        let mut scene = Scene::start().await;
        let hint = scene.tokens.id_token.clone();
        let parameters = [("id_token_hint", &*hint), ("post_logout_redirect_uri", SIGNED_OUT), ("state", "a b&c")];
        let answer = scene.logout(&parameters).await;
        assert_eq!(location(&answer), format!("{SIGNED_OUT}?state=a+b%26c"));
        scene.assert_signed_out().await;
        // Without a session it still leads back.
        let answer = scene.logout(&parameters).await;
        assert_eq!(location(&answer), format!("{SIGNED_OUT}?state=a+b%26c"));
    }

    async fn oidcc_backchannel_rp_initiated_logout() {
        let (app, receiver) = (TestApp::with(unlimited(&[])).await, Receiver::start().await);
        let client = app.oidc_client(registration_at(&receiver)).await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        let entered = decoded(&tokens.id_token).1;
        let path = format!("/oidc/logout?id_token_hint={}", tokens.id_token);
        assert_stays(&app, &browser.navigate(&path).await);
        let token = receiver.told(1).await.remove(0);
        let header = decoded(&token).0;
        assert_eq!((&header["typ"], &header["alg"]), (&json!("logout+jwt"), &json!("ES256")));
        let claims = browser.http.claims(&token).await;
        let now = app.clock.now().millis() / 1000;
        assert_eq!(claims, json!({
            "iss": issuer(&app), "aud": client.id, "iat": now, "exp": now + 300, "jti": claims["jti"],
            "events": { "http://schemas.openid.net/event/backchannel-logout": {} },
            "sub": entered["sub"], "sid": entered["sid"],
        }));
        assert!(claims["jti"].as_str().is_some_and(|jti| jti.len() >= 16), "{claims}");
        assert!(client.is_over(&mut browser.http, &tokens).await);
        crate::harness::until("the row is deleted", async || app.query("SELECT count(*) FROM oidc_logout") == ["0"]).await;
    }
}

on_one_store! {
    async fn oidcc_rp_initiated_logout_bad_post_logout_redirect_uri() {
        let mut scene = Scene::start().await;
        let hint = scene.tokens.id_token.clone();
        for bad in ["https://rp.example/callback", "https://evil.example/", "https://rp.example/signed-out/", "//rp.example"] {
            let answer = scene.logout(&[("id_token_hint", &hint), ("post_logout_redirect_uri", bad)]).await;
            assert_stays(&scene.app, &answer);
            assert!(!answer.body.contains(bad) && answer.header("location").is_none_or(|to| !to.contains(bad)), "{answer:?}");
        }
    }

    async fn oidcc_rp_initiated_logout_modified_id_token_hint() {
        let mut scene = Scene::start().await;
        let (signed, signature) = scene.tokens.id_token.rsplit_once('.').unwrap();
        // Not the last character: its lowest bits mean nothing.
        let other = if signature.starts_with('A') { "B" } else { "A" };
        let hint = format!("{signed}.{other}{}", &signature[1..]);
        let answer = scene.logout(&[("id_token_hint", &hint), ("post_logout_redirect_uri", SIGNED_OUT)]).await;
        scene.assert_refused(&answer).await;
    }

    async fn oidcc_rp_initiated_logout_bad_id_token_hint() {
        let mut scene = Scene::start().await;
        let access = scene.tokens.access.clone();
        for hint in ["nonsense", "a.b.c", &access] {
            let answer = scene.logout(&[("id_token_hint", hint), ("post_logout_redirect_uri", SIGNED_OUT)]).await;
            scene.assert_refused(&answer).await;
        }
    }

    async fn oidcc_rp_initiated_logout_no_id_token_hint() {
        let mut scene = Scene::start().await;
        let answer = scene.logout(&[("post_logout_redirect_uri", SIGNED_OUT), ("state", "x")]).await;
        scene.assert_refused(&answer).await;
        // With the client known the page asks, and then leads back.
        let id = scene.client.id.clone();
        let answer = scene.logout(&[("client_id", &id), ("post_logout_redirect_uri", SIGNED_OUT), ("state", "x")]).await;
        assert_eq!(scene.confirm(&answer).await, format!("{SIGNED_OUT}?state=x"));
        scene.assert_signed_out().await;
    }

    /// Some programs send nothing but the address. If one client alone has it, it is that client's.
    async fn an_address_of_one_client_alone_leads_back_after_the_press() {
        let mut scene = Scene::start().await;
        let answer = scene.logout(&[("post_logout_redirect_uri", SIGNED_OUT), ("state", "x")]).await;
        let prompt = scene.browser.prompt(&request_of(&answer)).await.data();
        assert_eq!((&prompt["client"], &prompt["host"]), (&json!("Help desk"), &json!("rp.example")));
        assert_eq!(scene.confirm(&answer).await, format!("{SIGNED_OUT}?state=x"));
        scene.assert_signed_out().await;

        let mut scene = Scene::start().await;
        let twin = scene.app.oidc_client(crate::harness::registration()).await;
        let answer = scene.logout(&[("post_logout_redirect_uri", SIGNED_OUT)]).await;
        assert!(scene.confirm(&answer).await.is_null(), "{} has the same address", twin.id);
    }

    async fn oidcc_rp_initiated_logout_no_params() {
        let mut scene = Scene::start().await;
        let answer = scene.logout(&[]).await;
        assert!(scene.confirm(&answer).await.is_null());
        scene.assert_signed_out().await;
    }

    async fn oidcc_rp_initiated_logout_no_post_logout_redirect_uri() {
        let mut scene = Scene::start().await;
        let hint = scene.tokens.id_token.clone();
        let answer = scene.logout(&[("id_token_hint", &hint), ("state", "x")]).await;
        assert_stays(&scene.app, &answer);
        scene.assert_signed_out().await;
    }

    async fn oidcc_rp_initiated_logout_no_state() {
        let mut scene = Scene::start().await;
        let hint = scene.tokens.id_token.clone();
        let answer = scene.logout(&[("id_token_hint", &hint), ("post_logout_redirect_uri", SIGNED_OUT)]).await;
        assert_eq!(location(&answer), SIGNED_OUT);
        scene.assert_signed_out().await;
    }

    async fn oidcc_rp_initiated_logout_only_state() {
        let mut scene = Scene::start().await;
        let answer = scene.logout(&[("state", "x")]).await;
        assert!(scene.confirm(&answer).await.is_null());
        scene.assert_signed_out().await;
    }

    async fn oidcc_rp_initiated_logout_query_added_to_post_logout_redirect_uri() {
        let mut scene = Scene::start().await;
        let (hint, added) = (scene.tokens.id_token.clone(), format!("{SIGNED_OUT}?foo=bar"));
        let answer = scene.logout(&[("id_token_hint", &hint), ("post_logout_redirect_uri", &added)]).await;
        assert_stays(&scene.app, &answer);
    }

    /// A form of the client's page comes without the cookie.
    async fn a_logout_by_post_works_as_one_by_get() {
        let mut scene = Scene::start().await;
        let form = format!("id_token_hint={}&post_logout_redirect_uri={}", scene.tokens.id_token, encoded(SIGNED_OUT));
        let answer = scene.browser.submit("/oidc/logout", &form).await;
        let kept = location(&answer).strip_prefix(&issuer(&scene.app)).unwrap().to_owned();
        assert!(!kept.contains("id_token") && !kept.contains(&scene.tokens.id_token), "an ID token in an address: {kept}");
        assert_eq!(location(&scene.browser.navigate(&kept).await), SIGNED_OUT);
        scene.assert_signed_out().await;
        // Once.
        assert_stays(&scene.app, &scene.browser.navigate(&kept).await);
    }

    /// A hint of another session of the same user: both end.
    async fn a_hint_of_another_session_asks_first() {
        let mut scene = Scene::start().await;
        let (mut other, elsewhere) = scene.app.oidc_sign_in(&scene.client, "user01").await;
        let answer = scene.logout(&[("id_token_hint", &elsewhere.id_token), ("post_logout_redirect_uri", SIGNED_OUT)]).await;
        let prompt = scene.browser.prompt(&request_of(&answer)).await.data();
        assert_eq!((&prompt["needs"], &prompt["user"]["name"]), (&json!("sign_out"), &json!("Uma User")));
        assert!(scene.client.is_live(&mut other.http, &elsewhere).await);
        assert_eq!(scene.confirm(&answer).await, SIGNED_OUT);
        scene.assert_signed_out().await;
        assert!(scene.client.is_over(&mut other.http, &elsewhere).await);
        let session = other.token.clone().unwrap();
        assert!(!other.http.is_valid(&session).await);
    }

    /// An ID token proves that the program knows its user, not that the user wants to sign out.
    async fn a_hint_of_another_user_ends_what_the_program_got_and_no_more() {
        let mut scene = Scene::start().await;
        let wiki = scene.app.oidc_client(crate::harness::registration()).await;
        let (mut other, elsewhere) = scene.app.oidc_sign_in(&scene.client, "agent01").await;
        let at_wiki = other.tokens_in_session(&wiki).await;
        let answer = scene.logout(&[("id_token_hint", &elsewhere.id_token), ("post_logout_redirect_uri", SIGNED_OUT)]).await;
        let prompt = scene.browser.prompt(&request_of(&answer)).await.data();
        assert_eq!(prompt["user"]["name"], "Uma User", "the page names whom the press signs out");
        assert_eq!(scene.confirm(&answer).await, SIGNED_OUT);
        scene.assert_signed_out().await;
        assert!(scene.client.is_over(&mut other.http, &elsewhere).await, "the program gives up what it got");
        assert!(wiki.is_live(&mut other.http, &at_wiki).await, "another program was affected");
        let session = other.token.clone().unwrap();
        assert!(other.http.is_valid(&session).await, "a stranger signed the user out");
        let query = "SELECT actor_key FROM login_log WHERE event = 'oidc_ended' AND employee_key = 'agent01'";
        assert_eq!(scene.app.query(query), ["user01"]);
        let query = "SELECT employee_key FROM login_log WHERE event = 'logout'";
        assert_eq!(scene.app.query(query), ["user01"], "the log says that somebody else signed out");
    }

    /// A browser that has no session here, such as one that lost its cookie: the client gives up what it got, and no more ends.
    async fn a_hint_without_a_session_here_ends_what_the_client_got() {
        let mut scene = Scene::start().await;
        let mut elsewhere = scene.app.oidc_browser().await;
        let to = encoded(SIGNED_OUT);
        let path = format!("/oidc/logout?id_token_hint={}&post_logout_redirect_uri={to}", scene.tokens.id_token);
        assert_eq!(location(&elsewhere.navigate(&path).await), SIGNED_OUT);
        assert!(scene.client.is_over(&mut scene.browser.http, &scene.tokens).await);
        let session = scene.browser.token.clone().unwrap();
        assert!(scene.browser.http.is_valid(&session).await, "no other program is affected");
    }
}
