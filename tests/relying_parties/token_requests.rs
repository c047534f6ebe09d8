//! Requests to the endpoints behind the browser, good and bad, and to the logout endpoint.

use serde_json::Value;
use url::Url;

use super::side::{Side, VERIFIER, kind};
use super::visitor::exchange;
use crate::harness::{Response, decoded};

/// The claims of an ID token that are compared.
const ID_TOKEN: [&str; 18] = [
    "iss",
    "sub",
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
    "given_name",
    "preferred_username",
    "email",
    "email_verified",
    "groups",
    "roles",
];
/// Members of the answer about an active token.
const INTROSPECTED: [&str; 8] = ["active", "client_id", "exp", "iat", "iss", "scope", "sub", "token_type"];

/// Sends the requests and notes the answers.
pub(super) async fn compare(side: &mut Side) {
    refused_clients(side).await;
    refused_forms(side).await;
    let code = side.code().await;
    let tokens = redeem(side, &code, VERIFIER, &side.client.redirect_uri).await;
    side.note("token", plain(&tokens));
    let tokens = tokens.json();
    members(side, "token", &tokens);
    id_token(side, "id_token", &tokens);
    userinfo(side, &tokens).await;
    introspect(side, &tokens).await;
    let refreshed = refresh(side, &tokens).await;
    revoke(side, &refreshed).await;
    let again = redeem(side, &code, VERIFIER, &side.client.redirect_uri).await;
    side.note("token for a used code", plain(&again));
    logout(side).await;
}

/// Clients that do not authenticate as they should. The code is never used up.
async fn refused_clients(side: &mut Side) {
    let code = side.code().await;
    let uri = side.client.redirect_uri.clone();
    let form =
        [("grant_type", "authorization_code"), ("code", &*code), ("redirect_uri", &*uri), ("code_verifier", VERIFIER)];
    let (id, secret) = (side.client.id.clone(), side.client.secret.clone());
    let (right, wrong) = (side.basic(&secret), side.basic("wrong-wrong-wrong-wrong-wrong-wrong-wrong"));
    let of = |more: &[(&'static str, &'static str)]| [&form[..], more].concat();
    let answer = side.post("token_endpoint", Some(&wrong), &of(&[])).await;
    side.note("token with a wrong secret", plain(&answer));
    side.note("token with a wrong secret, header", challenge(&answer).split(' ').next().unwrap_or_default());
    let answer = side.post("token_endpoint", None, &of(&[])).await;
    side.note("token without authentication", plain(&answer));
    let posted = [&form[..], &[("client_id", &*id), ("client_secret", "wrong")][..]].concat();
    let answer = side.post("token_endpoint", None, &posted).await;
    side.note("token with a wrong posted secret", plain(&answer));
    let twice = [&form[..], &[("client_id", &*id), ("client_secret", &*secret)][..]].concat();
    let answer = side.post("token_endpoint", Some(&right), &twice).await;
    side.note("token with two authentications", plain(&answer));
    let answer = side.post("token_endpoint", Some(&right), &of(&[("client_id", "another")])).await;
    side.note("token with another client_id", plain(&answer));
    let answer = redeem(side, &code, VERIFIER, &uri).await;
    side.note("token for a code after refused clients", plain(&answer));
}

/// Forms that ask for what cannot be had.
async fn refused_forms(side: &mut Side) {
    let authorization = side.basic(&side.client.secret);
    let forms: [(&str, &[(&str, &str)]); 8] = [
        ("without grant_type", &[("code", "x")]),
        ("with a password", &[("grant_type", "password"), ("username", "a"), ("password", "b")]),
        ("for the client itself", &[("grant_type", "client_credentials")]),
        ("without a code", &[("grant_type", "authorization_code"), ("redirect_uri", "http://127.0.0.1:9/cb")]),
        ("for an unknown refresh token", &[("grant_type", "refresh_token"), ("refresh_token", "unknown")]),
        ("without a refresh token", &[("grant_type", "refresh_token")]),
        ("with a repeated parameter", &[("grant_type", "refresh_token"), ("grant_type", "authorization_code")]),
        ("with nothing", &[]),
    ];
    for (name, form) in forms {
        let answer = side.post("token_endpoint", Some(&authorization), form).await;
        side.note(&format!("token {name}"), plain(&answer));
    }
    let uri = side.client.redirect_uri.clone();
    for (name, verifier, uri) in [
        ("with another verifier", "another-verifier-that-has-more-than-enough-characters", &*uri),
        ("without a verifier", "", &*uri),
        ("with another redirect_uri", VERIFIER, "http://127.0.0.1:9/other"),
        ("without redirect_uri", VERIFIER, ""),
    ] {
        let code = side.code().await;
        let answer = redeem(side, &code, verifier, uri).await;
        side.note(&format!("token {name}"), plain(&answer));
    }
    let answer = redeem(side, "unknown", VERIFIER, &uri).await;
    side.note("token for an unknown code", plain(&answer));
    let answer = exchange("GET", &side.endpoint("token_endpoint"), &[], "").await;
    side.note("token by GET", answer.status.to_string());
}

