//! What one user can make by repeating a request: few rows, and working clients notice no limit.

use std::time::Duration;

use deskpass_core::oidc::{ClientRegistration, SsoMode};
use serde_json::json;

use crate::harness::{Client, OidcClient, Response, TestApp, Tokens, development, oauth_error, registration};

/// A service with rate limits, and a client.
async fn limited() -> (TestApp, OidcClient) {
    let app = TestApp::with(development(&[("limits.enabled", "true")])).await;
    let client = app.oidc_client(registration()).await;
    (app, client)
}

/// Refreshes so many times in a row; returns the last tokens and the first answer that was none.
async fn refresh_often(
    client: &OidcClient,
    http: &mut Client,
    mut last: Tokens,
    times: usize,
) -> (Tokens, Option<Response>) {
    for _ in 0..times {
        let answer = client.refresh(http, last.refresh()).await;
        if answer.status != 200 {
            return (last, Some(answer));
        }
        last = Tokens::of(&answer);
    }
    (last, None)
}

fn count(app: &TestApp, kind: &str) -> usize {
    app.query(&format!("SELECT count(*) FROM oidc_token WHERE kind = '{kind}'"))[0].parse().unwrap()
}

on_every_store! {
    async fn a_grant_is_refreshed_thirty_times_a_minute() {
        let (app, client) = limited().await;
        let (_, tokens) = app.oidc_sign_in(&client, "user01").await;
        let mut http = app.client().await;
        let (first, none) = refresh_often(&client, &mut http, tokens, 29).await;
        assert!(none.is_none(), "{none:?}");
        let last = Tokens::of(&client.refresh(&mut http, first.refresh()).await);
        let refused = client.refresh(&mut http, last.refresh()).await;
        assert_eq!((refused.status, oauth_error(&refused).as_str()), (429, "temporarily_unavailable"), "{refused:?}");
        assert!(refused.header("retry-after").is_some(), "{refused:?}");
        // The answer that may have been lost is given again, and nothing has ended.
        assert_eq!(Tokens::of(&client.refresh(&mut http, first.refresh()).await).access, last.access);
        assert!(client.is_live(&mut http, &last).await);
        // Another grant is not affected.
        let (_, other) = app.oidc_sign_in(&client, "agent01").await;
        Tokens::of(&client.refresh(&mut http, other.refresh()).await);
        app.clock.advance(Duration::from_secs(2));
        Tokens::of(&client.refresh(&mut http, last.refresh()).await);
    }

    async fn a_refresh_replaces_the_access_tokens_before_the_last_one() {
        let (app, client) = crate::oidc::desk().await;
        let (_, mut last) = app.oidc_sign_in(&client, "user01").await;
        let mut http = app.client().await;
        let mut all = vec![last.clone()];
        for _ in 0..130 {
            app.clock.advance(Duration::from_secs(40));
            last = Tokens::of(&client.refresh(&mut http, last.refresh()).await);
            all.push(last.clone());
        }
        // A request on its way may carry the token of before; none of older ones.
        for (age, is_valid) in [(1, true), (2, true), (3, false), (20, false)] {
            let token = &all[all.len() - age].access;
            assert_eq!(http.userinfo(token).await.status == 200, is_valid, "{age}");
        }
        assert_eq!(count(&app, "access"), 2);
        // Used more than an hour ago, of more than a hundred: the first ones are forgotten, and no later ones.
        let kept = count(&app, "refresh");
        assert!((101..=103).contains(&kept), "{kept}");
        let late = client.refresh(&mut http, all[60].refresh()).await;
        assert_eq!((late.status, oauth_error(&late).as_str()), (400, "invalid_grant"));
        assert!(client.is_over(&mut http, &last).await, "a late second use ends the grant");
    }
}

on_one_store! {
    /// Each leads to a grant, and to a row of the audit log.
    async fn a_session_enters_programs_sixty_times_a_minute_without_a_press() {
        let (app, usual) = limited().await;
        let silent = app.oidc_client(ClientRegistration { sso: SsoMode::Silent, ..registration() }).await;
        let (mut browser, _) = app.oidc_sign_in(&usual, "user01").await;
        let rows = |app: &TestApp| app.query("SELECT count(*) FROM login_log WHERE event = 'oidc_authorized'")[0].clone();
        let before: usize = rows(&app).parse().unwrap();
        for turn in 0..62 {
            // A program where the user has continued before is entered without a press, too.
            let client = [&silent, &usual][turn % 2];
            let authorization = client.authorization();
            let returned = browser.silently(&authorization).await;
            if turn < 60 {
                Tokens::of(&client.redeem(&mut browser.http, &returned.code(), &authorization.verifier).await);
            } else {
                assert_eq!(returned.error(), "temporarily_unavailable");
            }
        }
        assert_eq!(rows(&app), (before + 60).to_string());
        // Another session may, and so may this one a little later.
        let (mut other, _) = app.oidc_sign_in(&usual, "agent01").await;
        other.silently(&silent.authorization()).await.code();
        app.clock.advance(Duration::from_secs(1));
        browser.silently(&silent.authorization()).await.code();
    }

    async fn a_session_switches_and_continues_twenty_times_a_minute() {
        let (app, client) = limited().await;
        let mut browser = app.oidc_browser().await;
        browser.sign_in("agent01").await;
        for turn in 0..21 {
            let role = ["user", "agent"][turn % 2];
            let answer = browser.call("/api/auth/switch-role", &json!({ "role": role })).await;
            assert_eq!(answer.status == 200, turn < 20, "{turn}: {answer:?}");
            let refused = browser.call("/api/auth/oidc/continue", &json!({ "request": "dpq_nonsense" })).await;
            assert_eq!(refused.status == 429, turn >= 20, "{turn}: {refused:?}");
        }
        assert_eq!(app.query("SELECT count(*) FROM login_log WHERE event LIKE 'switch_role%'"), ["20"]);
        // Another session of the same person may, and so may this one a little later.
        let mut other = app.oidc_browser().await;
        other.tokens(&client, "agent01").await;
        app.clock.advance(Duration::from_secs(3));
        browser.tokens_in_session(&client).await;
    }
}
