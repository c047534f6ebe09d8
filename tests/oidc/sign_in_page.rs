//! The page between a client and its user: who is asked what, in which browser, and what other sites can do about it.

use std::time::Duration;

use deskpass_core::oidc::{ClientRegistration, SsoMode};
use serde_json::json;

use super::{desk, issuer, unlimited};
use crate::harness::{OidcBrowser, Platform, Response, TestApp, Tokens, location, oauth_error, registration, request};

const CONTINUE: &str = "/api/auth/oidc/continue";

/// Asserts that a request is not known to this caller.
fn assert_gone(answer: &Response) {
    assert_eq!((answer.code(), answer.reason().as_str()), (1019, "oidc_request_gone"), "{answer:?}");
}

on_every_platform! {
    /// The phone says where the sign-in leads, so that a foreign QR code is recognised.
    async fn the_phone_names_the_client_and_its_host() {
        let app = TestApp::with(unlimited(&[])).await;
        let client = app.oidc_client(ClientRegistration { name: "Zammad 工单".to_owned(), ..registration() }).await;
        let (mut browser, asked) = (app.oidc_browser().await, client.authorization());
        let id = browser.begin(&asked).await;
        let prompt = browser.prompt(&id).await.data();
        assert_eq!((&prompt["client"], &prompt["host"], &prompt["needs"], &prompt["expires_in"]),
            (&json!("Zammad 工单"), &json!("rp.example"), &json!("sign_in"), &json!(600)));
        let told = browser.sign_in_by_phone(&id, "user01").await;
        assert_eq!((&told["client_name"], &told["client_host"]), (&json!("Zammad 工单"), &json!("rp.example")));
        let code = browser.proceed_to_client(&id).await.code();
        let tokens = Tokens::of(&client.redeem(&mut browser.http, &code, &asked.verifier).await);
        let claims = browser.http.claims(&tokens.id_token).await;
        let kind = crate::harness::platform_kind().name();
        assert_eq!((&claims["acr"], &claims["amr"]), (&json!(kind), &json!(["mca", kind])));
        assert_eq!(app.query("SELECT login_source FROM session"), ["oidc"]);
        // The session's list says which programs depend on it.
        let token = browser.token.clone().unwrap();
        let sessions = browser.http.get_as(&token, "/api/auth/sessions").await.data();
        assert_eq!(sessions["items"][0]["clients"], json!([{ "client_id": client.id, "name": "Zammad 工单" }]));
        // An ordinary sign-in names no client.
        let qrcode = browser.http.qrcode().await;
        let confirm = browser.http.scan_as(&qrcode, "user01").await;
        assert!(browser.http.decide("request", &confirm).await.data()["client_name"].is_null());
    }
}

