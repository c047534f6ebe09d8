//! A socket client that sends exactly the given frames.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use super::{Client, Response, TestApp, assert_documented, request};

/// The key of every test's handshake: the server only has to hash it.
pub(crate) const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

/// The timeout for a frame in any test.
const FRAME_TIMEOUT: Duration = Duration::from_secs(10);

/// An open socket.
#[derive(Debug)]
pub(crate) struct TestSocket {
    stream: TcpStream,
    /// The response to the handshake.
    pub(crate) answer: Response,
}

/// A frame, or the end of the connection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Frame {
    Text(Value),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(u16, String),
    End,
}

/// The head of a handshake, with these additional headers.
pub(crate) fn handshake(path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let usual = [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", KEY),
    ];
    let headers: Vec<_> = usual.into_iter().chain(headers.iter().copied()).collect();
    request("GET", path, &headers, b"")
}

impl TestSocket {
    /// Sends a head and reads the response; returns a socket where its status is 101.
    pub(crate) async fn try_open(address: &str, head: &[u8]) -> Result<Self, Response> {
        Self::try_open_on(TcpStream::connect(address).await.unwrap(), head).await
    }

    /// Opens an employee's socket with a small receive buffer, so that unread frames soon block the server.
    pub(crate) async fn open_with_small_buffer(address: &str, token: &str) -> Self {
        let end = TcpSocket::new_v4().unwrap();
        end.set_recv_buffer_size(4096).unwrap();
        let stream = end.connect(address.parse().unwrap()).await.unwrap();
        let head = handshake("/api/ws/employee", &[("authorization", &format!("Bearer {token}"))]);
        Self::try_open_on(stream, &head).await.unwrap_or_else(|answer| panic!("{answer:?}"))
    }

    async fn try_open_on(mut stream: TcpStream, head: &[u8]) -> Result<Self, Response> {
        stream.set_nodelay(true).unwrap();
        stream.write_all(head).await.unwrap();
        let answer = answer(&mut stream).await;
        if answer.status == 101 {
            return Ok(Self { stream, answer });
        }
        assert_documented(head, &answer);
        Err(answer)
    }

    /// Opens a socket of this kind with a token in the header.
    pub(crate) async fn open(address: &str, kind: &str, token: &str) -> Self {
        Self::resume(address, kind, token, None).await
    }

    /// Opens a socket that resumes after this id.
    pub(crate) async fn resume(address: &str, kind: &str, token: &str, last: Option<&str>) -> Self {
        let last = last.map(|last| format!("?last_id={last}")).unwrap_or_default();
        let bearer = format!("Bearer {token}");
        let head = handshake(&format!("/api/ws/{kind}{last}"), &[("authorization", &bearer)]);
        Self::try_open(address, &head).await.unwrap_or_else(|answer| panic!("{answer:?}"))
    }

    /// Opens an employee's socket that resumes after this id, on a service that may be gone or refuse.
    pub(crate) async fn attempt(address: &str, token: &str, last: Option<&str>) -> Option<Self> {
        let last = last.map(|last| format!("?last_id={last}")).unwrap_or_default();
        let bearer = format!("Bearer {token}");
        let head = handshake(&format!("/api/ws/employee{last}"), &[("authorization", &bearer)]);
        let opened = async {
            let mut stream = TcpStream::connect(address).await.ok()?;
            stream.set_nodelay(true).ok()?;
            stream.write_all(&head).await.ok()?;
            let answer = try_answer(&mut stream).await?;
            (answer.status == 101).then_some(Self { stream, answer })
        };
        timeout(FRAME_TIMEOUT, opened).await.ok().flatten()
    }

    /// Sends bytes as they are.
    pub(crate) async fn push(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok()
    }

    /// Sends a masked frame at once; its first byte has the flags and the opcode.
    pub(crate) async fn frame(&mut self, first: u8, payload: &[u8]) -> bool {
        self.push(&masked(first, payload)).await
    }

    /// The next frame of any kind.
    pub(crate) async fn any(&mut self) -> Frame {
        timeout(FRAME_TIMEOUT, self.read()).await.expect("a frame in time").unwrap_or(Frame::End)
    }

    /// The next frame other than a ping; pings are answered.
    pub(crate) async fn next(&mut self) -> Frame {
        loop {
            match self.any().await {
                Frame::Ping(payload) => drop(self.frame(0x8a, &payload).await),
                other => return other,
            }
        }
    }

    /// The next frame other than a ping, however long it takes.
    pub(crate) async fn next_unhurried(&mut self) -> Frame {
        loop {
            match self.read().await.unwrap_or(Frame::End) {
                Frame::Ping(payload) => drop(self.frame(0x8a, &payload).await),
                other => return other,
            }
        }
    }

    /// The next text frame.
    pub(crate) async fn text(&mut self) -> Value {
        match self.next().await {
            Frame::Text(text) => text,
            other => panic!("{other:?}"),
        }
    }

    /// The next message of a service.
    pub(crate) async fn message(&mut self) -> Value {
        loop {
            let text = self.text().await;
            if text["msg_type"] != "session" {
                return text;
            }
        }
    }

    /// The next session event, which must be this one.
    pub(crate) async fn event(&mut self, event: &str) -> Value {
        let text = self.text().await;
        assert_eq!((&text["msg_type"], &text["content"]["event"]), (&json!("session"), &json!(event)), "{text}");
        text
    }

