//! A browser: it keeps cookies and sends fetch metadata, as the pages in it cause them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use url::Url;

use super::{Authorization, OidcClient, Returned, Tokens};
use crate::harness::{Client, Response, location, request};

/// A browser. It has one tab, whose page has the token of a session once the user signed in there.
#[derive(Debug)]
pub(crate) struct OidcBrowser {
    pub(crate) http: Client,
    pub(crate) cookies: BTreeMap<String, String>,
    pub(crate) token: Option<String>,
}

/// What a browser reports when a client's page sends it to an address.
const NAVIGATION: [(&str, &str); 4] = [
    ("accept", "text/html,application/xhtml+xml"),
    ("sec-fetch-site", "cross-site"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-dest", "document"),
];

/// What it reports when a page of the service calls an API.
const OWN_PAGE: [(&str, &str); 3] =
    [("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty")];

impl OidcBrowser {
    /// A browser at a node.
    pub(crate) async fn at(address: &str) -> Self {
        Self { http: Client::connect(address).await, cookies: BTreeMap::new(), token: None }
    }

    /// Goes on at another node.
    pub(crate) async fn move_to(&mut self, address: &str) {
        self.http = Client::connect(address).await;
    }

    /// Sends a request with the cookies, and keeps those that the response sets.
    pub(crate) async fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let kept: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let kept = kept.join("; ");
        let mut headers = headers.to_vec();
        if !kept.is_empty() {
            headers.push(("cookie", &kept));
        }
        let answer = self.http.send(&request(method, path, &headers, body)).await;
        for (_, line) in answer.headers.iter().filter(|(name, _)| name == "set-cookie") {
            let (name, value) = line.split(';').next().unwrap().split_once('=').unwrap();
            if value.is_empty() || line.to_ascii_lowercase().contains("max-age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    /// Follows a link or a redirect of another site.
    pub(crate) async fn navigate(&mut self, path: &str) -> Response {
        self.send("GET", path, &NAVIGATION, b"").await
    }

    /// Submits a form of another site. Cookies with `SameSite=Lax` stay away.
    pub(crate) async fn submit(&mut self, path: &str, form: &str) -> Response {
        let kept = std::mem::take(&mut self.cookies);
        let headers = [&NAVIGATION[..], &[("content-type", "application/x-www-form-urlencoded")][..]].concat();
        let answer = self.send("POST", path, &headers, form.as_bytes()).await;
        let set = std::mem::replace(&mut self.cookies, kept);
        self.cookies.extend(set);
        answer
    }

    /// Calls an API from a page of the service, with the token of the tab if it has one.
    pub(crate) async fn call(&mut self, path: &str, body: &Value) -> Response {
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let mut headers = [&OWN_PAGE[..], &[("content-type", "application/json")][..]].concat();
        if let Some(bearer) = &bearer {
            headers.push(("authorization", bearer));
        }
        self.send("POST", path, &headers, body.to_string().as_bytes()).await
    }

    /// Reads an API from a page of the service, without a token.
    pub(crate) async fn read(&mut self, path: &str) -> Response {
        self.send("GET", path, &OWN_PAGE, b"").await
    }

    pub(crate) async fn authorize(&mut self, authorization: &Authorization) -> Response {
        self.navigate(&authorization.path()).await
    }

    /// Sends an authorization request that the service asks the user about; returns its identifier.
    pub(crate) async fn begin(&mut self, authorization: &Authorization) -> String {
        request_id(&self.authorize(authorization).await)
    }

    /// Sends an authorization request that is answered at once; returns what the client gets.
    pub(crate) async fn silently(&mut self, authorization: &Authorization) -> Returned {
        let answer = self.authorize(authorization).await;
        let address = location(&answer).to_owned();
        assert!(address.starts_with(authorization.get("redirect_uri")), "{answer:?}");
        Returned { address }
    }

    /// Signs in through the development route.
    pub(crate) async fn sign_in(&mut self, who: &str) {
        self.token = Some(self.http.sign_in(who).await);
    }

    /// Signs in for a request with the QR code on the page, by the simulated phone; returns what the phone's page was told.
    pub(crate) async fn sign_in_by_phone(&mut self, id: &str, who: &str) -> Value {
        let qrcode = self.read(&format!("/api/auth/qrcode?request={id}")).await.data();
        let confirm = self.http.scan_as(&qrcode, who).await;
        let told = self.http.decide("request", &confirm).await.data();
        self.http.decide("confirm", &confirm).await.data();
        let ticket = qrcode["ticket"].as_str().unwrap();
        let status = self.read(&format!("/api/auth/scan/status?ticket={ticket}")).await.data();
        self.token = Some(status["token"].as_str().unwrap_or_else(|| panic!("no token: {status}")).to_owned());
        told
    }

    /// What the page shows about a request.
    pub(crate) async fn prompt(&mut self, id: &str) -> Response {
        self.call("/api/auth/oidc/request", &json!({ "request": id })).await
    }

    /// Presses "Continue".
    pub(crate) async fn proceed(&mut self, id: &str) -> Response {
        self.call("/api/auth/oidc/continue", &json!({ "request": id })).await
    }

    /// Presses "Continue" and returns to the client.
    pub(crate) async fn proceed_to_client(&mut self, id: &str) -> Returned {
        redirect_to(&self.proceed(id).await)
    }

    /// Presses "Cancel" and returns to the client.
    pub(crate) async fn deny(&mut self, id: &str) -> Returned {
        redirect_to(&self.call("/api/auth/oidc/deny", &json!({ "request": id })).await)
    }

    /// Signs a user in at a client; returns what the client gets.
    pub(crate) async fn enter(&mut self, authorization: &Authorization, who: &str) -> Returned {
        let id = self.begin(authorization).await;
        self.sign_in(who).await;
        self.proceed_to_client(&id).await
    }

    /// Signs a user in at a client, which redeems the code.
    pub(crate) async fn tokens(&mut self, client: &OidcClient, who: &str) -> Tokens {
        let authorization = client.authorization();
        let code = self.enter(&authorization, who).await.code();
        Tokens::of(&client.redeem(&mut self.http, &code, &authorization.verifier).await)
    }

    /// Enters another client with the session of the tab; returns that client's tokens.
    pub(crate) async fn tokens_in_session(&mut self, client: &OidcClient) -> Tokens {
        let authorization = client.authorization();
        let id = self.begin(&authorization).await;
        let code = self.proceed_to_client(&id).await.code();
        Tokens::of(&client.redeem(&mut self.http, &code, &authorization.verifier).await)
    }
}

/// The identifier of the request in the address of the sign-in page.
fn request_id(answer: &Response) -> String {
    let address = location(answer);
    let url = Url::parse(address).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
    assert_eq!(url.path(), "/", "{answer:?}");
    let id = url.query_pairs().find(|(name, _)| name == "request").unwrap_or_else(|| panic!("{answer:?}")).1;
    assert!(id.starts_with("dpq_"), "{id}");
    id.into_owned()
}

fn redirect_to(answer: &Response) -> Returned {
    Returned { address: answer.data()["redirect_to"].as_str().unwrap().to_owned() }
}
