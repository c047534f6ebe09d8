//! The tests of the OpenID conformance suite for providers, under its names: `oidcc-config-certification-test-plan`.

use serde_json::{Value, json};

use super::{issuer, unlimited};
use crate::harness::{TestApp, registration};

const DOCUMENTS: [&str; 2] = ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"];

/// The members that every client relies on.
fn expected(issuer: &str) -> Value {
    let at = |path: &str| format!("{issuer}/oidc/{path}");
    json!({
        "issuer": issuer,
        "authorization_endpoint": at("authorize"),
        "token_endpoint": at("token"),
        "userinfo_endpoint": at("userinfo"),
        "jwks_uri": at("jwks"),
        "revocation_endpoint": at("revoke"),
        "introspection_endpoint": at("introspect"),
        "end_session_endpoint": at("logout"),
        "scopes_supported": ["openid", "profile", "email", "groups", "offline_access"],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256", "ES256"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
        "code_challenge_methods_supported": ["S256"],
        "acr_values_supported": ["wecom", "otp"],
        "prompt_values_supported": ["none", "login", "select_account", "consent"],
        "ui_locales_supported": ["en", "zh-CN"],
        "claims_parameter_supported": false,
        "request_parameter_supported": false,
        "request_uri_parameter_supported": false,
        "authorization_response_iss_parameter_supported": true,
        "backchannel_logout_supported": true,
        "backchannel_logout_session_supported": true,
    })
}

const CLAIMS: [&str; 20] = [
    "sub",
    "iss",
    "aud",
    "exp",
    "iat",
    "auth_time",
    "nonce",
    "acr",
    "amr",
    "sid",
    "at_hash",
    "name",
    "preferred_username",
    "picture",
    "email",
    "email_verified",
    "groups",
    "roles",
    "department",
    "corp_id",
];

on_every_store! {
    async fn oidcc_discovery_endpoint_verification() {
        let app = TestApp::with(unlimited(&[])).await;
        let mut client = app.client().await;
        // Without clients there is no provider, and no key.
        for path in DOCUMENTS.into_iter().chain(["/oidc/jwks", "/oidc/authorize", "/oidc/userinfo", "/oidc/logout"]) {
            assert_eq!(client.get(path, &[]).await.status, 404, "{path}");
        }
        assert_eq!(client.post_form("/oidc/token", &[], &[]).await.status, 404);
        assert_eq!(app.query("SELECT count(*) FROM oidc_key"), ["0"]);

        app.oidc_client(registration()).await;
        let [document, same] = [client.get(DOCUMENTS[0], &[]).await, client.get(DOCUMENTS[1], &[]).await];
        assert_eq!((document.status, &document.body), (200, &same.body));
        assert_eq!(document.header("cache-control"), Some("public, max-age=300"));
        assert_eq!(document.header("access-control-allow-origin"), Some("*"));
        let document = document.json();
        for (name, value) in expected(&issuer(&app)).as_object().unwrap() {
            assert_eq!(document[name], *value, "{name}");
        }
        let claims = document["claims_supported"].as_array().unwrap();
        assert!(CLAIMS.iter().all(|claim| claims.contains(&json!(claim))), "{claims:?}");
        // Every address in it answers.
        for (name, address) in document.as_object().unwrap() {
            let path = address.as_str().and_then(|address| address.strip_prefix(&issuer(&app)));
            let Some(path) = path.filter(|path| !path.is_empty()) else { continue };
            assert_ne!(client.get(path, &[]).await.status, 404, "{name}");
        }
        let keys = client.jwks().await;
        assert_eq!(keys["keys"].as_array().unwrap().len(), 1, "{keys}");
    }
}
