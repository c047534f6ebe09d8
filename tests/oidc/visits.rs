//! How browsers come to the service for a client: in several tabs, in old browsers, as parts of other pages, and too often.

use serde_json::json;

use super::{desk, unlimited};
use crate::harness::{TestApp, development, location, oauth_error, registration};

/// What an old browser reports, which has no fetch metadata.
const OLD_BROWSER: [(&str, &str); 1] = [("accept", "text/html,application/xhtml+xml")];
/// What our pages send in it.
const PAGE_OF_OLD_BROWSER: [(&str, &str); 2] = [("x-requested-with", "deskpass"), ("content-type", "application/json")];

on_every_store! {
    async fn tabs_that_programs_open_at_the_same_moment_do_not_disturb_each_other() {
        let (app, client) = desk().await;
        let other = app.oidc_client(registration()).await;
        let mut browser = app.oidc_browser().await;
        let answer = browser.authorize(&client.authorization()).await;
        assert!(answer.header("set-cookie").is_some_and(|set| set.contains("; Max-Age=2592000;")), "{answer:?}");
        let cookie = browser.cookies["deskpass_browser"].clone();
        let mut waiting = Vec::new();
        for program in [&client, &other, &client] {
            waiting.push(browser.begin(&program.authorization()).await);
        }
        // A code on one of the pages shares the cookie, too.
        browser.read(&format!("/api/auth/qrcode?request={}", waiting[0])).await.data();
        assert_eq!(browser.cookies["deskpass_browser"], cookie);
        browser.sign_in("user01").await;
        for id in &waiting {
            browser.proceed_to_client(id).await.code();
        }
    }
}