    /// The close code, the reason, and the frames before them.
    pub(crate) async fn closed(&mut self) -> (u16, String, Vec<Value>) {
        let mut frames = Vec::new();
        loop {
            match self.next().await {
                Frame::Text(text) => frames.push(text),
                Frame::Close(code, reason) => {
                    self.frame(0x88, &code.to_be_bytes()).await;
                    return (code, reason, frames);
                }
                Frame::Pong(_) | Frame::Ping(_) => {}
                Frame::End => return (1006, String::new(), frames),
            }
        }
    }

    /// Asserts the close code and the reason.
    pub(crate) async fn ends_with(&mut self, code: u16, reason: &str) {
        let (found, why, _) = self.closed().await;
        assert_eq!((found, &*why), (code, reason));
    }

    /// Asserts that no unread frame is left: the pong comes after all earlier frames.
    pub(crate) async fn is_quiet(&mut self) {
        self.frame(0x89, b"quiet?").await;
        loop {
            match self.any().await {
                Frame::Ping(_) => {}
                other => return assert_eq!(other, Frame::Pong(b"quiet?".to_vec())),
            }
        }
    }

    /// The next text frame, byte for byte.
    pub(crate) async fn raw_text(&mut self) -> String {
        loop {
            match timeout(FRAME_TIMEOUT, self.read_bytes()).await.expect("a frame in time").expect("a frame") {
                (0x81, text) => return String::from_utf8(text).unwrap(),
                (0x89, payload) => drop(self.frame(0x8a, &payload).await),
                (other, _) => panic!("frame {other:#x}"),
            }
        }
    }

    /// All frames that were sent up to now.
    pub(crate) async fn drain(&mut self) -> Vec<Value> {
        self.frame(0x89, b"drained?").await;
        let mut frames = Vec::new();
        loop {
            match self.next().await {
                Frame::Text(text) => frames.push(text),
                Frame::Pong(_) => return frames,
                other => panic!("{other:?}"),
            }
        }
    }

    /// Reads to the end of the connection; fails where it was reset.
    pub(crate) async fn rest(&mut self) -> std::io::Result<usize> {
        timeout(FRAME_TIMEOUT, self.stream.read_to_end(&mut Vec::new())).await.expect("an end in time")
    }

    async fn read(&mut self) -> Option<Frame> {
        let (first, payload) = self.read_bytes().await?;
        Some(match first {
            0x81 => Frame::Text(serde_json::from_slice(&payload).unwrap()),
            0x89 => Frame::Ping(payload),
            0x8a => Frame::Pong(payload),
            0x88 => {
                let code = payload.first_chunk().map_or(1005, |code| u16::from_be_bytes(*code));
                Frame::Close(code, String::from_utf8(payload.into_iter().skip(2).collect()).unwrap())
            }
            other => panic!("frame {other:#x}"),
        })
    }

    /// A frame's first byte and its payload.
    async fn read_bytes(&mut self) -> Option<(u8, Vec<u8>)> {
        let [first, second] = self.bytes::<2>().await?;
        let length = match second {
            126 => u64::from(u16::from_be_bytes(self.bytes().await?)),
            127 => u64::from_be_bytes(self.bytes().await?),
            short => u64::from(short),
        };
        assert!(second < 128, "servers do not mask");
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.stream.read_exact(&mut payload).await.ok()?;
        Some((first, payload))
    }

    async fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes).await.ok()?;
        Some(bytes)
    }
}

/// A masked frame.
pub(crate) fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        short @ ..126 => bytes.push(0x80 | u8::try_from(short).unwrap()),
        medium @ 126..65_536 => {
            bytes.push(0x80 + 126);
            bytes.extend(u16::try_from(medium).unwrap().to_be_bytes());
        }
        long => {
            bytes.push(0x80 + 127);
            bytes.extend((long as u64).to_be_bytes());
        }
    }
    let mask = [1, 2, 3, 4];
    bytes.extend(mask);
    bytes.extend(payload.iter().zip(mask.into_iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

/// Reads one response and no further byte.
async fn answer(stream: &mut TcpStream) -> Response {
    timeout(FRAME_TIMEOUT, try_answer(stream)).await.expect("an answer in time").expect("an answer")
}

/// The same, of a service that may be gone before it has answered.
async fn try_answer(stream: &mut TcpStream) -> Option<Response> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let text = String::from_utf8(head).unwrap();
    let mut lines = text.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let mut answer = Response { status, headers, body: String::new() };
    let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    answer.body = String::from_utf8(body).unwrap();
    Some(answer)
}

impl TestApp {
    /// Opens a socket on this service and reads its first frame.
    pub(crate) async fn socket(&self, kind: &str, token: &str) -> TestSocket {
        let mut socket = TestSocket::open(&self.address, kind, token).await;
        socket.event("ready").await;
        socket
    }
}

impl Client {
    /// Sends messages with this service key.
    pub(crate) async fn send_messages(&mut self, key: &str, body: &Value) -> Response {
        let bearer = format!("Bearer {key}");
        self.post("/api/messages", &[("authorization", &bearer)], body).await
    }

    /// Sends a card with this content; returns the number of sockets that it was delivered to.
    pub(crate) async fn send_card(&mut self, key: &str, to: &Value, content: &Value) -> u64 {
        let body = json!({ "to": to, "msg_type": "byod_card", "content": content });
        self.send_messages(key, &body).await.data()["delivered"].as_u64().unwrap()
    }
}
