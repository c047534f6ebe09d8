//! Whatever ends a session or a grant ends what clients got, on every node, and tells them.

use std::time::Duration;

use deskpass_core::EmployeeKey;
use serde_json::{Value, json};

use super::{clients, desk, on_two_nodes, registered, two_nodes, unlimited};
use crate::cluster::soon;
use crate::harness::{
    Client, OidcBrowser, OidcClient, PASSWORD, Receiver, TestApp, Tokens, decoded, oauth_error, registration_at,
    request,
};

/// A user who is signed in at a client.
struct Scene {
    nodes: [TestApp; 2],
    receiver: Receiver,
    client: OidcClient,
}

/// What a client got, and the browser it came through.
struct Entered {
    browser: OidcBrowser,
    tokens: Tokens,
    session: String,
}

impl Scene {
    async fn start() -> Self {
        let (nodes, receiver) = (two_nodes().await, Receiver::start().await);
        let client = registered(&nodes, registration_at(&receiver)).await;
        Self { nodes, receiver, client }
    }

    fn key(&self, who: &str) -> EmployeeKey {
        self.nodes[0].key(who)
    }

    /// Signs in; both nodes have seen the tokens.
    async fn enter(&self, who: &str) -> Entered {
        let (browser, tokens) = self.nodes[0].oidc_sign_in(&self.client, who).await;
        for mut http in clients(&self.nodes).await {
            assert!(self.client.is_live(&mut http, &tokens).await);
        }
        let session = browser.token.clone().unwrap();
        self.receiver.forget();
        Entered { browser, tokens, session }
    }

    /// Asserts that everything is over on both nodes within a second, and that the client is told.
    async fn assert_over(&self, how: &str, entered: &Entered) {
        for mut http in clients(&self.nodes).await {
            soon(how, async || self.client.is_over(&mut http, &entered.tokens).await).await;
        }
        self.assert_told(how, entered).await;
    }

    async fn assert_told(&self, how: &str, entered: &Entered) {
        let told = self.receiver.told(1).await.remove(0);
        let claims = self.nodes[1].client().await.claims(&told).await;
        let signed_in = decoded(&entered.tokens.id_token).1;
        assert_eq!((&claims["sid"], &claims["sub"]), (&signed_in["sid"], &signed_in["sub"]), "{how}");
        assert_eq!(claims["aud"], self.client.id, "{how}");
    }

    async fn is_signed_in(&self, entered: &Entered) -> bool {
        self.nodes[1].client().await.is_valid(&entered.session).await
    }
}

/// Another session of a user.
async fn elsewhere(http: &mut Client, who: &str) -> String {
    http.sign_in(who).await
}

/// The identifier of a session in the user's own list.
async fn own_id(http: &mut Client, token: &str, list: &str, current: bool) -> String {
    let items = http.get_as(token, list).await.data()["items"].as_array().unwrap().clone();
    let found = items.iter().find(|item| item["current"] == current).unwrap_or_else(|| panic!("{items:?}"));
    found["id"].as_str().unwrap().to_owned()
}

async fn bearer(http: &mut Client, method: &str, path: &str, token: &str) -> Value {
    let bearer = format!("Bearer {token}");
    http.send(&request(method, path, &[("authorization", &bearer)], b"")).await.data()
}

