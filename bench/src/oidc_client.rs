//! A client of OpenID Connect, with sessions in place of browsers.

use std::process::Command;

use serde::Deserialize;
use serde_json::json;
use url::Url;
use url::form_urlencoded::Serializer;

use crate::connection::Connection;
use crate::error::BenchError;
use crate::requests::{TOKEN, get, post_form, post_json};

/// An address that codes are sent to and that nobody opens.
const REDIRECT_URI: &str = "http://127.0.0.1:9/callback";
/// The PKCE verifier of every request, and its challenge: the example of RFC 7636.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// A registered client.
#[derive(Clone, Debug)]
pub(crate) struct OidcClient {
    /// The request with which a sign-in begins.
    authorize: Vec<u8>,
    /// The form that redeems a code, without the code.
    form: String,
}

#[derive(Deserialize)]
struct Added {
    client_id: String,
    client_secret: String,
}

#[derive(Deserialize)]
struct Tokens {
    access_token: String,
}

impl OidcClient {
    /// Registers a client with the command, which has the settings of the store.
    pub(crate) fn add(mut command: Command) -> Result<Self, BenchError> {
        command.args(["oidc", "client", "add", "Program", "--redirect-uri", REDIRECT_URI, "--json", "--dev"]);
        let made = command.output()?;
        let Added { client_id, client_secret } = serde_json::from_slice(&made.stdout)
            .map_err(|error| format!("no client ({error}): {}", String::from_utf8_lossy(&made.stderr)))?;
        let query = Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", &client_id)
            .append_pair("redirect_uri", REDIRECT_URI)
            .append_pair("scope", "openid profile email groups")
            .append_pair("code_challenge", CHALLENGE)
            .append_pair("code_challenge_method", "S256")
            .finish();
        let form = Serializer::new(String::new())
            .append_pair("grant_type", "authorization_code")
            .append_pair("client_id", &client_id)
            .append_pair("client_secret", &client_secret)
            .append_pair("redirect_uri", REDIRECT_URI)
            .append_pair("code_verifier", VERIFIER)
            .append_pair("code", "")
            .finish();
        Ok(Self { authorize: get(&format!("/oidc/authorize?{query}")), form })
    }

    /// A code for the session of this token.
    async fn code(&self, service: &mut Connection, token: &str) -> Result<String, BenchError> {
        let answer = service.exchange(&self.authorize).await?;
        let page = answer.header("location").ok_or_else(|| format!("no sign-in begins:\n{}", answer.text()))?;
        let request = parameter(page, "request")?;
        let body = json!({ "request": request }).to_string();
        let answer = service.exchange(&post_json("/api/auth/oidc/continue", token, &body)).await?;
        let told: serde_json::Value = serde_json::from_slice(answer.body())?;
        let address = told.pointer("/data/redirect_to").and_then(serde_json::Value::as_str);
        parameter(address.ok_or_else(|| format!("no code:\n{}", answer.text()))?, "code")
    }

    /// The access token that a session of this token gives.
    pub(crate) async fn access_token(&self, service: &mut Connection, token: &str) -> Result<String, BenchError> {
        let code = self.code(service, token).await?;
        let answer = service.exchange(&post_form(TOKEN, &format!("{}{code}", self.form))).await?;
        let Tokens { access_token } = serde_json::from_slice(answer.body())
            .map_err(|error| format!("no tokens ({error}):\n{}", answer.text()))?;
        Ok(access_token)
    }
}

/// A parameter in the query of an address.
fn parameter(address: &str, name: &str) -> Result<String, BenchError> {
    let url = Url::parse(address)?;
    let found = url.query_pairs().find_map(|(given, value)| (given == name).then(|| value.into_owned()));
    Ok(found.ok_or_else(|| format!("no {name} in {address}"))?)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_found_in_an_address() {
        assert_eq!(parameter("http://127.0.0.1:9/callback?state=a&code=b%20c", "code").unwrap(), "b c");
        assert!(parameter("http://127.0.0.1:9/callback?state=a", "code").is_err());
    }
}
