//! Reads a response of any length, as slowly as a test wants.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::{Response, request};

/// Fixed and small: the system would take megabytes for a client that does not read, and a test would have to send more.
const RECEIVE_BUFFER: u32 = 1 << 17;

/// A response under way.
#[derive(Debug)]
pub(crate) struct Download {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Download {
    /// Requests a path with a token and an Accept header.
    pub(crate) async fn begin(address: &str, token: &str, path: &str, accept: &str) -> Self {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", &*bearer), ("accept", accept), ("connection", "close")];
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(RECEIVE_BUFFER).unwrap();
        let mut stream = socket.connect(address.parse().unwrap()).await.unwrap();
        stream.write_all(&request("GET", path, &headers, b"")).await.unwrap();
        Self { stream, bytes: Vec::new() }
    }

    /// Reads at least this many bytes more.
    pub(crate) async fn take(&mut self, count: usize) {
        let wanted = self.bytes.len() + count;
        while self.bytes.len() < wanted {
            assert!(self.more().await, "it ended early");
        }
    }

    /// Reads the rest; `None` when the connection broke before the end.
    pub(crate) async fn rest(mut self) -> Option<Response> {
        while self.more().await {}
        let head = self.bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let text = String::from_utf8(self.bytes[..head].to_vec()).unwrap();
        let status = text.split(' ').nth(1)?.parse().ok()?;
        let headers = text.lines().skip(1).filter_map(|line| line.split_once(": "));
        let headers: Vec<_> = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let body = &self.bytes[head + 4..];
        let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let body = if chunked { joined(body)? } else { body.to_vec() };
        Some(Response { status, headers, body: String::from_utf8(body).unwrap() })
    }

    async fn more(&mut self) -> bool {
        let mut chunk = vec![0; 65_536];
        let read = self.stream.read(&mut chunk).await.unwrap_or(0);
        self.bytes.extend(&chunk[..read]);
        read > 0
    }
}

/// The joined chunks of a body; `None` without the last chunk.
fn joined(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let line = body.windows(2).position(|two| two == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&body[..line]).ok()?, 16).ok()?;
        let data = body.get(line + 2..line + 2 + size)?;
        if size == 0 {
            return Some(whole);
        }
        whole.extend_from_slice(data);
        body = body.get(line + 4 + size..)?;
    }
}
