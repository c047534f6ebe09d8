//! The back end of a help desk: receives replies, and answers as the test wants.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::{TestApp, settings};

/// The secret that the service and the back end share.
pub(crate) const REPLY_SECRET: &str = "canary-reply-secret-canary-reply-secret";

/// How the back end answers a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BackendAnswer {
    Status(u16),
    /// Sends the client to /elsewhere.
    Redirect,
    /// Accepts, with a body that never ends.
    Endless,
    /// Closes the connection.
    Close,
    /// Does not answer.
    Hang,
    /// Answers 503 when the test says so.
    FailLater,
}

/// A request that the back end received.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedReply {
    pub(crate) path: String,
    head: String,
    pub(crate) body: String,
}

/// A running back end. It accepts replies, unless answers are planned.
#[derive(Clone, Debug)]
pub(crate) struct ReplyBackend {
    pub(crate) url: String,
    planned: Arc<Mutex<VecDeque<BackendAnswer>>>,
    received: Arc<Mutex<Vec<ReceivedReply>>>,
    pub(crate) fail_now: Arc<Notify>,
}

impl ReceivedReply {
    /// A header by its name, in lower case.
    pub(crate) fn header(&self, name: &str) -> &str {
        let headers = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut found = headers.filter(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        let value = found.next().unwrap_or_else(|| panic!("no {name} in {}", self.head));
        assert_eq!(found.next(), None, "{name}: {}", self.head);
        value
    }
}

impl ReplyBackend {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/replies", listener.local_addr().unwrap());
        let (planned, received, fail_now) = (Arc::default(), Arc::default(), Arc::default());
        let backend = Self { url, planned, received, fail_now };
        let serving = backend.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        backend
    }

    /// A service in development mode that sends replies to this back end.
    pub(crate) async fn service(&self) -> TestApp {
        self.service_with(&[]).await
    }

    /// The same, with more settings.
    pub(crate) async fn service_with(&self, more: &[(&'static str, &str)]) -> TestApp {
        let ours = [
            ("development.enabled", "true"),
            ("messages.reply_url", &*self.url),
            ("messages.reply_secret", REPLY_SECRET),
        ];
        TestApp::with(settings(&[&ours[..], more].concat())).await
    }

    /// Plans the next answers.
    pub(crate) fn plan(&self, answers: &[BackendAnswer]) {
        self.planned.lock().unwrap().extend(answers);
    }

    /// Everything received since the last call.
    pub(crate) fn take(&self) -> Vec<ReceivedReply> {
        std::mem::take(&mut self.received.lock().unwrap())
    }

    pub(crate) fn count(&self) -> usize {
        self.received.lock().unwrap().len()
    }

    async fn serve(self, mut stream: TcpStream) {
        while let Some(request) = read(&mut stream).await {
            self.received.lock().unwrap().push(request);
            let planned = self.planned.lock().unwrap().pop_front();
            let text = match planned.unwrap_or(BackendAnswer::Status(204)) {
                BackendAnswer::Status(status) => format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n"),
                BackendAnswer::Redirect => {
                    "HTTP/1.1 307 X\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n".to_owned()
                }
                BackendAnswer::Endless => {
                    let head = "HTTP/1.1 200 X\r\ncontent-length: 999999999999\r\n\r\n".to_owned();
                    drop(stream.write_all(head.as_bytes()).await);
                    while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
                    return;
                }
                BackendAnswer::Close => return,
                BackendAnswer::Hang => return std::future::pending().await,
                BackendAnswer::FailLater => {
                    self.fail_now.notified().await;
                    "HTTP/1.1 503 X\r\ncontent-length: 0\r\n\r\n".to_owned()
                }
            };
            drop(stream.write_all(text.as_bytes()).await);
        }
    }
}

/// Reads one request; `None` when the connection ends.
pub(super) async fn read(stream: &mut TcpStream) -> Option<ReceivedReply> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().filter_map(|line| line.split_once(": "));
            let mut length = length.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            let length = length.next().map_or(0, |(_, value)| value.parse().unwrap());
            if body.len() >= length {
                let path = head.split(' ').nth(1)?.to_owned();
                return Some(ReceivedReply { path, head: head.to_owned(), body: body.to_owned() });
            }
        }
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
        bytes.extend(&chunk[..read]);
    }
}