on_one_store! {
    async fn old_browsers_are_bound_as_well() {
        let (app, client) = desk().await;
        let mut browser = app.oidc_browser().await;
        let answer = browser.send("GET", &client.authorization().path(), &OLD_BROWSER, b"").await;
        let id = location(&answer).split_once("request=").unwrap().1.to_owned();
        assert!(browser.cookies.contains_key("deskpass_browser"), "{answer:?}");
        let body = json!({ "request": id }).to_string();
        let path = "/api/auth/oidc/request";
        for headers in [&PAGE_OF_OLD_BROWSER[..], &PAGE_OF_OLD_BROWSER[1..]] {
            let mut stranger = app.oidc_browser().await;
            assert_eq!(stranger.send("POST", path, headers, body.as_bytes()).await.code(), 1019);
        }
        let prompt = browser.send("POST", path, &PAGE_OF_OLD_BROWSER, body.as_bytes()).await.data();
        assert_eq!(prompt["client"], "Help desk");
        // A request that a program began is none of a browser.
        let answer = browser.http.get(&client.authorization().path(), &[]).await;
        let planted = location(&answer).split_once("request=").unwrap().1;
        let body = json!({ "request": planted }).to_string();
        assert_eq!(browser.send("POST", path, &PAGE_OF_OLD_BROWSER, body.as_bytes()).await.code(), 1019);
    }

    /// Where the service does not answer, people get a page and programs an error; other pages cannot make that happen.
    async fn who_comes_too_often_reads_a_page() {
        let app = TestApp::with(development(&[("limits.enabled", "true"), ("limits.oidc", "2/min")])).await;
        let client = app.oidc_client(registration()).await;
        let (mut browser, path) = (app.oidc_browser().await, client.authorization().path());
        for target in [&*path, "/oidc/logout"] {
            for (mode, destination, status) in
                [("no-cors", "image", 403), ("cors", "empty", 403), ("navigate", "iframe", 400)]
            {
                let part =
                    [("sec-fetch-mode", mode), ("sec-fetch-dest", destination), ("sec-fetch-site", "cross-site")];
                let refused = browser.send("GET", target, &part, b"").await;
                assert_eq!((refused.status, oauth_error(&refused).as_str()), (status, "invalid_request"), "{part:?}");
                assert!(refused.header("set-cookie").is_none());
            }
        }
        for _ in 0..2 {
            assert_eq!(browser.navigate(&path).await.status, 303);
        }
        for answer in [browser.navigate(&path).await, browser.submit("/oidc/logout", "").await] {
            assert_eq!(answer.status, 429);
            assert!(answer.header("retry-after").is_some() && answer.body.contains("data-reason=\"try_later\""), "{answer:?}");
            assert_eq!(answer.header("cache-control"), Some("no-store"));
        }
        let answer = browser.http.get(&path, &[]).await;
        assert_eq!((answer.status, oauth_error(&answer).as_str()), (429, "temporarily_unavailable"));
    }

    /// A library that looks for a session in a hidden frame must not wait until it gives up. The frame's cookies never come along, so
    /// nothing is looked at, kept or counted.
    async fn a_frame_of_another_site_that_asks_silently_is_told_that_nobody_is_signed_in() {
        let app = TestApp::with(development(&[("limits.enabled", "true"), ("limits.oidc", "2/min")])).await;
        let client = app.oidc_client(registration()).await;
        let mut browser = app.oidc_browser().await;
        let frame = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe"), ("sec-fetch-site", "cross-site")];
        let silent = client.authorization().with("prompt", "none");
        for _ in 0..4 {
            let answer = browser.send("GET", &silent.path(), &frame, b"").await;
            let address = location(&answer);
            assert!(address.starts_with("https://rp.example/callback?error=login_required&"), "{answer:?}");
            assert!(address.contains("&state=state+"), "{address}");
            assert!(answer.header("set-cookie").is_none(), "{answer:?}");
        }
        // A request that is wrong is told, too.
        let other = app.oidc_client(registration()).await;
        let off = other.authorization().with("prompt", "none");
        app.auth().operator().set_oidc_client_enabled(&other.id, false).await.unwrap();
        for (asked, error) in [
            (off.clone(), "unauthorized_client"),
            (silent.clone().without("code_challenge"), "invalid_request"),
            (silent.clone().with("response_type", "token"), "unsupported_response_type"),
        ] {
            let answer = browser.send("GET", &asked.path(), &frame, b"").await;
            let expected = format!("https://rp.example/callback?error={error}&");
            assert!(location(&answer).starts_with(&expected) && answer.header("set-cookie").is_none(), "{answer:?}");
        }
        // A page is never shown in a frame, and no address is told that is not registered.
        for asked in [client.authorization(), silent.clone().with("redirect_uri", "https://evil.example/"),
            silent.clone().with("client_id", "nobody"), client.authorization().without("code_challenge"),
            off.without("prompt")] {
            let refused = browser.send("GET", &asked.path(), &frame, b"").await;
            assert_eq!((refused.status, oauth_error(&refused).as_str()), (400, "invalid_request"), "{asked:?}");
        }
        for _ in 0..2 {
            assert_eq!(browser.navigate(&client.authorization().path()).await.status, 303, "the frames were counted");
        }
    }

    /// Invalid tokens are limited, for each client and address; valid ones never are.
    async fn guesses_are_limited_at_every_endpoint() {
        let app = TestApp::with(development(&[("limits.enabled", "true"), ("limits.oidc", "2/min")])).await;
        let client = app.oidc_client(registration()).await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        let http = &mut browser.http;
        let mut statuses = Vec::new();
        for _ in 0..3 {
            statuses.push(http.userinfo("dpi_nonsense").await.status);
        }
        assert_eq!(statuses, [401, 401, 429]);
        let form = [("token", "dpi_nonsense")];
        let mut statuses = Vec::new();
        for path in ["/oidc/introspect", "/oidc/revoke", "/oidc/introspect", "/oidc/revoke"] {
            statuses.push(client.call(http, path, &form).await.status);
        }
        assert_eq!(statuses, [200, 200, 429, 429]);
        assert_eq!(client.refresh(http, "dpr_nonsense").await.status, 429);
        assert!(client.is_live(http, &tokens).await);
        assert_eq!(client.revoke(http, &tokens.access).await.status, 200);
    }

    async fn a_used_logout_is_not_one_more() {
        let app = TestApp::with(unlimited(&[])).await;
        app.oidc_client(registration()).await;
        let answer = app.oidc_browser().await.navigate("/oidc/logout?resume=dpq_nonsense").await;
        super::assert_error_page(&answer);
        assert!(answer.body.contains("data-reason=\"request_gone\""), "{answer:?}");
    }
}
