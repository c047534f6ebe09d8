//! A client that sends exactly the given bytes, so that headers are spelled as the test wants.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::assert_documented;

/// A response.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body as JSON, in its envelope.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn code(&self) -> u64 {
        self.json()["code"].as_u64().unwrap()
    }

    /// The payload of a success.
    pub(crate) fn data(&self) -> Value {
        assert_eq!((self.status, self.code()), (200, 0), "{self:?}");
        self.json()["data"].clone()
    }

    pub(crate) fn reason(&self) -> String {
        self.json()["data"]["reason"].as_str().unwrap_or_default().to_owned()
    }

    /// Asserts a failure.
    pub(crate) fn refused(&self, status: u16, code: u64) -> &Self {
        assert_eq!((self.status, self.code()), (status, code), "{self:?}");
        self
    }
}

/// A keep-alive connection.
#[derive(Debug)]
pub(crate) struct Client {
    stream: TcpStream,
}

/// The bytes of a request.
pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n").into_bytes();
    for (name, value) in headers {
        bytes.extend(format!("{name}: {value}\r\n").bytes());
    }
    if !body.is_empty() || method == "POST" {
        bytes.extend(format!("content-length: {}\r\n", body.len()).bytes());
    }
    bytes.extend(b"\r\n");
    bytes.extend(body);
    bytes
}

impl Client {
    pub(crate) async fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream }
    }

    /// A connection to a service that may be gone.
    pub(crate) async fn try_connect(address: &str) -> Option<Self> {
        let stream = TcpStream::connect(address).await.ok()?;
        stream.set_nodelay(true).ok()?;
        Some(Self { stream })
    }

    /// A connection from another address of this machine.
    pub(crate) async fn connect_from(address: &str, from: &str) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
        let stream = socket.connect(address.parse().unwrap()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream }
    }

    /// Sends bytes and reads one response; `None` when the connection ends before it is complete.
    pub(crate) async fn try_send(&mut self, bytes: &[u8]) -> Option<Response> {
        self.stream.write_all(bytes).await.ok()?;
        let answer = self.read().await?;
        assert_documented(bytes, &answer);
        Some(answer)
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Response {
        self.try_send(bytes).await.expect("an answer")
    }

    /// Sends the beginning of a request.
    pub(crate) async fn start(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// Sends bytes; returns whether the server still accepts them.
    pub(crate) async fn push(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok()
    }

    /// Reads one response.
    pub(crate) async fn read(&mut self) -> Option<Response> {
        let mut bytes = Vec::new();
        let head = loop {
            if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            self.more(&mut bytes).await?;
        };
        let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
        let mut lines = text.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers: Vec<_> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
        while bytes.len() < head + length {
            self.more(&mut bytes).await?;
        }
        let body = String::from_utf8_lossy(&bytes[head..]).into_owned();
        Some(Response { status, headers, body })
    }

    /// Reads until a piece of text has come; returns everything read. For streamed responses.
    pub(crate) async fn read_until(&mut self, piece: &str) -> String {
        let mut bytes = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if text.contains(piece) {
                return text;
            }
            self.more(&mut bytes).await.unwrap_or_else(|| panic!("ended without {piece:?}: {text}"));
        }
    }

    async fn more(&mut self, bytes: &mut Vec<u8>) -> Option<()> {
        let mut chunk = vec![0; 4096];
        let read = self.stream.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
        bytes.extend(&chunk[..read]);
        Some(())
    }

    pub(crate) async fn get(&mut self, path: &str, headers: &[(&str, &str)]) -> Response {
        self.send(&request("GET", path, headers, b"")).await
    }

    /// Posts JSON.
    pub(crate) async fn post(&mut self, path: &str, headers: &[(&str, &str)], body: &Value) -> Response {
        let headers: Vec<_> = headers.iter().copied().chain([("content-type", "application/json")]).collect();
        self.send(&request("POST", path, &headers, body.to_string().as_bytes())).await
    }

    /// Signs in through the development route and returns the token.
    pub(crate) async fn sign_in(&mut self, employee: &str) -> String {
        let answer = self.post("/api/dev/login", &[], &json!({ "employee_id": employee })).await;
        answer.data()["token"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn verify(&mut self, token: &str) -> Value {
        self.post("/api/auth/verify", &[], &json!({ "token": token })).await.data()
    }

    pub(crate) async fn is_valid(&mut self, token: &str) -> bool {
        self.verify(token).await["valid"].as_bool().unwrap()
    }

    pub(crate) async fn me(&mut self, token: &str) -> Response {
        self.get("/api/auth/me", &[("authorization", &format!("Bearer {token}"))]).await
    }

    pub(crate) async fn logout(&mut self, token: &str) -> Response {
        let bearer = format!("Bearer {token}");
        self.send(&request("POST", "/api/auth/logout", &[("authorization", &bearer)], b"")).await
    }

    /// Checks whether the active role permits something: resource, operation, scope.
    pub(crate) async fn check(&mut self, token: &str, wish: [&str; 3]) -> Response {
        self.check_from("127.0.0.1", token, wish).await
    }

    /// The same, from an address that a proxy reports.
    pub(crate) async fn check_from(&mut self, from: &str, token: &str, wish: [&str; 3]) -> Response {
        let [resource, operation, scope] = wish;
        let body = json!({ "resource": resource, "operation": operation, "scope": scope });
        let headers = [("authorization", &*format!("Bearer {token}")), ("x-forwarded-for", from)];
        self.post("/api/auth/check", &headers, &body).await
    }

    /// Sends a forward-auth request as a proxy does, with this query.
    pub(crate) async fn forward(&mut self, token: &str, query: &str) -> Response {
        self.forward_from("127.0.0.1", token, query).await
    }

    /// The same, for a client at this address.
    pub(crate) async fn forward_from(&mut self, from: &str, token: &str, query: &str) -> Response {
        let headers = [("authorization", &*format!("Bearer {token}")), ("x-forwarded-for", from)];
        self.get(&format!("/api/auth/forward{query}"), &headers).await
    }

    pub(crate) async fn switch(&mut self, token: &str, role: &str) -> Response {
        let bearer = format!("Bearer {token}");
        self.post("/api/auth/switch-role", &[("authorization", &bearer)], &json!({ "role": role })).await
    }
}
