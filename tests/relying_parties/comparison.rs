//! The same requests to the service and to oidc-provider, a certified implementation: what must agree agrees, and every difference
//! has its reason.

use std::collections::{BTreeMap, BTreeSet};

use deskpass_core::oidc::{ClientRegistration, SigningAlgorithm};
use serde_json::{Value, json};

use super::program::Program;
use super::side::{Side, TestClient, kind};
use super::visitor::{Visitor, exchange};
use super::{authorize_requests, issuer, provider, registration, token_requests};
use crate::harness::TestApp;

/// The differences that are on purpose, each with its reason.
const ON_PURPOSE: &[(&str, &str)] = &[
    ("discovery acr_values_supported", "we tell how users sign in, so that clients can show it"),
    ("discovery claim_types_supported", "normal is the default, and may be left out"),
    ("discovery claims_supported", "our claims"),
    ("discovery introspection_endpoint_auth_methods_supported", "public clients cannot introspect, so we say who can"),
    ("discovery prompt_values_supported", "we tell which values there are"),
    ("discovery request_parameter_supported", "we say false where it is the default too"),
    (
        "discovery response_modes_supported",
        "query is the only mode: a fragment or a form adds nothing to a code with PKCE",
    ),
    ("discovery revocation_endpoint_auth_methods_supported", "without it clients assume client_secret_basic only"),
    ("discovery ui_locales_supported", "our pages have two languages"),
    (
        "authorize without redirect_uri",
        "a client may register a second address later; its requests must not change meaning",
    ),
    ("authorize without openid", "only OpenID Connect is offered, with or without a nonce"),
    ("authorize with response_mode fragment", "query is the only mode"),
    (
        "authorize with an unknown response_mode",
        "invalid_request is the code of RFC 6749; the other is of an extension",
    ),
    ("id_token header typ", "JWT tells it from a logout token, whose typ is logout+jwt"),
    ("id_token at_hash", "optional with a code; strict clients check it"),
    ("id_token sid", "clients find the session that a logout token names"),
    ("refreshed nonce", "OpenID Connect Core 12.2: it should not be there after a refresh"),
    ("refreshed at_hash", "as in the first ID token"),
    ("refreshed sid", "as in the first ID token"),
    ("token without authentication", "RFC 6749 5.2: invalid_client if no authentication is included"),
    ("token without redirect_uri", "RFC 6749 4.1.3: required, since the authorization request had it"),
    ("token by GET", "405 says that the path exists"),
    ("userinfo with the token in the query", "we do not look for tokens in addresses, so none was sent"),
    ("introspect access_token: iat", "optional in RFC 7662, and no client asks for it"),
    ("introspect refresh_token: iat", "as of an access token"),
    ("introspect without authentication", "as at the token endpoint"),
    ("revoke without authentication", "as at the token endpoint"),
    ("logout with a hint", "a hint of this browser's session is proof enough; the reference asks"),
];

fn sorted(value: &Value) -> String {
    let mut texts: Vec<_> = value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    texts.sort_unstable();
    texts.join(" ")
}

/// Compares the discovery documents, member by member, and the keys.
async fn documents(side: &mut Side) {
    let members = side.discovery.as_object().unwrap().clone();
    for (name, value) in members {
        let shown = match &value {
            Value::Array(_) => sorted(&value),
            Value::Bool(is_so) => is_so.to_string(),
            other => kind(other).to_owned(),
        };
        side.note(&format!("discovery {name}"), shown);
    }
    let answer = exchange("GET", &side.endpoint("jwks_uri"), &[], "").await;
    let keys = answer.json()["keys"].as_array().unwrap().clone();
    let key = keys.iter().find(|key| key["alg"] == "ES256").unwrap_or_else(|| panic!("{answer:?}"));
    let members: Vec<_> = key.as_object().unwrap().keys().map(String::as_str).collect();
    side.note("jwks members", sorted(&json!(members)));
    side.note("jwks for everyone", answer.header("access-control-allow-origin").unwrap_or_default());
}

/// Our side.
async fn ours(app: &TestApp) -> Side {
    let (redirect_uri, post_logout_uri) = (uri("/cb"), uri("/bye"));
    let registration =
        ClientRegistration { algorithm: SigningAlgorithm::Es256, ..registration("Compared", &uri(""), "/cb") };
    let made = app.oidc_client(registration).await;
    let client = TestClient { id: made.id.clone(), secret: made.secret.unwrap(), redirect_uri, post_logout_uri };
    let discovery = app.client().await.discovery().await;
    let visitor = Visitor::of(app, &issuer(app), "agent01").await;
    Side::new(discovery, client, visitor)
}

/// The reference.
async fn reference(program: &mut Program, client: TestClient) -> Side {
    let issuer = program.hear()["issuer"].as_str().unwrap().to_owned();
    let discovery = exchange("GET", &format!("{issuer}/.well-known/openid-configuration"), &[], "").await.json();
    Side::new(discovery, client, Visitor::elsewhere())
}

/// An address of the client, which is never opened.
fn uri(path: &str) -> String {
    format!("http://127.0.0.1:9{path}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_answers_like_the_reference_except_on_purpose() {
    let secret = "a-secret-of-the-reference-0123456789";
    let clients = json!([{
        "client_id": "compared",
        "client_secret": secret,
        "redirect_uris": [uri("/cb")],
        "post_logout_redirect_uris": [uri("/bye")],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "id_token_signed_response_alg": "ES256",
    }]);
    let mut program = Program::node("reference.mjs", &[("CLIENTS", &*clients.to_string())]);
    let app = provider().await;
    let mut ours = ours(&app).await;
    let client = TestClient {
        id: "compared".to_owned(),
        secret: secret.to_owned(),
        redirect_uri: uri("/cb"),
        post_logout_uri: uri("/bye"),
    };
    let mut theirs = reference(&mut program, client).await;
    for side in [&mut ours, &mut theirs] {
        documents(side).await;
        authorize_requests::compare(side).await;
        token_requests::compare(side).await;
    }
    compare(ours.seen(), theirs.seen());
}

/// Fails with every difference that has no reason, and every reason without a difference.
fn compare(ours: &BTreeMap<String, String>, theirs: &BTreeMap<String, String>) {
    let mut complaints = Vec::new();
    let names: BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
    for name in names {
        let (we, they) = (ours.get(name).map_or("", String::as_str), theirs.get(name).map_or("", String::as_str));
        let reason = ON_PURPOSE.iter().find(|(given, _)| given == name);
        match (we == they, reason) {
            (false, None) => complaints.push(format!("{name}:\n  ours:      {we}\n  reference: {they}")),
            (true, Some((_, reason))) => {
                complaints.push(format!("{name} does not differ: {they}; the table says: {reason}"));
            }
            (true, None) | (false, Some(_)) => {}
        }
    }
    let unknown = ON_PURPOSE.iter().filter(|(name, _)| !ours.contains_key(*name) && !theirs.contains_key(*name));
    complaints.extend(unknown.map(|(name, _)| format!("{name} is in the table and was not seen")));
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
