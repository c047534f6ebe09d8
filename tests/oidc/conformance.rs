//! The tests of the OpenID conformance suite for providers, under its names: `oidcc-basic-certification-test-plan`.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_core::oidc::{ClientRegistration, SigningAlgorithm};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{assert_error_page, desk, issuer, unlimited};
use crate::harness::{
    ALL_SCOPES, Authorization, OidcBrowser, OidcClient, Returned, TestApp, Tokens, decoded, location, oauth_error,
    registration,
};

/// Signs user01 in with a request and redeems the code.
async fn entered(app: &TestApp, client: &OidcClient, authorization: &Authorization) -> (OidcBrowser, Tokens) {
    let mut browser = app.oidc_browser().await;
    let returned = browser.enter(authorization, "user01").await;
    assert_eq!(returned.get("state").as_deref(), Some(authorization.get("state")));
    let tokens = Tokens::of(&client.redeem(&mut browser.http, &returned.code(), &authorization.verifier).await);
    (browser, tokens)
}

/// Signs in again in the same browser, after the service asked for it; returns the claims of the new ID token.
async fn entered_again(browser: &mut OidcBrowser, client: &OidcClient, authorization: &Authorization) -> Value {
    let id = browser.begin(authorization).await;
    assert_eq!(browser.prompt(&id).await.data()["needs"], "sign_in");
    let refused = browser.proceed(&id).await;
    assert_eq!(refused.refused(403, 1003).reason(), "recent_sign_in_needed");
    browser.sign_in("user01").await;
    let returned = browser.proceed_to_client(&id).await;
    redeemed(browser, client, authorization, &returned).await
}

/// Redeems a code; returns the claims of the ID token.
async fn redeemed(browser: &mut OidcBrowser, client: &OidcClient, asked: &Authorization, back: &Returned) -> Value {
    let tokens = Tokens::of(&client.redeem(&mut browser.http, &back.code(), &asked.verifier).await);
    browser.http.claims(&tokens.id_token).await
}

/// Asserts that a request works as it would without what is special about it.
async fn succeeds(asked: impl FnOnce(Authorization) -> Authorization) -> Value {
    let (app, client) = desk().await;
    let (mut browser, tokens) = entered(&app, &client, &asked(client.authorization())).await;
    browser.http.claims(&tokens.id_token).await
}

/// Asserts that a request fails at the client with an error.
async fn fails(error: &str, asked: impl FnOnce(Authorization) -> Authorization) {
    let (app, client) = desk().await;
    let authorization = asked(client.authorization());
    let returned = app.oidc_browser().await.silently(&authorization).await;
    assert_eq!((returned.error(), returned.get("code")), (error.to_owned(), None));
    assert_eq!(returned.get("state").as_deref(), Some(authorization.get("state")));
    assert_eq!(returned.get("iss"), Some(issuer(&app)));
    assert!(returned.get("error_description").is_some_and(|text| text.is_ascii()), "{returned:?}");
}

