//! What attackers send to the authorization and token endpoints.

use deskpass_core::oidc::{ClientRegistration, PkceRequirement};

use super::{assert_error_page, desk, unlimited};
use crate::harness::{
    Authorization, Client, OidcClient, Response, TestApp, Tokens, oauth_error, registration, request,
};
use crate::redirects::hostile;

fn assert_invalid_grant(answer: &Response) {
    assert_eq!((answer.status, oauth_error(answer).as_str()), (400, "invalid_grant"), "{answer:?}");
}

/// A code for user01.
async fn code(app: &TestApp, asked: &Authorization) -> String {
    app.oidc_browser().await.enter(asked, "user01").await.code()
}

on_one_store! {
    /// Until the client and its address are known to be good, the browser is sent nowhere.
    async fn no_hostile_redirect_uri_gets_a_location() {
        let app = TestApp::with(unlimited(&[])).await;
        let own = "https://desk.example.com/h5/".to_owned();
        let client = app.oidc_client(ClientRegistration { redirect_uris: vec![own.clone()], ..registration() }).await;
        let all = hostile();
        assert!(all.len() >= 300 && !all.contains(&own), "only {}", all.len());
        let mut browser = app.oidc_browser().await;
        for address in &all {
            let asked = client.authorization().with("redirect_uri", address);
            assert_error_page(&browser.authorize(&asked).await);
        }
        let some: Vec<_> = all.iter().step_by(10).collect();
        for address in some {
            let asked = client.authorization().with("redirect_uri", address);
            // Other errors of the same request do not change the order of the checks.
            for wrong in [
                asked.clone().with("prompt", "none"),
                asked.clone().with("response_type", "token"),
                asked.clone().with("request", "x"),
                asked.clone().without("scope"),
                asked.clone().without("code_challenge"),
                asked.clone().with("client_id", "nobody"),
            ] {
                assert_error_page(&browser.authorize(&wrong).await);
            }
            assert_error_page(&browser.submit("/oidc/authorize", &asked.query()).await);
        }
        // The registered query stays, and ours is added.
        let with_query = "https://rp.example/cb?tenant=1".to_owned();
        let client = app.oidc_client(ClientRegistration { redirect_uris: vec![with_query], ..registration() }).await;
        let back = browser.silently(&client.authorization().with("prompt", "none")).await;
        assert!(back.address.starts_with("https://rp.example/cb?tenant=1&error=login_required&"), "{back:?}");
    }

    async fn no_error_of_a_client_is_repeated_on_the_page() {
        let (app, client) = desk().await;
        let mut browser = app.oidc_browser().await;
        let script = "\"><script>alert(1)</script>";
        for asked in [
            client.authorization().with("redirect_uri", script),
            client.authorization().with("client_id", script),
        ] {
            let page = browser.authorize(&asked).await;
            assert_error_page(&page);
            assert!(!page.body.contains("alert(1)"), "{}", page.body);
        }
        assert_error_page(&browser.navigate(&format!("/oidc/authorize?resume={}", crate::harness::encoded(script))).await);
    }

    async fn a_code_without_its_pkce_verifier_is_worth_nothing() {
        let app = TestApp::with(unlimited(&[])).await;
        let optional = ClientRegistration { pkce: PkceRequirement::Optional, ..registration() };
        let client = app.oidc_client(optional).await;
        let mut http = app.client().await;
        // With a challenge and without a verifier.
        let asked = client.authorization();
        let taken = code(&app, &asked).await;
        let form = &client.redemption(&taken, "")[..3];
        assert_invalid_grant(&client.call(&mut http, "/oidc/token", form).await);
        // Without a challenge and with a verifier.
        let asked = client.authorization().without("code_challenge").without("code_challenge_method");
        let taken = code(&app, &asked).await;
        assert_invalid_grant(&client.redeem(&mut http, &taken, &asked.verifier).await);
        // Without both it is permitted here, with a nonce.
        let taken = code(&app, &asked).await;
        Tokens::of(&client.call(&mut http, "/oidc/token", &client.redemption(&taken, "")[..3]).await);
        let mut browser = app.oidc_browser().await;
        assert_eq!(browser.silently(&asked.without("nonce")).await.error(), "invalid_request");
        // Weaker methods do not exist.
        let plain = client.authorization();
        for asked in [
            plain.clone().with("code_challenge_method", "plain"),
            plain.clone().without("code_challenge_method"),
            plain.clone().with("code_challenge_method", "s256"),
            plain.clone().with("code_challenge", "short"),
            plain.clone().with("code_challenge", &format!("{}=", plain.get("code_challenge"))),
        ] {
            assert_eq!(browser.silently(&asked).await.error(), "invalid_request");
        }
        let required = app.oidc_client(registration()).await;
        let asked = required.authorization().without("code_challenge").without("code_challenge_method");
        let back = browser.silently(&asked).await;
        assert!(back.error() == "invalid_request" && back.get("error_description").unwrap().contains("PKCE"), "{back:?}");
    }

    /// Authentication of the client comes first, and a failure uses nothing up.
    async fn a_wrong_secret_uses_up_nothing() {
        let (app, client) = desk().await;
        let (asked, mut http) = (client.authorization(), app.client().await);
        let taken = code(&app, &asked).await;
        let wrong = OidcClient { secret: Some("dpe_wrong".to_owned()), ..client.clone() };
        let refused = wrong.redeem(&mut http, &taken, &asked.verifier).await;
        assert_eq!((refused.status, oauth_error(&refused).as_str()), (401, "invalid_client"));
        assert!(refused.header("www-authenticate").is_some_and(|challenge| challenge.starts_with("Basic")), "{refused:?}");
        let form = client.redemption(&taken, &asked.verifier);
        let other = app.oidc_client(registration()).await;
        let secret = client.secret.as_deref().unwrap();
        for (headers, more) in [
            (vec![], vec![]),
            (vec![("authorization", client.basic())], vec![("client_secret", secret)]),
            (vec![("authorization", client.basic())], vec![("client_id", other.id.as_str())]),
            (vec![("authorization", client.basic().to_lowercase())], vec![]),
            (vec![("authorization", "Basic !".to_owned())], vec![]),
            (vec![], vec![("client_id", client.id.as_str()), ("client_secret", "x")]),
            (vec![], vec![("client_id", client.id.as_str())]),
        ] {
            let headers: Vec<_> = headers.iter().map(|(name, value): &(&str, String)| (*name, value.as_str())).collect();
            let answer = http.post_form("/oidc/token", &headers, &[&form[..], &more[..]].concat()).await;
            assert!([400, 401].contains(&answer.status), "{headers:?} {more:?}: {answer:?}");
            assert!(["invalid_client", "invalid_request"].contains(&oauth_error(&answer).as_str()), "{answer:?}");
        }
        let tokens = Tokens::of(&client.redeem(&mut http, &taken, &asked.verifier).await);
        let refused = wrong.refresh(&mut http, tokens.refresh()).await;
        assert_eq!(refused.status, 401);
        Tokens::of(&client.refresh(&mut http, tokens.refresh()).await);
    }

    /// Guessing is limited for each client and address: strangers cannot shut a client out.
    async fn guessed_secrets_are_limited_where_they_come_from() {
        let (app, client) = desk().await;
        let wrong = OidcClient { secret: Some("dpe_wrong".to_owned()), ..client.clone() };
        let mut http = app.client().await;
        let mut limited = 0;
        for _ in 0..30 {
            let answer = wrong.refresh(&mut http, "x").await;
            if answer.status == 429 {
                assert!(answer.header("retry-after").is_some() && oauth_error(&answer) == "temporarily_unavailable");
                limited += 1;
            } else {
                assert_eq!(answer.status, 401, "{answer:?}");
            }
        }
        assert!(limited > 0, "secrets can be guessed at any speed");
        let headers = [("authorization", &*client.basic()), ("x-forwarded-for", "198.51.100.7")];
        let answer = http.post_form("/oidc/introspect", &headers, &[("token", "x")]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    async fn other_grants_and_other_bodies_are_refused() {
        let (app, client) = desk().await;
        let mut http = app.client().await;
        for grant in ["password", "client_credentials", "implicit", "urn:ietf:params:oauth:grant-type:device_code"] {
            let form = [("grant_type", grant), ("username", "user01"), ("password", "x")];
            let answer = client.call(&mut http, "/oidc/token", &form).await;
            assert_eq!((answer.status, oauth_error(&answer).as_str()), (400, "unsupported_grant_type"), "{grant}");
        }
        let missing = client.call(&mut http, "/oidc/token", &[]).await;
        assert_eq!((missing.status, oauth_error(&missing).as_str()), (400, "invalid_request"));
        let basic = client.basic();
        let json = [("authorization", &*basic), ("content-type", "application/json")];
        let answer = http.send(&request("POST", "/oidc/token", &json, b"{\"grant_type\":\"refresh_token\"}")).await;
        assert!([400, 415].contains(&answer.status) && !oauth_error(&answer).is_empty(), "{answer:?}");
        // No parameter is read from the address.
        let path = "/oidc/token?grant_type=refresh_token&refresh_token=x";
        let answer = client.call(&mut http, path, &[]).await;
        assert_eq!((answer.status, oauth_error(&answer).as_str()), (400, "invalid_request"));
        assert_eq!(http.get("/oidc/token", &[]).await.status, 405);
        for path in ["/oidc/userinfo?access_token=dpi_x", "/oidc/introspect?token=x"] {
            assert!([401, 405].contains(&http.get(path, &[]).await.status), "{path}");
        }
    }
}

/// Reads a document with a foreign `Host`.
async fn under_host(http: &mut Client, path: &str, host: &str) -> Response {
    let headers = "x-forwarded-host: evil.example\r\nx-forwarded-proto: http\r\nforwarded: host=evil.example\r\n";
    http.send(format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n{headers}\r\n").as_bytes()).await
}

on_one_store! {
    async fn the_host_header_changes_nothing() {
        let app = TestApp::production().await;
        let client = app.oidc_client(registration()).await;
        let mut http = app.client().await;
        for path in ["/.well-known/openid-configuration", "/oidc/jwks"] {
            let own = under_host(&mut http, path, "desk.example.com").await;
            assert_eq!(own.status, 200);
            let foreign = under_host(&mut http, path, "evil.example").await;
            assert!(foreign.status != 200 || foreign.body == own.body, "{foreign:?}");
            assert!(!foreign.body.contains("evil.example"), "{foreign:?}");
        }
        let answer = under_host(&mut http, &client.authorization().path(), "evil.example").await;
        assert!(answer.header("location").is_none_or(|to| to.starts_with("https://desk.example.com/")), "{answer:?}");
    }
}
