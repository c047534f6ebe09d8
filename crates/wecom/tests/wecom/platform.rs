//! A scripted platform that records the calls it receives.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use deskpass_core::{Clock, Timestamp};
use deskpass_platform::{Answer, CodeRedemption, EntryPoint, Error, ErrorCode, Identity, SignIn as _};
use deskpass_wecom::{Hosts, Timeouts, Url, Wecom, WecomSettings};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

pub(crate) const CORP: &str = "wwdesk";
pub(crate) const SECRET: &str = "canary-secret-5f1d";
pub(crate) const AGENT: &str = "1000002";
pub(crate) const GETTOKEN: &str = "gettoken";
pub(crate) const USERINFO: &str = "auth/getuserinfo";

/// The response to a call.
#[derive(Clone)]
pub(crate) enum Reply {
    /// This JSON.
    Json(Value),
    /// This body.
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

/// A received call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) api: String,
    pub(crate) method: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) body: String,
}

#[derive(Default)]
struct PlatformState {
    next: HashMap<&'static str, VecDeque<Reply>>,
    always: HashMap<&'static str, Reply>,
    calls: Vec<Call>,
    flooded: usize,
}

/// The platform; clones refer to the same platform.
#[derive(Clone)]
pub(crate) struct Platform {
    pub(crate) address: SocketAddr,
    pub(crate) clock: Clock,
    state: Arc<Mutex<PlatformState>>,
    came: Arc<tokio::sync::Notify>,
}

pub(crate) fn errcode(code: i64) -> Reply {
    Reply::Json(
        json!({ "errcode": code, "errmsg": "no, hint: [123], from ip: 10.1.2.3", "userid": "", "access_token": "" }),
    )
}

/// The number of the platform's error code.
pub(crate) fn number(error: &Error) -> Option<i64> {
    error.code().and_then(ErrorCode::number)
}

/// Exchanges a code as a sign-in inside the platform's own browser does.
pub(crate) trait ExchangeCode {
    fn exchange_code<'a>(&'a self, code: &'a str) -> Answer<'a, Identity>;
}

impl ExchangeCode for Wecom {
    fn exchange_code<'a>(&'a self, code: &'a str) -> Answer<'a, Identity> {
        let redirect_uri = "https://desk.example.com/api/auth/oauth2/callback";
        self.redeem(CodeRedemption { code, entry: EntryPoint::Client, redirect_uri, verifier: None })
    }
}

pub(crate) fn status(line: &str) -> Reply {
    Reply::Bytes(format!("HTTP/1.1 {line}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").into_bytes())
}

pub(crate) fn token(value: &str, expires_in: u64) -> Reply {
    Reply::Json(json!({ "errcode": 0, "errmsg": "ok", "access_token": value, "expires_in": expires_in }))
}

impl Platform {
    /// Starts a platform that issues a token and resolves every code to `user01`.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let clock = Clock::manual(Timestamp::from_millis(1_700_000_000_000));
        let address = listener.local_addr().unwrap();
        let this = Self { address, clock, state: Arc::default(), came: Arc::default() };
        this.always(GETTOKEN, token("canary-token-1", 7_200));
        this.always(USERINFO, Reply::Json(json!({ "errcode": 0, "errmsg": "ok", "userid": "user01" })));
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

    pub(crate) fn settings(&self) -> WecomSettings {
        let url = |path: &str| Url::parse(&format!("http://{}{path}", self.address)).unwrap();
        WecomSettings {
            corp_id: CORP.into(),
            secret: SECRET.into(),
            agent_id: Some(AGENT.into()),
            hosts: Hosts { api: url("/sim/"), authorize: url("/sim/authorize"), web_login: url("/sim/login") },
            proxy: None,
            // Generous, for busy machines: tests that wait for a timeout set their own.
            timeouts: Timeouts {
                operation: Duration::from_secs(30),
                call: Duration::from_secs(20),
                ..Timeouts::default()
            },
            events: None,
        }
    }

    pub(crate) fn client(&self) -> Wecom {
        Wecom::new(self.settings(), self.clock.clone()).unwrap()
    }

    /// A client with short timeouts.
    pub(crate) fn hasty_client(&self) -> Wecom {
        let (call, operation) = (Duration::from_millis(300), Duration::from_millis(500));
        let timeouts = Timeouts { connect: Duration::from_millis(300), call, operation };
        Wecom::new(WecomSettings { timeouts, ..self.settings() }, self.clock.clone()).unwrap()
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
            Reply::Json(value) => stream.write_all(&response(value.to_string().as_bytes())).await,
            Reply::Body(body) => stream.write_all(&response(&body)).await,
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

fn response(body: &[u8]) -> Vec<u8> {
    let date = "date: Tue, 14 Nov 2023 22:13:20 GMT";
    let mut bytes = format!("HTTP/1.1 200 OK\r\n{date}\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
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
    let length = lines.iter().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some(Call {
        api: url.path().strip_prefix("/sim/cgi-bin/").unwrap_or(url.path()).to_owned(),
        method,
        query: url.query_pairs().into_owned().collect(),
        body: String::from_utf8(body).unwrap(),
    })
}