on_every_store! {
    /// One press for each client in a session, then silence; the session is one.
    async fn a_session_meets_each_client_once() {
        let (app, client) = desk().await;
        let other = app.oidc_client(ClientRegistration { name: "Wiki".to_owned(), ..registration() }).await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        // The tab with the token is closed; the cookie remains.
        browser.token = None;
        browser.silently(&client.authorization()).await.code();
        let asked = other.authorization();
        assert_eq!(browser.silently(&asked.clone().with("prompt", "none")).await.error(), "interaction_required");
        let id = browser.begin(&asked).await;
        let prompt = browser.prompt(&id).await.data();
        assert_eq!((&prompt["client"], &prompt["needs"]), (&json!("Wiki"), &json!("press")));
        assert_eq!(prompt["user"]["name"], "Uma User");
        let before = browser.cookies["deskpass_sso"].clone();
        let code = browser.proceed_to_client(&id).await.code();
        assert_ne!(browser.cookies["deskpass_sso"], before, "the cookie changes at each sign-in");
        let second = Tokens::of(&other.redeem(&mut browser.http, &code, &asked.verifier).await);
        let [one, two] = [browser.http.claims(&tokens.id_token).await, browser.http.claims(&second.id_token).await];
        assert_eq!((&one["sub"], &one["auth_time"]), (&two["sub"], &two["auth_time"]));
        assert_ne!(one["sid"], two["sid"], "clients cannot compare sessions");
        browser.silently(&other.authorization().with("prompt", "none")).await.code();
        assert_eq!(app.query("SELECT count(*) FROM session"), ["1"]);
        for prompt in ["select_account", "consent"] {
            let id = browser.begin(&other.authorization().with("prompt", prompt)).await;
            assert_eq!(browser.prompt(&id).await.data()["needs"], "press", "{prompt}");
            browser.proceed_to_client(&id).await.code();
        }
    }

    async fn a_request_belongs_to_one_browser_and_ends() {
        let (app, client) = desk().await;
        let (mut browser, mut other) = (app.oidc_browser().await, app.oidc_browser().await);
        other.begin(&client.authorization()).await;
        let id = browser.begin(&client.authorization()).await;
        for stranger in [&mut other, &mut app.oidc_browser().await] {
            stranger.sign_in("user01").await;
            assert_gone(&stranger.prompt(&id).await);
            assert_gone(&stranger.proceed(&id).await);
            assert_gone(&stranger.call("/api/auth/oidc/deny", &json!({ "request": id })).await);
        }
        // A program cannot continue what a browser began either.
        let token = other.token.clone().unwrap();
        assert_gone(&other.http.post_as(&token, CONTINUE, &json!({ "request": id })).await);
        // A request that a program began cannot be completed by a browser that was sent a link to it.
        let answer = other.http.get(&client.authorization().path(), &[]).await;
        let planted = location(&answer).split_once("request=").unwrap().1.to_owned();
        assert_gone(&other.proceed(&planted).await);

        browser.sign_in("user01").await;
        assert_eq!(browser.deny(&id).await.error(), "access_denied");
        assert_gone(&browser.proceed(&id).await);
        let id = browser.begin(&client.authorization()).await;
        app.clock.advance(Duration::from_mins(10));
        assert_gone(&browser.proceed(&id).await);
        let id = browser.begin(&client.authorization()).await;
        browser.proceed_to_client(&id).await;
        assert_gone(&browser.proceed(&id).await);
        for nonsense in ["", "x", "dpq_x", &token] {
            let refused = browser.proceed(nonsense).await;
            assert!([400, 409, 410].contains(&refused.status), "{refused:?}");
        }
    }

    async fn a_code_ends_after_a_minute_and_serves_one_client_only() {
        let (app, client) = desk().await;
        let other = app.oidc_client(registration()).await;
        let (mut browser, asked) = (app.oidc_browser().await, client.authorization());
        let code = browser.enter(&asked, "user01").await.code();
        let long = "v".repeat(43);
        for (by, verifier) in [(&other, &asked.verifier), (&client, &long)] {
            let refused = by.redeem(&mut browser.http, &code, verifier).await;
            assert_eq!((refused.status, oauth_error(&refused).as_str()), (400, "invalid_grant"));
        }
        let asked = client.authorization();
        let id = browser.begin(&asked.clone().with("prompt", "consent")).await;
        let code = browser.proceed_to_client(&id).await.code();
        app.clock.advance(Duration::from_mins(1));
        let refused = client.redeem(&mut browser.http, &code, &asked.verifier).await;
        assert_eq!((refused.status, oauth_error(&refused).as_str()), (400, "invalid_grant"));
        assert_eq!(app.query("SELECT count(*) FROM oidc_grant"), ["0"]);
    }
}

/// Sends the press as other pages could: with the cookies of the browser and these headers.
async fn press(browser: &mut OidcBrowser, id: &str, headers: &[(&str, &str)]) -> Response {
    let headers = [headers, &[("content-type", "application/json")][..]].concat();
    browser.send("POST", CONTINUE, &headers, json!({ "request": id }).to_string().as_bytes()).await
}

