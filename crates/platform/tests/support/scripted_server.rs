//! A scripted platform that records the calls it receives. The tests of clients include this file.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use url::Url;

/// The response to a call.
#[derive(Clone)]
pub(crate) enum Reply {
    /// This JSON, with status 200.
    Json(Value),
    /// This status line and this JSON.
    Status(&'static str, Value),
    /// This body, with status 200.
    Body(Vec<u8>),
    /// Exactly these bytes, after which the connection ends.
    Bytes(Vec<u8>),
    /// A connection reset.
    Reset,
    /// No response.
    Silence,
    /// A body that arrives byte by byte and never ends.
    Drip,
    /// Fifty megabytes.
    Flood,
    /// The inner reply, once the gate has a permit.
    Gated(Arc<Semaphore>, Box<Reply>),
}

/// A status without a body, after which the connection ends.
pub(crate) fn status(line: &str) -> Reply {
    Reply::Bytes(format!("HTTP/1.1 {line}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").into_bytes())
}

/// A received call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The path without its first slash.
    pub(crate) api: String,
    pub(crate) method: String,
    pub(crate) query: Vec<(String, String)>,
    /// The headers, with names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Call {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

#[derive(Default)]
struct ServerState {
    next: HashMap<&'static str, VecDeque<Reply>>,
    always: HashMap<&'static str, Reply>,
    calls: Vec<Call>,
    flooded: usize,
}

/// The server; clones refer to the same one.
#[derive(Clone)]
pub(crate) struct ScriptedServer {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<ServerState>>,
    came: Arc<tokio::sync::Notify>,
}

impl ScriptedServer {
    /// Starts a server that answers every call with 404 until it is told otherwise.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let this = Self { address, state: Arc::default(), came: Arc::default() };
        let serving = this.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let this = serving.clone();
                tokio::spawn(async move { this.serve(stream).await });
            }
        });
        this
    }

    /// Sets the default reply of an API.
    pub(crate) fn always(&self, api: &'static str, reply: Reply) {
        self.state.lock().unwrap().always.insert(api, reply);
    }

    /// Sets the replies to the next calls of an API.
    pub(crate) fn next(&self, api: &'static str, replies: impl IntoIterator<Item = Reply>) {
        self.state.lock().unwrap().next.entry(api).or_default().extend(replies);
    }

    pub(crate) fn calls(&self, api: &str) -> Vec<Call> {
        self.state.lock().unwrap().calls.iter().filter(|call| call.api == api).cloned().collect()
    }

    pub(crate) fn count(&self, api: &str) -> usize {
        self.calls(api).len()
    }

    /// The number of all calls.
    pub(crate) fn total(&self) -> usize {
        self.state.lock().unwrap().calls.len()
    }

    /// Waits until an API was called `times` times.
    pub(crate) async fn called(&self, api: &str, times: usize) {
        loop {
            let came = self.came.notified();
            if self.count(api) >= times {
                return;
            }
            came.await;
        }
    }

    /// The number of bytes sent by [`Reply::Flood`].
    pub(crate) fn flooded(&self) -> usize {
        self.state.lock().unwrap().flooded
    }

    async fn serve(self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        while let Some(call) = receive(&mut stream).await {
            let reply = self.note(call);
            self.came.notify_waiters();
            if self.send(stream.get_mut(), reply).await.is_err() {
                return;
            }
        }
    }

    fn note(&self, call: Call) -> Reply {
        let mut state = self.state.lock().unwrap();
        let next = state.next.get_mut(call.api.as_str()).and_then(VecDeque::pop_front);
        let reply = next.or_else(|| state.always.get(call.api.as_str()).cloned());
        state.calls.push(call);
        reply.unwrap_or_else(|| status("404 Not Found"))
    }

    /// Sends a reply; an error ends the connection.
    async fn send(&self, stream: &mut TcpStream, reply: Reply) -> std::io::Result<()> {
        let end = Err(std::io::ErrorKind::ConnectionAborted.into());
        match reply {
            Reply::Json(value) => stream.write_all(&response("200 OK", value.to_string().as_bytes())).await,
            Reply::Status(line, value) => stream.write_all(&response(line, value.to_string().as_bytes())).await,
            Reply::Body(body) => stream.write_all(&response("200 OK", &body)).await,
            Reply::Bytes(bytes) => stream.write_all(&bytes).await.and(end),
            Reply::Reset => stream.set_zero_linger().and(end),
            Reply::Silence => std::future::pending().await,
            Reply::Drip => drip(stream).await,
            Reply::Flood => self.flood(stream).await,
            Reply::Gated(gate, reply) => {
                gate.acquire().await.unwrap().forget();
                Box::pin(self.send(stream, *reply)).await
            }
        }
    }

    async fn flood(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await?;
        let mut chunk = b"10000\r\n".to_vec();
        chunk.resize(chunk.len() + 0x10000, b' ');
        chunk.extend(b"\r\n");
        for _ in 0..800 {
            stream.write_all(&chunk).await?;
            self.state.lock().unwrap().flooded += chunk.len();
        }
        Ok(())
    }
}

async fn drip(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n{").await?;
    let mut tick = tokio::time::interval(Duration::from_millis(20));
    loop {
        tick.tick().await;
        stream.write_all(b" ").await?;
    }
}

fn response(line: &str, body: &[u8]) -> Vec<u8> {
    let date = "date: Tue, 14 Nov 2023 22:13:20 GMT";
    let mut bytes = format!("HTTP/1.1 {line}\r\n{date}\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend(body);
    bytes
}

async fn receive(stream: &mut BufReader<TcpStream>) -> Option<Call> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let mut words = lines.first()?.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?);
    let url = Url::parse("http://platform").unwrap().join(target).unwrap();
    let fields = lines.iter().skip(1).filter_map(|line| line.split_once(": "));
    let headers: Vec<_> = fields.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some(Call {
        api: url.path().trim_start_matches('/').to_owned(),
        method,
        query: url.query_pairs().into_owned().collect(),
        headers,
        body: String::from_utf8(body).unwrap(),
    })
}
