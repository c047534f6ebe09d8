//! Acts as an OpenID Connect client (relying party): registers it, sends authorization requests, and uses what it gets.

mod browser;
mod jwt;
mod receiver;

use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use deskpass_core::oidc::{ClientKind, ClientRegistration, SigningAlgorithm};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use url::Url;
use url::form_urlencoded;

pub(crate) use browser::OidcBrowser;
use jwt::verified;
pub(crate) use jwt::{decoded, signed_by_us};
pub(crate) use receiver::{LogoutAnswer, Receiver};

use super::{Client, Response, TestApp, request};

/// Every scope.
pub(crate) const ALL_SCOPES: &str = "openid profile email groups offline_access";

/// A registered client.
#[derive(Clone, Debug)]
pub(crate) struct OidcClient {
    pub(crate) id: String,
    /// Public clients have none.
    pub(crate) secret: Option<String>,
    pub(crate) redirect_uri: String,
}

/// An authorization request of a client, and the PKCE verifier that belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct Authorization {
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) verifier: String,
}

/// What the browser brings back to a client.
#[derive(Clone, Debug)]
pub(crate) struct Returned {
    pub(crate) address: String,
}

/// The response of the token endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    pub(crate) access: String,
    pub(crate) refresh: Option<String>,
    pub(crate) id_token: String,
    pub(crate) answer: Value,
}

/// A registration whose addresses are at a receiver. Its tokens are signed with ES256, since the service then needs no RSA key,
/// which takes long to make.
pub(crate) fn registration_at(receiver: &Receiver) -> ClientRegistration {
    ClientRegistration {
        redirect_uris: vec![receiver.at("/callback")],
        post_logout_redirect_uris: vec![receiver.at("/signed-out")],
        backchannel_logout_uri: Some(receiver.at("/backchannel")),
        ..registration()
    }
}

/// A registration at an address that nobody listens on.
pub(crate) fn registration() -> ClientRegistration {
    ClientRegistration {
        name: "Help desk".to_owned(),
        redirect_uris: vec!["https://rp.example/callback".to_owned()],
        post_logout_redirect_uris: vec!["https://rp.example/signed-out".to_owned()],
        algorithm: SigningAlgorithm::Es256,
        ..ClientRegistration::default()
    }
}

/// The same registration, of a public client.
pub(crate) fn public(registration: ClientRegistration) -> ClientRegistration {
    ClientRegistration { kind: ClientKind::Public, ..registration }
}

impl TestApp {
    /// Registers a client.
    pub(crate) async fn oidc_client(&self, registration: ClientRegistration) -> OidcClient {
        let redirect_uri = registration.redirect_uris[0].clone();
        let made = self.auth().operator().add_oidc_client(registration).await.unwrap();
        let secret = made.secret.map(|secret| secret.expose().to_owned());
        OidcClient { id: made.client.id.clone(), secret, redirect_uri }
    }

    /// A browser without cookies.
    pub(crate) async fn oidc_browser(&self) -> OidcBrowser {
        OidcBrowser::at(&self.address).await
    }

    /// Signs a user in at a client, with every scope; returns the browser and the tokens.
    pub(crate) async fn oidc_sign_in(&self, client: &OidcClient, who: &str) -> (OidcBrowser, Tokens) {
        let mut browser = self.oidc_browser().await;
        let tokens = browser.tokens(client, who).await;
        (browser, tokens)
    }
}

impl OidcClient {
    /// An authorization request with PKCE, state, nonce and every scope.
    pub(crate) fn authorization(&self) -> Authorization {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let verifier = format!("verifier-{count:06}-{}", "v".repeat(40));
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let (state, nonce) = (format!("state {count} & ü"), format!("nonce-{count}"));
        let given = [
            ("response_type", "code"),
            ("client_id", self.id.as_str()),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("scope", ALL_SCOPES),
            ("state", state.as_str()),
            ("nonce", nonce.as_str()),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
        ];
        let parameters = given.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Authorization { parameters, verifier }
    }

    /// The header of Basic authentication.
    pub(crate) fn basic(&self) -> String {
        format!("Basic {}", STANDARD.encode(format!("{}:{}", self.id, self.secret.as_deref().unwrap())))
    }

    /// Posts a form to an endpoint, authenticated: with Basic, or as a public client.
    pub(crate) async fn call(&self, http: &mut Client, path: &str, form: &[(&str, &str)]) -> Response {
        if self.secret.is_some() {
            return http.post_form(path, &[("authorization", &self.basic())], form).await;
        }
        http.post_form(path, &[], &[form, &[("client_id", self.id.as_str())][..]].concat()).await
    }

    /// Redeems a code.
    pub(crate) async fn redeem(&self, http: &mut Client, code: &str, verifier: &str) -> Response {
        self.call(http, "/oidc/token", &self.redemption(code, verifier)).await
    }

