//! A user's browser that visits programs and the service: it keeps cookies and follows redirects, and signs its user in with the
//! phone where the service asks for it.

use std::collections::BTreeMap;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

use crate::harness::{OidcBrowser, Response, TestApp, target};

/// The number of redirects after which a browser gives up.
const MAX_REDIRECTS: usize = 15;

/// A browser and its user.
#[derive(Debug)]
pub(super) struct Visitor {
    /// The service as this browser sees it; absent if the service is not visited.
    desk: Option<(String, OidcBrowser)>,
    user: &'static str,
    /// The cookies, by host and port.
    cookies: BTreeMap<String, BTreeMap<String, String>>,
}

/// Where a browser arrived.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) address: String,
    pub(super) answer: Response,
}

impl Visitor {
    /// The browser of a user of the service with this issuer.
    pub(super) async fn of(app: &TestApp, issuer: &str, user: &'static str) -> Self {
        let desk = Some((issuer.to_owned(), app.oidc_browser().await));
        Self { desk, user, cookies: BTreeMap::new() }
    }

    /// The browser of a user who never visits the service.
    pub(super) fn elsewhere() -> Self {
        Self { desk: None, user: "agent01", cookies: BTreeMap::new() }
    }

    /// The service as this browser sees it.
    pub(super) fn desk(&mut self) -> &mut OidcBrowser {
        &mut self.desk.as_mut().unwrap().1
    }

    /// The token of the user's session.
    pub(super) fn token(&mut self) -> String {
        self.desk().token.clone().unwrap()
    }

    /// Leaves the browser to another user.
    pub(super) fn hand_to(&mut self, user: &'static str) {
        self.user = user;
    }

    /// The cookies for an address of a program.
    pub(super) fn cookies_of(&self, address: &str) -> String {
        let url = Url::parse(address).unwrap_or_else(|error| panic!("{error}: {address}"));
        let kept: Vec<_> = self.cookies.get(url.authority()).into_iter().flatten().collect();
        kept.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    /// Opens an address and follows redirects to a page.
    pub(super) async fn open(&mut self, address: &str) -> Page {
        let mut address = address.to_owned();
        for _ in 0..MAX_REDIRECTS {
            let answer = self.load(&address).await;
            match next(&address, &answer) {
                Some(to) => address = to,
                None => return Page { address, answer },
            }
        }
        panic!("too many redirects: {address}");
    }

    /// Opens an address and follows redirects until an address that begins with `prefix`, which is not opened; returns it.
    pub(super) async fn travel(&mut self, address: &str, prefix: &str) -> String {
        let mut address = address.to_owned();
        for _ in 0..MAX_REDIRECTS {
            if address.starts_with(prefix) {
                return address;
            }
            let answer = self.load(&address).await;
            address = next(&address, &answer).unwrap_or_else(|| panic!("{address} shows {answer:?}"));
        }
        panic!("too many redirects: {address}");
    }

    /// Loads an address, without following redirects. The page of the service that asks for a sign-in is answered by its user, and
    /// gives the redirect that follows.
    pub(super) async fn load(&mut self, address: &str) -> Response {
        if let Some((issuer, _)) = &self.desk
            && let Some(path) = address.strip_prefix(issuer.as_str())
        {
            let path = path.to_owned();
            return self.load_from_desk(&path, address).await;
        }
        let url = Url::parse(address).unwrap_or_else(|error| panic!("{error}: {address}"));
        let authority = url.authority().to_owned();
        let kept = self.cookies_of(address);
        let mut headers = vec![("accept", "text/html,application/xhtml+xml"), ("sec-fetch-mode", "navigate")];
        headers.push(("sec-fetch-dest", "document"));
        if !kept.is_empty() {
            headers.push(("cookie", kept.as_str()));
        }
        let answer = exchange("GET", address, &headers, "").await;
        self.keep(&authority, &answer);
        answer
    }

    async fn load_from_desk(&mut self, path: &str, address: &str) -> Response {
        let url = Url::parse(address).unwrap();
        let request = url.query_pairs().find(|(name, _)| name == "request").map(|(_, value)| value.into_owned());
        let user = self.user;
        let desk = self.desk();
        let (Some(request), "/") = (request, url.path()) else { return desk.navigate(path).await };
        let prompt = desk.prompt(&request).await.data();
        if prompt["needs"] == "sign_in" {
            let told = desk.sign_in_by_phone(&request, user).await;
            assert_eq!((&told["client_name"], &told["client_host"]), (&prompt["client"], &prompt["host"]), "{told}");
        } else {
            assert_eq!(prompt["needs"], "press", "{prompt}");
        }
        let to = desk.proceed_to_client(&request).await.address;
        Response { status: 303, headers: vec![("location".to_owned(), to)], body: String::new() }
    }

    /// Confirms the sign-out that a page of the service asks about.
    pub(super) async fn confirm_sign_out(&mut self, page: &Page) -> Response {
        let url = Url::parse(&page.address).unwrap();
        let (_, request) = url.query_pairs().find(|(name, _)| name == "logout").unwrap_or_else(|| panic!("{page:?}"));
        self.desk().call("/api/auth/oidc/logout", &json!({ "request": request })).await
    }

    /// Keeps the cookies that a response sets, and drops those that it removes.
    fn keep(&mut self, authority: &str, answer: &Response) {
        let kept = self.cookies.entry(authority.to_owned()).or_default();
        for (_, line) in answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie")) {
            let (name, value) = line.split(';').next().unwrap().split_once('=').unwrap();
            let attributes = line.to_ascii_lowercase();
            let removed = attributes.contains("max-age=0") || attributes.contains("expires=thu, 01 jan 1970");
            if removed || value.is_empty() || value == "\"\"" {
                kept.remove(name);
            } else {
                kept.insert(name.to_owned(), value.to_owned());
            }
        }
    }
}

/// The address that a response redirects to.
fn next(address: &str, answer: &Response) -> Option<String> {
    if !(300..400).contains(&answer.status) {
        return None;
    }
    let to = answer.header("location").unwrap_or_else(|| panic!("{answer:?}"));
    Some(Url::parse(address).unwrap().join(to).unwrap().into())
}

/// Sends a request to any program and reads its response. With HTTP/1.0 the response ends with the connection, and is in one piece.
pub(super) async fn exchange(method: &str, address: &str, headers: &[(&str, &str)], body: &str) -> Response {
    let url = Url::parse(address).unwrap_or_else(|error| panic!("{error}: {address}"));
    let authority = url.authority();
    let mut request = format!("{method} {} HTTP/1.0\r\nhost: {authority}\r\n", target(address)).into_bytes();
    for (name, value) in headers {
        request.extend(format!("{name}: {value}\r\n").bytes());
    }
    if method != "GET" {
        request.extend(format!("content-length: {}\r\n", body.len()).bytes());
    }
    request.extend(b"\r\n");
    request.extend(body.bytes());
    let mut stream = TcpStream::connect(authority).await.unwrap_or_else(|error| panic!("{error}: {address}"));
    stream.write_all(&request).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{address} answers {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers =
        lines.filter_map(|line| line.split_once(':')).map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
    Response { status, headers: headers.collect(), body: body.to_owned() }
}
