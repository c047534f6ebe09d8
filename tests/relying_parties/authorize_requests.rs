//! Authorization requests that a provider refuses, and how.

use super::side::{STATE, Side, parameter};
use super::visitor::exchange;

/// Each request by its name, with the parameters that differ from a good one; empty ones are left out.
const REQUESTS: [(&str, &[(&str, &str)]); 19] = [
    ("of an unknown client", &[("client_id", "unknown")]),
    ("without a client", &[("client_id", "")]),
    ("to another address", &[("redirect_uri", "http://127.0.0.1:9/other")]),
    ("without redirect_uri", &[("redirect_uri", "")]),
    ("with response_type token", &[("response_type", "token")]),
    ("without response_type", &[("response_type", "")]),
    ("without openid", &[("scope", "profile")]),
    ("with prompt none", &[("prompt", "none")]),
    ("with prompt none and login", &[("prompt", "none login")]),
    ("with an unknown prompt", &[("prompt", "dance")]),
    ("with a request object", &[("request", "e30.e30.")]),
    ("with request_uri", &[("request_uri", "https://127.0.0.1:9/request")]),
    ("without PKCE", &[("code_challenge", ""), ("code_challenge_method", "")]),
    ("with a plain challenge", &[("code_challenge_method", "plain")]),
    ("without a method", &[("code_challenge_method", "")]),
    ("with a short challenge", &[("code_challenge", "abc")]),
    ("with response_mode fragment", &[("response_mode", "fragment")]),
    ("with an unknown response_mode", &[("response_mode", "pigeon")]),
    ("with a negative max_age", &[("max_age", "-1")]),
];

/// Sends the requests and notes the answers.
pub(super) async fn compare(side: &mut Side) {
    for (name, changes) in REQUESTS {
        let address = side.authorization(changes);
        let seen = seen(side, &address).await;
        side.note(&format!("authorize {name}"), seen);
    }
    let twice = format!("{}&nonce=again", side.authorization(&[]));
    let seen_twice = seen(side, &twice).await;
    side.note("authorize with a repeated parameter", seen_twice);
}

/// What a browser without cookies sees: a page, an error at the client's address, or a sign-in.
async fn seen(side: &Side, address: &str) -> String {
    let answer = exchange("GET", address, &[("accept", "text/html")], "").await;
    let Some(to) = answer.header("location") else { return format!("a page, {}", answer.status) };
    if !to.starts_with(&side.client.redirect_uri) {
        return "a sign-in".to_owned();
    }
    let error = parameter(to, "error").unwrap_or_else(|| panic!("{answer:?}"));
    let state = parameter(to, "state").as_deref() == Some(STATE);
    let iss = parameter(to, "iss").as_deref() == side.discovery["issuer"].as_str();
    format!("{}: {error}, state {state}, iss {iss}", answer.status)
}