on_one_store! {
    /// The cookie alone is no consent: the press must come from a page of this origin.
    async fn no_other_site_can_press_for_the_user() {
        let (app, client) = desk().await;
        let other = app.oidc_client(registration()).await;
        let (mut browser, _) = app.oidc_sign_in(&client, "user01").await;
        browser.token = None;
        let id = browser.begin(&other.authorization()).await;
        for headers in [
            &[("sec-fetch-site", "cross-site")][..],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "none")],
            &[("sec-fetch-site", "cross-site"), ("x-requested-with", "x")],
            &[("origin", "https://evil.example")],
            &[],
        ] {
            let refused = press(&mut browser, &id, headers).await;
            assert!((400..500).contains(&refused.status), "{headers:?} {refused:?}");
            assert!(refused.header("set-cookie").is_none());
        }
        // A form cannot send JSON.
        let form = [("sec-fetch-site", "same-origin"), ("content-type", "text/plain")];
        let body = json!({ "request": id }).to_string();
        assert_eq!(browser.send("POST", CONTINUE, &form, body.as_bytes()).await.status, 415);
        // The cookie opens no API.
        let cookie = browser.cookies["deskpass_sso"].clone();
        assert_eq!(browser.http.me(&cookie).await.status, 401);
        assert_eq!(browser.read("/api/auth/me").await.status, 401);
        browser.proceed_to_client(&id).await.code();
    }

    async fn how_often_users_are_asked_is_set_for_each_client() {
        let app = TestApp::with(unlimited(&[])).await;
        let silent = app.oidc_client(ClientRegistration { sso: SsoMode::Silent, ..registration() }).await;
        let strict = app.oidc_client(ClientRegistration { sso: SsoMode::Off, ..registration() }).await;
        let usual = app.oidc_client(registration()).await;
        let (mut browser, _) = app.oidc_sign_in(&usual, "user01").await;
        browser.silently(&silent.authorization().with("prompt", "none")).await.code();
        for _ in 0..2 {
            app.clock.advance(Duration::from_secs(1));
            assert_eq!(browser.silently(&strict.authorization().with("prompt", "none")).await.error(), "login_required");
            let asked = strict.authorization();
            let id = browser.begin(&asked).await;
            assert_eq!(browser.proceed(&id).await.refused(403, 1003).reason(), "recent_sign_in_needed");
            browser.sign_in("user01").await;
            let code = browser.proceed_to_client(&id).await.code();
            Tokens::of(&strict.redeem(&mut browser.http, &code, &asked.verifier).await);
        }
    }

    /// A GET that leaves traces answers only to who really asks.
    async fn looking_ahead_begins_nothing() {
        let (app, client) = desk().await;
        let path = client.authorization().path();
        let mut http = app.client().await;
        for header in [("sec-purpose", "prefetch;prerender"), ("purpose", "prefetch")] {
            let refused = http.get(&path, &[header]).await;
            assert!(refused.status >= 400 && refused.header("location").is_none(), "{refused:?}");
        }
        http.start(&request("HEAD", &path, &[], b"")).await;
        let head = http.read_until("\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 405"), "{head}");
    }

    async fn the_page_is_told_little_and_kept_from_frames() {
        let (app, client) = desk().await;
        let mut browser = app.oidc_browser().await;
        let answer = browser.authorize(&client.authorization().with("ui_locales", "zh-CN en")).await;
        assert_eq!((answer.status, answer.header("cache-control")), (303, Some("no-store")));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert!(answer.header("access-control-allow-origin").is_none());
        let page = location(&answer).strip_prefix(&issuer(&app)).unwrap();
        assert!(page.starts_with("/?request=dpq_") && !page.contains("code_challenge"), "{page}");
        let page = browser.navigate(page).await;
        assert!(page.header("content-security-policy").is_some_and(|policy| policy.contains("frame-ancestors 'none'")));
    }

    async fn the_cookies_of_production_are_narrow() {
        let platform = Platform::start("desk.example.com").await;
        let app = TestApp::with(platform.settings(&[("limits.enabled", "false")])).await;
        app.add("user01", deskpass_core::Role::User).await;
        let client = app.oidc_client(registration()).await;
        let (mut browser, asked) = (app.oidc_browser().await, client.authorization());
        let id = browser.begin(&asked).await;
        browser.token = Some(platform.sign_in(&mut app.client().await, "user01").await);
        let answer = browser.proceed(&id).await;
        let sso = answer.headers.iter().find(|(name, value)| name == "set-cookie" && value.contains("_sso=")).unwrap();
        let parts: Vec<_> = sso.1.split("; ").collect();
        assert!(parts[0].starts_with("__Host-deskpass_sso=dpg_"), "{parts:?}");
        for part in ["HttpOnly", "Secure", "SameSite=Lax", "Path=/"] {
            assert!(parts.contains(&part), "{part}: {parts:?}");
        }
        assert!(!parts.iter().any(|part| part.starts_with("Max-Age") || part.starts_with("Expires") || part.starts_with("Domain")));
        // A cookie of another name, as another host of the domain could set it, is not read.
        let value = browser.cookies["__Host-deskpass_sso"].clone();
        let mut other = app.oidc_browser().await;
        other.cookies.insert("deskpass_sso".to_owned(), value);
        assert_eq!(other.silently(&client.authorization().with("prompt", "none")).await.error(), "login_required");
        assert_eq!(browser.http.discovery().await["issuer"], "https://desk.example.com");
    }
}