    /// The form that redeems a code.
    pub(crate) fn redemption<'a>(&'a self, code: &'a str, verifier: &'a str) -> [(&'a str, &'a str); 4] {
        [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.redirect_uri),
            ("code_verifier", verifier),
        ]
    }

    pub(crate) async fn refresh(&self, http: &mut Client, token: &str) -> Response {
        self.call(http, "/oidc/token", &[("grant_type", "refresh_token"), ("refresh_token", token)]).await
    }

    /// The response of the introspection endpoint.
    pub(crate) async fn introspect(&self, http: &mut Client, token: &str) -> Value {
        let answer = self.call(http, "/oidc/introspect", &[("token", token)]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    pub(crate) async fn revoke(&self, http: &mut Client, token: &str) -> Response {
        self.call(http, "/oidc/revoke", &[("token", token)]).await
    }

    /// Whether everything that the client got is still valid. A refresh uses up the token, so it is not tried.
    pub(crate) async fn is_live(&self, http: &mut Client, tokens: &Tokens) -> bool {
        if http.userinfo(&tokens.access).await.status != 200 {
            return false;
        }
        // Public clients cannot introspect.
        if self.secret.is_none() {
            return true;
        }
        let mut live = true;
        for token in [Some(&tokens.access), tokens.refresh.as_ref()].into_iter().flatten() {
            live &= self.introspect(http, token).await["active"] == true;
        }
        live
    }

    /// Whether nothing that the client got is valid any more.
    pub(crate) async fn is_over(&self, http: &mut Client, tokens: &Tokens) -> bool {
        if http.userinfo(&tokens.access).await.status != 401 {
            return false;
        }
        if self.secret.is_some() {
            for token in [Some(&tokens.access), tokens.refresh.as_ref()].into_iter().flatten() {
                if self.introspect(http, token).await != serde_json::json!({ "active": false }) {
                    return false;
                }
            }
        }
        let Some(refresh) = &tokens.refresh else { return true };
        let refreshed = self.refresh(http, refresh).await;
        (refreshed.status, oauth_error(&refreshed).as_str()) == (400, "invalid_grant")
    }
}

impl Authorization {
    /// The same request with a parameter set.
    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        let mut this = self.without(name);
        this.parameters.push((name.to_owned(), value.to_owned()));
        this
    }

    /// The same request without a parameter.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.parameters.retain(|(given, _)| given != name);
        self
    }

    /// The value of a parameter.
    pub(crate) fn get(&self, name: &str) -> &str {
        &self.parameters.iter().find(|(given, _)| given == name).unwrap().1
    }

    /// The parameters, encoded.
    pub(crate) fn query(&self) -> String {
        form(self.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }

    /// The request target.
    pub(crate) fn path(&self) -> String {
        format!("/oidc/authorize?{}", self.query())
    }
}

impl Returned {
    /// The parameter of this name, which appears once.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        let url = Url::parse(&self.address).unwrap_or_else(|error| panic!("{error}: {}", self.address));
        let values: Vec<_> =
            url.query_pairs().filter(|(given, _)| given == name).map(|(_, value)| value.into_owned()).collect();
        assert!(values.len() < 2, "{}", self.address);
        values.into_iter().next()
    }

    pub(crate) fn code(&self) -> String {
        self.get("code").unwrap_or_else(|| panic!("no code: {}", self.address))
    }

    pub(crate) fn error(&self) -> String {
        self.get("error").unwrap_or_else(|| panic!("no error: {}", self.address))
    }
}

impl Tokens {
    /// Reads the response of the token endpoint.
    pub(crate) fn of(answer: &Response) -> Self {
        assert_eq!(answer.status, 200, "{answer:?}");
        let answer = answer.json();
        let text = |name: &str| answer[name].as_str().map(str::to_owned);
        assert_eq!(answer["token_type"], "Bearer", "{answer}");
        Self {
            access: text("access_token").unwrap(),
            refresh: text("refresh_token"),
            id_token: text("id_token").unwrap(),
            answer,
        }
    }

    pub(crate) fn refresh(&self) -> &str {
        self.refresh.as_deref().unwrap()
    }
}

impl Client {
    /// Posts a form.
    pub(crate) async fn post_form(&mut self, path: &str, headers: &[(&str, &str)], given: &[(&str, &str)]) -> Response {
        let headers = [headers, &[("content-type", "application/x-www-form-urlencoded")][..]].concat();
        self.send(&request("POST", path, &headers, form(given.iter().copied()).as_bytes())).await
    }

    pub(crate) async fn userinfo(&mut self, token: &str) -> Response {
        self.get_as(token, "/oidc/userinfo").await
    }

    /// The published keys.
    pub(crate) async fn jwks(&mut self) -> Value {
        let answer = self.get("/oidc/jwks", &[]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// The discovery document.
    pub(crate) async fn discovery(&mut self) -> Value {
        let answer = self.get("/.well-known/openid-configuration", &[]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// The claims of a token that the service signed.
    pub(crate) async fn claims(&mut self, token: &str) -> Value {
        let jwks = self.jwks().await;
        verified(&jwks, token).unwrap_or_else(|| panic!("not signed by a key in {jwks}: {token}"))
    }
}

/// The error code in a response of an endpoint below `/oidc`; empty without one.
pub(crate) fn oauth_error(answer: &Response) -> String {
    let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    body["error"].as_str().unwrap_or_default().to_owned()
}

/// Parameters, encoded.
fn form<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs {
        text.append_pair(name, value);
    }
    text.finish()
}