on_two_nodes! {
    async fn what_the_user_does_ends_it() {
        let scene = Box::pin(Scene::start()).await;
        let mut there = scene.nodes[1].client().await;

        let entered = scene.enter("user01").await;
        there.logout(&entered.session).await.data();
        scene.assert_over("logout", &entered).await;

        let entered = scene.enter("user01").await;
        let other = elsewhere(&mut there, "user01").await;
        bearer(&mut there, "POST", "/api/auth/logout-all", &other).await;
        scene.assert_over("logout of all sessions", &entered).await;

        let entered = scene.enter("user01").await;
        let other = elsewhere(&mut there, "user01").await;
        let id = own_id(&mut there, &other, "/api/auth/sessions", false).await;
        bearer(&mut there, "DELETE", &format!("/api/auth/sessions/{id}"), &other).await;
        scene.assert_over("ended from another session", &entered).await;
        there.logout(&other).await.data();

        scene.nodes[0].clock.advance(Duration::from_secs(1));
        let entered = scene.enter("user01").await;
        scene.nodes[0].clock.advance(Duration::from_secs(1));
        let other = elsewhere(&mut there, "user01").await;
        let sign_ins = there.get_as(&other, "/api/auth/sign-ins").await.data()["items"].as_array().unwrap().clone();
        let id = sign_ins[1]["id"].as_str().unwrap().to_owned();
        bearer(&mut there, "POST", &format!("/api/auth/sign-ins/{id}/not-me"), &other).await;
        scene.assert_over("a sign-in that the user does not recognise", &entered).await;

        let mut entered = scene.enter("user01").await;
        let path = format!("/oidc/logout?id_token_hint={}", entered.tokens.id_token);
        entered.browser.navigate(&path).await;
        scene.assert_over("logout at the client", &entered).await;
    }

    async fn what_administrators_do_ends_it() {
        let scene = Box::pin(Scene::start()).await;
        let (token, device) = scene.nodes[0].administrator().await;
        let mut there = scene.nodes[1].client().await;

        let entered = scene.enter("agent01").await;
        let list = there.get_as(&token, "/api/admin/sessions?employee_id=agent01").await.data();
        let path = format!("/api/admin/sessions/{}", list["items"][0]["id"].as_str().unwrap());
        assert_eq!(list["items"][0]["clients"], json!([{ "client_id": scene.client.id, "name": "Help desk" }]));
        there.admin_request(&token, &device.next_code(), "DELETE", &path, &json!({})).await.data();
        scene.assert_over("kicked", &entered).await;

        let operator = scene.nodes[1].auth().operator();
        let entered = scene.enter("agent01").await;
        operator.disable(scene.key("agent01")).await.unwrap();
        scene.assert_over("disabled", &entered).await;
        operator.enable(scene.key("agent01")).await.unwrap();

        let entered = scene.enter("user01").await;
        operator.end_all_sessions(None, "").await.unwrap();
        scene.assert_over("all sessions ended", &entered).await;

        // The client was told of the role: it ends there, and the session goes on.
        operator.grant(scene.key("user01"), "security").await.unwrap();
        let login = json!({ "employee_id": "user01", "role": "user" });
        let session = there.post("/api/dev/login", &[], &login).await.data()["token"].as_str().unwrap().to_owned();
        let mut browser = scene.nodes[1].oidc_browser().await;
        browser.token = Some(session.clone());
        let tokens = browser.tokens_in_session(&scene.client).await;
        assert!(scene.client.is_live(&mut there, &tokens).await);
        scene.receiver.forget();
        let entered = Entered { browser, tokens, session };
        operator.revoke(scene.key("user01"), "security").await.unwrap();
        scene.assert_over("a role taken away", &entered).await;
        assert!(scene.is_signed_in(&entered).await);
    }

    async fn a_new_password_ends_it() {
        let scene = Box::pin(Scene::start()).await;
        let mut there = scene.nodes[1].client().await;
        there.first_password("agent01").await;
        let entered = scene.enter("agent01").await;
        let other = elsewhere(&mut there, "agent01").await;
        let body = json!({ "old_password": PASSWORD, "new_password": "five horses crossed a bridge" });
        there.post_as(&other, "/api/agents/password", &body).await.data();
        scene.assert_over("a new password", &entered).await;
    }

    async fn the_end_of_the_session_and_of_the_client_end_it() {
        let scene = Box::pin(Scene::start()).await;
        let mut there = scene.nodes[1].client().await;
        let entered = scene.enter("user01").await;
        scene.nodes[0].clock.advance(Duration::from_hours(8));
        scene.assert_over("expiry", &entered).await;

        let operator = scene.nodes[1].auth().operator();
        let entered = scene.enter("user01").await;
        operator.set_oidc_client_enabled(&scene.client.id, false).await.unwrap();
        let refused = scene.client.refresh(&mut there, entered.tokens.refresh()).await;
        assert_eq!((refused.status, oauth_error(&refused).as_str()), (401, "invalid_client"));
        for mut http in clients(&scene.nodes).await {
            soon("a disabled client", async || http.userinfo(&entered.tokens.access).await.status == 401).await;
        }
        scene.assert_told("a disabled client", &entered).await;
        operator.set_oidc_client_enabled(&scene.client.id, true).await.unwrap();
        let mut here = scene.nodes[0].client().await;
        soon("an enabled client", async || {
            scene.client.call(&mut here, "/oidc/introspect", &[("token", "x")]).await.status == 200
        })
        .await;
        assert!(scene.client.is_over(&mut here, &entered.tokens).await, "what was ended stays so");
        assert!(scene.is_signed_in(&entered).await);

        let mut entered = scene.enter("user01").await;
        operator.remove_oidc_client(&scene.client.id).await.unwrap();
        for mut http in clients(&scene.nodes).await {
            // The provider is gone with its last client.
            soon("a removed client", async || [401, 404].contains(&http.userinfo(&entered.tokens.access).await.status)).await;
        }
        let told = scene.receiver.told(1).await.remove(0);
        assert_eq!(decoded(&told).1["sid"], decoded(&entered.tokens.id_token).1["sid"]);
        assert!(scene.is_signed_in(&entered).await);
        let answer = entered.browser.authorize(&scene.client.authorization()).await;
        assert!([400, 404].contains(&answer.status) && answer.header("location").is_none(), "{answer:?}");
    }
}