on_every_store! {
    /// With both algorithms; by the simulated phone.
    async fn oidcc_server() {
        let app = TestApp::with(unlimited(&[])).await;
        for (algorithm, name) in [(SigningAlgorithm::Rs256, "RS256"), (SigningAlgorithm::Es256, "ES256")] {
            let client = app.oidc_client(ClientRegistration { algorithm, ..registration() }).await;
            let (mut browser, authorization) = (app.oidc_browser().await, client.authorization());
            let id = browser.begin(&authorization).await;
            browser.sign_in_by_phone(&id, "user01").await;
            let returned = browser.proceed_to_client(&id).await;
            assert!(returned.address.starts_with("https://rp.example/callback?"), "{returned:?}");
            assert_eq!(returned.get("state").as_deref(), Some(authorization.get("state")));
            assert_eq!(returned.get("iss"), Some(issuer(&app)));
            let answer = client.redeem(&mut browser.http, &returned.code(), &authorization.verifier).await;
            assert_eq!(answer.header("cache-control"), Some("no-store"));
            let tokens = Tokens::of(&answer);
            assert_eq!((&tokens.answer["expires_in"], &tokens.answer["scope"]), (&json!(900), &json!(ALL_SCOPES)));

            let header = decoded(&tokens.id_token).0;
            assert_eq!((header["alg"].as_str(), header["kid"].is_string()), (Some(name), true), "{header}");
            let claims = browser.http.claims(&tokens.id_token).await;
            let hash = URL_SAFE_NO_PAD.encode(&Sha256::digest(tokens.access.as_bytes())[..16]);
            let now = app.clock.now().millis() / 1000;
            for (claim, value) in [
                ("iss", json!(issuer(&app))),
                ("aud", json!(client.id)),
                ("nonce", json!(authorization.get("nonce"))),
                ("at_hash", json!(hash)),
                ("iat", json!(now)),
                ("exp", json!(now + 300)),
                ("auth_time", json!(now)),
                ("acr", json!("wecom")),
                ("amr", json!(["mca", "wecom"])),
            ] {
                assert_eq!(claims[claim], value, "{claim}");
            }
            assert_eq!((claims["sub"].as_str().unwrap().len(), claims["sid"].as_str().unwrap().len()), (22, 22));
            let user = browser.http.userinfo(&tokens.access).await.json();
            assert_eq!((&user["sub"], &user["name"]), (&claims["sub"], &json!("Uma User")));
        }
    }

    async fn oidcc_codereuse() {
        let (app, client) = desk().await;
        let (mut browser, authorization) = (app.oidc_browser().await, client.authorization());
        let code = browser.enter(&authorization, "user01").await.code();
        let tokens = Tokens::of(&client.redeem(&mut browser.http, &code, &authorization.verifier).await);
        let again = client.redeem(&mut browser.http, &code, &authorization.verifier).await;
        assert_eq!((again.status, oauth_error(&again).as_str()), (400, "invalid_grant"));
        assert!(client.is_over(&mut browser.http, &tokens).await);
        assert_eq!(app.query("SELECT count(*) FROM login_log WHERE event = 'oidc_reused'"), ["1"]);
    }

    async fn oidcc_codereuse_30seconds() {
        let (app, client) = desk().await;
        let (mut browser, authorization) = (app.oidc_browser().await, client.authorization());
        let code = browser.enter(&authorization, "user01").await.code();
        let tokens = Tokens::of(&client.redeem(&mut browser.http, &code, &authorization.verifier).await);
        app.clock.advance(Duration::from_secs(30));
        assert!(client.is_live(&mut browser.http, &tokens).await);
        let again = client.redeem(&mut browser.http, &code, &authorization.verifier).await;
        assert_eq!((again.status, oauth_error(&again).as_str()), (400, "invalid_grant"));
        assert!(client.is_over(&mut browser.http, &tokens).await);
    }

    async fn oidcc_refresh_token() {
        let (app, client) = desk().await;
        let other = app.oidc_client(registration()).await;
        let (mut browser, tokens) = entered(&app, &client, &client.authorization()).await;
        let first = browser.http.claims(&tokens.id_token).await;
        app.clock.advance(Duration::from_mins(1));
        let stolen = other.refresh(&mut browser.http, tokens.refresh()).await;
        assert_eq!((stolen.status, oauth_error(&stolen).as_str()), (400, "invalid_grant"));
        let answer = client.refresh(&mut browser.http, tokens.refresh()).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let next = Tokens::of(&answer);
        assert!(next.access != tokens.access && next.refresh != tokens.refresh);
        let claims = browser.http.claims(&next.id_token).await;
        for claim in ["iss", "sub", "aud", "auth_time", "sid", "acr", "amr", "name", "groups"] {
            assert_eq!(claims[claim], first[claim], "{claim}");
        }
        assert_eq!(claims.get("nonce"), None);
        assert_eq!(claims["iat"].as_u64().unwrap(), first["iat"].as_u64().unwrap() + 60);
        assert!(client.is_live(&mut browser.http, &next).await);
    }
}

