//! The program of a client: the addresses that browsers are redirected to, and the one that is told of logouts.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use url::form_urlencoded;

use crate::harness::ReceivedReply;
use crate::harness::reply_backend::read;
use crate::harness::until;

/// How a receiver answers.
#[derive(Clone, Debug)]
pub(crate) enum LogoutAnswer {
    Status(u16),
    /// Redirects to this address.
    Redirect(String),
    /// Refuses, at this time in the form of HTTP.
    RefuseAt(String),
    /// Does not answer.
    Never,
    /// Sends one byte of its answer every second and never ends it.
    Drip,
    /// Accepts, with a body of this many bytes.
    Body(usize),
}

/// A program at a port of its own. It records every request.
#[derive(Debug)]
pub(crate) struct Receiver {
    address: SocketAddr,
    answer: Arc<Mutex<LogoutAnswer>>,
    received: Arc<Mutex<Vec<ReceivedReply>>>,
    serving: Mutex<Option<JoinHandle<()>>>,
}

impl Receiver {
    /// A program that accepts everything.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = Arc::new(Mutex::new(LogoutAnswer::Status(200)));
        let this = Self { address, answer, received: Arc::default(), serving: Mutex::default() };
        this.serve(listener);
        this
    }

    fn serve(&self, listener: TcpListener) {
        let (answer, received) = (Arc::clone(&self.answer), Arc::clone(&self.received));
        let serving = tokio::spawn(async move {
            // They end with this task.
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve_connection(stream, Arc::clone(&answer), Arc::clone(&received)));
            }
        });
        *self.serving.lock().unwrap() = Some(serving);
    }

    /// An address of the program.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The same below another name of this machine.
    pub(crate) fn at_name(&self, name: &str, path: &str) -> String {
        format!("http://{name}:{}{path}", self.address.port())
    }

    /// Answers all further requests like this.
    pub(crate) fn answer_with(&self, answer: LogoutAnswer) {
        *self.answer.lock().unwrap() = answer;
    }

    /// Stops the program: its port is closed, and so are all connections.
    pub(crate) async fn stop(&self) {
        let serving = self.serving.lock().unwrap().take().unwrap();
        serving.abort();
        let _ = serving.await;
    }

    /// Starts it again at the same port.
    pub(crate) async fn start_again(&self) {
        self.serve(TcpListener::bind(self.address).await.unwrap());
    }

    /// Every request so far.
    pub(crate) fn requests(&self) -> Vec<ReceivedReply> {
        self.received.lock().unwrap().clone()
    }

    /// The logout tokens so far.
    pub(crate) fn logout_tokens(&self) -> Vec<String> {
        let received = self.requests();
        let told = received.iter().filter(|request| request.path == "/backchannel");
        told.map(|request| {
            assert_eq!(request.header("content-type"), "application/x-www-form-urlencoded");
            let pairs: Vec<_> = form_urlencoded::parse(request.body.as_bytes()).into_owned().collect();
            assert!(pairs.len() == 1 && pairs[0].0 == "logout_token", "{}", request.body);
            pairs[0].1.clone()
        })
        .collect()
    }

    /// Forgets what was received.
    pub(crate) fn forget(&self) {
        self.received.lock().unwrap().clear();
    }

    /// Waits until this many logout tokens have come; returns them.
    pub(crate) async fn told(&self, count: usize) -> Vec<String> {
        until(&format!("{count} logout tokens at {}", self.address), async || self.logout_tokens().len() >= count)
            .await;
        let tokens = self.logout_tokens();
        assert_eq!(tokens.len(), count, "{tokens:?}");
        tokens
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if let Some(serving) = self.serving.lock().unwrap().take() {
            serving.abort();
        }
    }
}

async fn serve_connection(
    mut stream: TcpStream,
    answer: Arc<Mutex<LogoutAnswer>>,
    received: Arc<Mutex<Vec<ReceivedReply>>>,
) {
    while let Some(request) = read(&mut stream).await {
        received.lock().unwrap().push(request);
        let answer = answer.lock().unwrap().clone();
        let text = match answer {
            LogoutAnswer::Status(status) => format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n"),
            LogoutAnswer::Redirect(to) => format!("HTTP/1.1 302 X\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n"),
            LogoutAnswer::RefuseAt(date) => {
                format!("HTTP/1.1 400 X\r\ndate: {date}\r\ncontent-length: 0\r\n\r\n")
            }
            LogoutAnswer::Never => return std::future::pending().await,
            LogoutAnswer::Drip => return drip(stream).await,
            LogoutAnswer::Body(length) => {
                format!("HTTP/1.1 200 X\r\ncontent-length: {length}\r\n\r\n{}", "x".repeat(length))
            }
        };
        if stream.write_all(text.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Sends a header that never ends.
async fn drip(mut stream: TcpStream) {
    for byte in b"HTTP/1.1 200 X\r\nx-drip: ".iter().copied().chain(std::iter::repeat(b'x')) {
        if stream.write_all(&[byte]).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