/// Redeems a code; empty parameters are left out.
async fn redeem(side: &Side, code: &str, verifier: &str, uri: &str) -> Response {
    let form =
        [("grant_type", "authorization_code"), ("code", code), ("redirect_uri", uri), ("code_verifier", verifier)];
    let form: Vec<_> = form.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    side.post("token_endpoint", Some(&side.basic(&side.client.secret)), &form).await
}

async fn userinfo(side: &mut Side, tokens: &Value) {
    let (address, access) = (side.endpoint("userinfo_endpoint"), tokens["access_token"].as_str().unwrap());
    let bearer = |token: &str| format!("Bearer {token}");
    let answer = exchange("GET", &address, &[("authorization", &bearer(access))], "").await;
    side.note("userinfo", plain(&answer));
    for name in ID_TOKEN {
        side.note(&format!("userinfo {name}"), kind(&answer.json()[name]));
    }
    let form = side.post("userinfo_endpoint", None, &[("access_token", access)]).await;
    side.note("userinfo by POST", plain(&form));
    for (name, token) in [("an unknown token", "unknown"), ("an ID token", tokens["id_token"].as_str().unwrap())] {
        let answer = exchange("GET", &address, &[("authorization", &bearer(token))], "").await;
        side.note(&format!("userinfo with {name}"), plain(&answer));
        let header = challenge(&answer);
        let told = header.starts_with("Bearer ") && header.contains(r#"error="invalid_token""#);
        side.note(&format!("userinfo with {name}, header"), told.to_string());
    }
    let answer = exchange("GET", &address, &[], "").await;
    side.note("userinfo without a token", answer.status.to_string());
    side.note("userinfo without a token, header", challenge(&answer).split(' ').next().unwrap_or_default());
    let answer = exchange("GET", &format!("{address}?access_token={access}"), &[], "").await;
    side.note("userinfo with the token in the query", answer.status.to_string());
}

async fn introspect(side: &mut Side, tokens: &Value) {
    let authorization = side.basic(&side.client.secret);
    for name in ["access_token", "refresh_token"] {
        let token = tokens[name].as_str().unwrap();
        let answer = side.post("introspection_endpoint", Some(&authorization), &[("token", token)]).await;
        side.note(&format!("introspect {name}"), plain(&answer));
        for member in INTROSPECTED {
            // What kind of token it is says the type of an access token only.
            if (name, member) != ("refresh_token", "token_type") {
                side.note(&format!("introspect {name}: {member}"), kind(&answer.json()[member]));
            }
        }
    }
    let answer = side.post("introspection_endpoint", Some(&authorization), &[("token", "unknown")]).await;
    side.note("introspect an unknown token", answer.json().to_string());
    let answer = side.post("introspection_endpoint", Some(&authorization), &[]).await;
    side.note("introspect nothing", plain(&answer));
    let answer = side.post("introspection_endpoint", None, &[("token", "unknown")]).await;
    side.note("introspect without authentication", plain(&answer));
}

/// Refreshes; returns the new tokens.
async fn refresh(side: &mut Side, tokens: &Value) -> Value {
    let authorization = side.basic(&side.client.secret);
    let token = tokens["refresh_token"].as_str().unwrap();
    let form = [("grant_type", "refresh_token"), ("refresh_token", token)];
    let answer = side.post("token_endpoint", Some(&authorization), &form).await;
    side.note("refresh", plain(&answer));
    let refreshed = answer.json();
    members(side, "refresh", &refreshed);
    id_token(side, "refreshed", &refreshed);
    assert_ne!(refreshed["refresh_token"], tokens["refresh_token"]);
    refreshed
}

async fn revoke(side: &mut Side, tokens: &Value) {
    let authorization = side.basic(&side.client.secret);
    let token = tokens["refresh_token"].as_str().unwrap();
    for (name, authorization, form) in [
        ("an unknown token", Some(&*authorization), &[("token", "unknown")][..]),
        ("nothing", Some(&*authorization), &[][..]),
        ("without authentication", None, &[("token", "unknown")][..]),
        ("a refresh token", Some(&*authorization), &[("token", token)][..]),
    ] {
        let answer = side.post("revocation_endpoint", authorization, form).await;
        let error = serde_json::from_str::<Value>(&answer.body).unwrap_or_default()["error"].clone();
        side.note(&format!("revoke {name}"), format!("{} {error}", answer.status));
    }
    let bearer = format!("Bearer {}", tokens["access_token"].as_str().unwrap());
    let answer = exchange("GET", &side.endpoint("userinfo_endpoint"), &[("authorization", &bearer)], "").await;
    side.note("userinfo after a revocation", plain(&answer));
}

/// Sign-outs: to an address that is not registered, and to one that is.
async fn logout(side: &mut Side) {
    let code = side.code().await;
    let tokens = redeem(side, &code, VERIFIER, &side.client.redirect_uri).await.json();
    let hint = tokens["id_token"].as_str().unwrap();
    let mut address = Url::parse(&side.endpoint("end_session_endpoint")).unwrap();
    address.query_pairs_mut().append_pair("id_token_hint", hint);
    let mut elsewhere = address.clone();
    elsewhere.query_pairs_mut().append_pair("post_logout_redirect_uri", "http://127.0.0.1:9/elsewhere");
    let answer = exchange("GET", elsewhere.as_str(), &[("accept", "text/html")], "").await;
    let leaves = answer.header("location").is_some_and(|to| to.contains("elsewhere"));
    side.note("logout to another address leaves", leaves.to_string());
    address.query_pairs_mut().append_pair("post_logout_redirect_uri", &side.client.post_logout_uri);
    let answer = side.visitor.load(address.as_str()).await;
    let returns = answer.header("location").is_some_and(|to| to.starts_with(&side.client.post_logout_uri));
    side.note("logout with a hint", if returns { "returns" } else { "asks" });
}

/// Notes the members of a token answer, with their types, and the granted scopes.
fn members(side: &mut Side, what: &str, tokens: &Value) {
    let mut members: Vec<_> =
        tokens.as_object().unwrap().iter().map(|(name, value)| format!("{name} {}", kind(value))).collect();
    members.sort_unstable();
    side.note(&format!("{what} members"), members.join(", "));
    let mut scopes: Vec<_> = tokens["scope"].as_str().unwrap().split(' ').collect();
    scopes.sort_unstable();
    side.note(&format!("{what} scope"), scopes.join(" "));
    side.note(&format!("{what} token_type"), tokens["token_type"].as_str().unwrap());
}

/// Notes the header and the claims of an ID token.
fn id_token(side: &mut Side, what: &str, tokens: &Value) {
    let (header, claims) = decoded(tokens["id_token"].as_str().unwrap());
    if what == "id_token" {
        for name in ["alg", "kid", "typ"] {
            side.note(&format!("{what} header {name}"), kind(&header[name]));
        }
        side.note("id_token algorithm", header["alg"].as_str().unwrap());
    }
    for name in ID_TOKEN {
        side.note(&format!("{what} {name}"), kind(&claims[name]));
    }
    assert_eq!(claims["iss"], side.discovery["issuer"]);
    assert_eq!(claims["aud"], side.client.id);
}

/// The status, the type, the error, and whether the answer may be kept.
fn plain(answer: &Response) -> String {
    let kind = answer.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default();
    let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    let error = body["error"].as_str().unwrap_or("no error");
    let kept = answer.header("cache-control").is_some_and(|header| header.contains("no-store"));
    format!("{} {kind}, {error}, no-store {kept}", answer.status)
}

fn challenge(answer: &Response) -> String {
    answer.header("www-authenticate").unwrap_or_default().to_owned()
}