on_every_store! {
    /// The oldest session makes room for a new one.
    async fn a_session_too_many_ends_it() {
        let app = TestApp::with(unlimited(&[("session.max_per_employee", "1")])).await;
        let receiver = Receiver::start().await;
        let client = app.oidc_client(registration_at(&receiver)).await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        app.clock.advance(Duration::from_secs(1));
        browser.sign_in("user01").await;
        assert!(client.is_over(&mut browser.http, &tokens).await);
        receiver.told(1).await;
    }

    /// One session at several clients, and one client twice: each `sid` is told once.
    async fn every_client_of_a_session_is_told_once() {
        let app = TestApp::with(unlimited(&[])).await;
        let receivers = [Receiver::start().await, Receiver::start().await, Receiver::start().await];
        let mut all = Vec::new();
        for receiver in &receivers {
            all.push(app.oidc_client(registration_at(receiver)).await);
        }
        let (mut browser, _) = app.oidc_sign_in(&all[0], "user01").await;
        browser.tokens_in_session(&all[1]).await;
        for _ in 0..3 {
            let asked = all[0].authorization();
            let code = browser.silently(&asked).await.code();
            Tokens::of(&all[0].redeem(&mut browser.http, &code, &asked.verifier).await);
        }
        // The third client gave up what it got, and needs no notice.
        let third = browser.tokens_in_session(&all[2]).await;
        all[2].revoke(&mut browser.http, &third.access).await;
        let session = browser.token.clone().unwrap();
        browser.http.logout(&session).await.data();
        let sids = [receivers[0].told(1).await.remove(0), receivers[1].told(1).await.remove(0)]
            .map(|token| decoded(&token).1["sid"].clone());
        assert_ne!(sids[0], sids[1]);
        crate::harness::until("everything is delivered", async || app.query("SELECT count(*) FROM oidc_logout") == ["0"]).await;
        assert!(receivers[2].logout_tokens().is_empty());
        // The audit log has each step.
        let rows = |event: &str| app.query(&format!("SELECT count(*) FROM login_log WHERE event = '{event}'")).remove(0);
        assert_eq!((rows("oidc_authorized"), rows("oidc_client_added")), ("6".to_owned(), "3".to_owned()));
    }

    /// A session of a client that is not told of logouts ends all the same.
    async fn without_a_back_channel_the_next_call_finds_out() {
        let (app, client) = desk().await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        let session = browser.token.clone().unwrap();
        browser.http.logout(&session).await.data();
        assert!(client.is_over(&mut browser.http, &tokens).await);
        crate::harness::until("nothing is left to deliver", async || app.query("SELECT count(*) FROM oidc_logout") == ["0"]).await;
    }
}
