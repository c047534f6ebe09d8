//! Authorization requests that contradict themselves, or that may not be answered with a page.

use std::time::Duration;

use super::{assert_error_page, desk, issuer};
use crate::harness::{Authorization, OidcBrowser, Returned, Tokens, decoded, location, oauth_error};

/// The error that a request returns to the client with.
async fn error(browser: &mut OidcBrowser, asked: &Authorization) -> String {
    browser.silently(asked).await.error()
}

on_one_store! {
    async fn a_repeated_parameter_is_an_error() {
        let (app, client) = desk().await;
        let mut browser = app.oidc_browser().await;
        let asked = client.authorization().with("prompt", "none").with("max_age", "5").with("login_hint", "x");
        for (name, value) in &asked.parameters {
            let mut twice = asked.clone();
            twice.parameters.push((name.clone(), value.clone()));
            let answer = browser.authorize(&twice).await;
            if ["client_id", "redirect_uri"].contains(&name.as_str()) {
                assert_error_page(&answer);
            } else {
                let back = Returned { address: location(&answer).to_owned() };
                assert_eq!(back.error(), "invalid_request", "{name}");
                assert_eq!(back.get("state").is_some(), name != "state", "{name}");
            }
        }
        let code = browser.enter(&client.authorization(), "user01").await.code();
        let form = client.redemption(&code, "v");
        for pair in form {
            let answer = client.call(&mut browser.http, "/oidc/token", &[&form[..], &[pair]].concat()).await;
            assert_eq!((answer.status, oauth_error(&answer).as_str()), (400, "invalid_request"), "{pair:?}");
        }
    }

    async fn every_unsupported_wish_has_its_error() {
        let (app, client) = desk().await;
        let mut browser = app.oidc_browser().await;
        let asked = || client.authorization();
        for (wish, expected) in [
            (asked().with("response_type", "token"), "unsupported_response_type"),
            (asked().with("response_type", "code id_token"), "unsupported_response_type"),
            (asked().with("response_type", "none"), "unsupported_response_type"),
            (asked().with("response_mode", "fragment"), "invalid_request"),
            (asked().with("response_mode", "form_post"), "invalid_request"),
            (asked().with("scope", "profile"), "invalid_scope"),
            (asked().without("scope"), "invalid_scope"),
            (asked().with("prompt", "none login"), "invalid_request"),
            (asked().with("prompt", "create"), "invalid_request"),
            (asked().with("max_age", "-1"), "invalid_request"),
            (asked().with("max_age", "soon"), "invalid_request"),
            (asked().with("nonce", &"n".repeat(513)), "invalid_request"),
            (asked().with("state", &"s".repeat(2049)), "invalid_request"),
        ] {
            assert_eq!(error(&mut browser, &wish).await, expected, "{}", wish.query());
        }
        // Any state comes back as it was; unknown scopes are left out.
        let state = "&=?#%00 \u{1F600}\"<>".repeat(20);
        let asked = asked().with("state", &state).with("scope", "openid admin phone");
        let back = browser.enter(&asked, "user01").await;
        assert_eq!(back.get("state"), Some(state));
        let tokens = Tokens::of(&client.redeem(&mut browser.http, &back.code(), &asked.verifier).await);
        assert_eq!(tokens.answer["scope"], "openid");
    }

    async fn prompt_none_is_never_a_page() {
        let (app, client) = desk().await;
        let other = app.oidc_client(crate::harness::registration()).await;
        let (mut known, tokens) = app.oidc_sign_in(&client, "user01").await;
        let (_, foreign) = app.oidc_sign_in(&client, "agent01").await;
        app.clock.advance(Duration::from_secs(10));
        let asked = || client.authorization().with("prompt", "none");
        for (wish, expected) in [
            (asked().with("max_age", "5"), "login_required"),
            (asked().with("max_age", "0"), "login_required"),
            (asked().with("id_token_hint", &foreign.id_token), "login_required"),
            (asked().with("id_token_hint", "nonsense"), "login_required"),
            (other.authorization().with("prompt", "none"), "interaction_required"),
            (asked().with("response_type", "token"), "unsupported_response_type"),
        ] {
            let answer = known.authorize(&wish).await;
            assert!(answer.header("set-cookie").is_none(), "{answer:?}");
            let back = Returned { address: location(&answer).to_owned() };
            assert_eq!((back.error().as_str(), back.get("code")), (expected, None), "{}", wish.query());
            assert_eq!((back.get("iss"), back.get("state").is_some()), (Some(issuer(&app)), true));
        }
        known.silently(&asked().with("id_token_hint", &tokens.id_token)).await.code();
        // A browser without cookies gets none.
        let answer = app.oidc_browser().await.authorize(&asked()).await;
        assert!(answer.header("set-cookie").is_none() && location(&answer).contains("error=login_required"), "{answer:?}");
        assert_error_page(&known.authorize(&asked().with("redirect_uri", "https://evil.example/")).await);
        // A user who may not use the client any more is not asked either.
        app.auth().operator().disable(app.key("user01")).await.unwrap();
        assert_eq!(error(&mut known, &asked()).await, "login_required");
    }

    /// `max_age=0` asks for a sign-in once, and then lets the user through.
    async fn max_age_zero_does_not_loop() {
        let (app, client) = desk().await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        app.clock.advance(Duration::from_secs(3));
        let asked = client.authorization().with("max_age", "0");
        let id = browser.begin(&asked).await;
        app.clock.advance(Duration::from_secs(30));
        browser.sign_in("user01").await;
        app.clock.advance(Duration::from_secs(30));
        let code = browser.proceed_to_client(&id).await.code();
        let again = Tokens::of(&client.redeem(&mut browser.http, &code, &asked.verifier).await);
        let [before, after] = [decoded(&tokens.id_token).1, decoded(&again.id_token).1];
        assert_eq!(after["auth_time"].as_i64().unwrap(), before["auth_time"].as_i64().unwrap() + 33);
        assert_ne!(after["sid"], before["sid"], "a new session");
    }

    /// The hint names another user than the one who is signed in.
    async fn a_hint_of_another_user_asks_for_that_user() {
        let (app, client) = desk().await;
        let (mut browser, _) = app.oidc_sign_in(&client, "user01").await;
        let (_, foreign) = app.oidc_sign_in(&client, "agent01").await;
        let asked = client.authorization().with("id_token_hint", &foreign.id_token);
        let id = browser.begin(&asked).await;
        assert_eq!(browser.prompt(&id).await.data()["needs"], "sign_in");
        assert_eq!(browser.proceed(&id).await.refused(403, 1003).reason(), "another_user_needed");
        browser.sign_in("agent01").await;
        browser.proceed_to_client(&id).await.code();
    }

    /// Signing in again in one browser for another user: the cookie follows the second, and the first session ends.
    async fn the_cookie_follows_the_last_press() {
        let (app, client) = desk().await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        app.clock.advance(Duration::from_secs(1));
        let asked = client.authorization().with("prompt", "login");
        let id = browser.begin(&asked).await;
        browser.sign_in("agent01").await;
        let code = browser.proceed_to_client(&id).await.code();
        let second = Tokens::of(&client.redeem(&mut browser.http, &code, &asked.verifier).await);
        let asked = client.authorization().with("prompt", "none");
        let code = browser.silently(&asked).await.code();
        let third = Tokens::of(&client.redeem(&mut browser.http, &code, &asked.verifier).await);
        assert_eq!(decoded(&third.id_token).1["sub"], decoded(&second.id_token).1["sub"]);
        assert!(client.is_over(&mut browser.http, &tokens).await);
    }
}