on_one_store! {
    async fn oidcc_response_type_missing() {
        fails("invalid_request", |asked| asked.without("response_type")).await;
    }

    async fn oidcc_userinfo_get() {
        let (app, client) = desk().await;
        let (mut browser, tokens) = entered(&app, &client, &client.authorization()).await;
        let answer = browser.http.userinfo(&tokens.access).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
        assert_eq!(answer.json()["sub"], decoded(&tokens.id_token).1["sub"]);
    }

    async fn oidcc_userinfo_post_header() {
        let (app, client) = desk().await;
        let (mut browser, tokens) = entered(&app, &client, &client.authorization()).await;
        let bearer = format!("Bearer {}", tokens.access);
        let answer = browser.http.post_form("/oidc/userinfo", &[("authorization", &bearer)], &[]).await;
        assert_eq!(answer.json()["sub"], decoded(&tokens.id_token).1["sub"]);
    }

    async fn oidcc_userinfo_post_body() {
        let (app, client) = desk().await;
        let (mut browser, tokens) = entered(&app, &client, &client.authorization()).await;
        let form = [("access_token", tokens.access.as_str())];
        let answer = browser.http.post_form("/oidc/userinfo", &[], &form).await;
        assert_eq!(answer.json()["sub"], decoded(&tokens.id_token).1["sub"]);
        // Two ways at once are an error of the client.
        let bearer = format!("Bearer {}", tokens.access);
        assert_eq!(browser.http.post_form("/oidc/userinfo", &[("authorization", &bearer)], &form).await.status, 400);
    }

    async fn oidcc_ensure_request_without_nonce_succeeds_for_code_flow() {
        let claims = succeeds(|asked| asked.without("nonce")).await;
        assert_eq!(claims.get("nonce"), None);
    }

    async fn oidcc_scope_profile() {
        let claims = succeeds(|asked| asked.with("scope", "openid profile")).await;
        assert_eq!((&claims["name"], &claims["preferred_username"]), (&json!("Uma User"), &json!("user01")));
        assert_eq!((claims.get("email"), claims.get("groups")), (None, None));
    }

    async fn oidcc_scope_email() {
        let app = TestApp::with(unlimited(&[("oidc.email_domain", "example.com")])).await;
        let client = app.oidc_client(registration()).await;
        let asked = client.authorization().with("scope", "openid email");
        let (mut browser, tokens) = entered(&app, &client, &asked).await;
        assert_eq!(tokens.answer["scope"], "openid email");
        let user = browser.http.userinfo(&tokens.access).await.json();
        assert_eq!((&user["email"], &user["email_verified"]), (&json!("user01@example.com"), &json!(true)));
        assert_eq!((user.get("name"), tokens.refresh), (None, None));
    }

    async fn oidcc_scope_all() {
        let app = TestApp::with(unlimited(&[("oidc.email_domain", "example.com")])).await;
        let client = app.oidc_client(registration()).await;
        let (mut browser, tokens) = entered(&app, &client, &client.authorization()).await;
        let user = browser.http.userinfo(&tokens.access).await.json();
        let claims = browser.http.claims(&tokens.id_token).await;
        for claim in ["sub", "name", "preferred_username", "email", "email_verified", "groups", "roles", "department"] {
            assert!(!user[claim].is_null(), "{claim}: {user}");
            assert_eq!(user[claim], claims[claim], "{claim}");
        }
        assert!(!user.as_object().unwrap().values().any(Value::is_null), "{user}");
    }

    async fn oidcc_ensure_other_scope_order_succeeds() {
        let claims = succeeds(|asked| asked.with("scope", "email profile openid")).await;
        assert_eq!(claims["name"], "Uma User");
    }

    async fn oidcc_display_page() {
        succeeds(|asked| asked.with("display", "page")).await;
    }

    async fn oidcc_display_popup() {
        succeeds(|asked| asked.with("display", "popup")).await;
    }

    async fn oidcc_prompt_login() {
        let (app, client) = desk().await;
        let (mut browser, tokens) = entered(&app, &client, &client.authorization()).await;
        let first = decoded(&tokens.id_token).1;
        app.clock.advance(Duration::from_secs(5));
        let again = entered_again(&mut browser, &client, &client.authorization().with("prompt", "login")).await;
        assert_eq!(again["sub"], first["sub"]);
        assert_eq!(again["auth_time"].as_u64().unwrap(), first["auth_time"].as_u64().unwrap() + 5);
    }

    async fn oidcc_prompt_none_not_logged_in() {
        fails("login_required", |asked| asked.with("prompt", "none")).await;
    }

    async fn oidcc_prompt_none_logged_in() {
        let (app, client) = desk().await;
        let (mut browser, tokens) = entered(&app, &client, &client.authorization()).await;
        let asked = client.authorization().with("prompt", "none");
        let returned = browser.silently(&asked).await;
        let claims = redeemed(&mut browser, &client, &asked, &returned).await;
        let first = decoded(&tokens.id_token).1;
        assert_eq!([&claims["sub"], &claims["auth_time"], &claims["sid"]], [&first["sub"], &first["auth_time"], &first["sid"]]);
        assert_eq!(claims["nonce"], asked.get("nonce"));
    }

    async fn oidcc_max_age_1() {
        let (app, client) = desk().await;
        let (mut browser, tokens) = entered(&app, &client, &client.authorization().with("max_age", "15000")).await;
        let first = decoded(&tokens.id_token).1;
        app.clock.advance(Duration::from_secs(2));
        let again = entered_again(&mut browser, &client, &client.authorization().with("max_age", "1")).await;
        assert_eq!(again["sub"], first["sub"]);
        assert_eq!(again["auth_time"].as_u64().unwrap(), first["auth_time"].as_u64().unwrap() + 2);
    }

    async fn oidcc_max_age_10000() {
        let (app, client) = desk().await;
        let (mut browser, tokens) = entered(&app, &client, &client.authorization()).await;
        app.clock.advance(Duration::from_secs(5));
        let asked = client.authorization().with("max_age", "10000");
        let returned = browser.silently(&asked).await;
        let claims = redeemed(&mut browser, &client, &asked, &returned).await;
        assert_eq!(claims["auth_time"], decoded(&tokens.id_token).1["auth_time"]);
    }

    async fn oidcc_ensure_request_with_unknown_parameter_succeeds() {
        succeeds(|asked| asked.with("extra", "foobar")).await;
    }

    async fn oidcc_id_token_hint() {
        let (app, client) = desk().await;
        let (mut browser, tokens) = entered(&app, &client, &client.authorization()).await;
        // The hint has expired by now, which does not matter.
        app.clock.advance(Duration::from_mins(10));
        let asked = client.authorization().with("prompt", "none").with("id_token_hint", &tokens.id_token);
        let returned = browser.silently(&asked).await;
        let claims = redeemed(&mut browser, &client, &asked, &returned).await;
        assert_eq!(claims["sub"], decoded(&tokens.id_token).1["sub"]);
    }

    async fn oidcc_login_hint() {
        let (app, client) = desk().await;
        let asked = client.authorization().with("login_hint", "user01");
        let mut browser = app.oidc_browser().await;
        let id = browser.begin(&asked).await;
        assert_eq!(browser.prompt(&id).await.data()["login_hint"], "user01");
        browser.sign_in("user01").await;
        browser.proceed_to_client(&id).await.code();
    }

    async fn oidcc_ui_locales() {
        succeeds(|asked| asked.with("ui_locales", "se fr-CA zh-CN en")).await;
    }

    async fn oidcc_claims_locales() {
        succeeds(|asked| asked.with("claims_locales", "se")).await;
    }

    async fn oidcc_ensure_request_with_acr_values_succeeds() {
        let claims = succeeds(|asked| asked.with("acr_values", "otp wecom")).await;
        assert_eq!((&claims["acr"], &claims["amr"]), (&json!("dev"), &json!(["dev"])));
    }

    async fn oidcc_ensure_registered_redirect_uri() {
        let (app, client) = desk().await;
        let mut browser = app.oidc_browser().await;
        for address in ["https://rp.example/other", "https://rp.example/callback/"] {
            assert_error_page(&browser.authorize(&client.authorization().with("redirect_uri", address)).await);
        }
        assert_error_page(&browser.authorize(&client.authorization().without("redirect_uri")).await);
        assert_error_page(&browser.authorize(&client.authorization().with("client_id", "nobody")).await);
    }

    async fn oidcc_ensure_post_request_succeeds() {
        let (app, client) = desk().await;
        let (mut browser, tokens) = entered(&app, &client, &client.authorization()).await;
        // The cookie does not come with the form of another site, and single sign-on works nevertheless.
        let asked = client.authorization();
        let answer = browser.submit("/oidc/authorize", &asked.query()).await;
        assert_eq!(answer.status, 303, "{answer:?}");
        let resumed = location(&answer).strip_prefix(&issuer(&app)).unwrap().to_owned();
        assert!(resumed.starts_with("/oidc/authorize?resume=") && !resumed.contains("code_challenge"), "{resumed}");
        let answer = browser.navigate(&resumed).await;
        let returned = Returned { address: location(&answer).to_owned() };
        let claims = redeemed(&mut browser, &client, &asked, &returned).await;
        assert_eq!(claims["sub"], decoded(&tokens.id_token).1["sub"]);
    }

    async fn oidcc_server_client_secret_post() {
        let (app, client) = desk().await;
        let (mut browser, asked) = (app.oidc_browser().await, client.authorization());
        let code = browser.enter(&asked, "user01").await.code();
        let own = [("client_id", client.id.as_str()), ("client_secret", client.secret.as_deref().unwrap())];
        let form = [&client.redemption(&code, &asked.verifier)[..], &own[..]].concat();
        Tokens::of(&browser.http.post_form("/oidc/token", &[], &form).await);
    }

    async fn oidcc_unsigned_request_object_supported_correctly_or_rejected_as_unsupported() {
        let object = format!("{}.{}.", URL_SAFE_NO_PAD.encode("{\"alg\":\"none\"}"), URL_SAFE_NO_PAD.encode("{}"));
        fails("request_not_supported", |asked| asked.with("request", &object)).await;
        fails("request_uri_not_supported", |asked| asked.with("request_uri", "https://rp.example/object")).await;
    }

    /// The parameter is not supported: it is ignored, and the claims are those of the scopes.
    async fn oidcc_claims_essential() {
        let wish = json!({ "userinfo": { "name": { "essential": true } }, "id_token": { "acr": { "value": "otp" } } });
        let claims = succeeds(|asked| asked.with("scope", "openid").with("claims", &wish.to_string())).await;
        assert_eq!((claims.get("name"), &claims["acr"]), (None, &json!("dev")));
    }

    async fn oidcc_ensure_request_object_with_redirect_uri() {
        let inside = json!({ "redirect_uri": "https://evil.example/" }).to_string();
        let object = format!("{}.{}.", URL_SAFE_NO_PAD.encode("{\"alg\":\"none\"}"), URL_SAFE_NO_PAD.encode(inside));
        fails("request_not_supported", |asked| asked.with("request", &object)).await;
    }

    async fn oidcc_ensure_request_with_valid_pkce_succeeds() {
        succeeds(|asked| asked).await;
    }
}
