//! A service that receives events.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use url::form_urlencoded;

/// A request of the platform.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) is_get: bool,
    pub(crate) query: HashMap<String, String>,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn parameter(&self, name: &str) -> &str {
        self.query.get(name).map(String::as_str).unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(String::as_str).unwrap_or_default()
    }
}

/// The status and the body of the answer to a request.
type Answer = dyn Fn(&Received) -> (u16, String) + Send + Sync;

/// The address, and what arrived there.
pub(crate) struct Receiver {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Receiver {
    pub(crate) async fn start(answer: impl Fn(&Received) -> (u16, String) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/events?kept=1", listener.local_addr().unwrap());
        let answer: Arc<Answer> = Arc::new(answer);
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = received.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, answer.clone(), log.clone()));
            }
        });
        Self { url, received }
    }

    /// What arrived since the last time.
    pub(crate) fn take(&self) -> Vec<Received> {
        std::mem::take(&mut *self.received.lock().unwrap())
    }
}

async fn serve(mut stream: TcpStream, answer: Arc<Answer>, log: Arc<Mutex<Vec<Received>>>) {
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    let request = loop {
        if let Some(request) = parse(&bytes) {
            break request;
        }
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => return,
            Ok(read) => bytes.extend_from_slice(&part[..read]),
        }
    };
    let (status, body) = answer(&request);
    log.lock().unwrap().push(request);
    let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
}

/// A request, when it has arrived in full.
fn parse(bytes: &[u8]) -> Option<Received> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?, first.next()?);
    let header = |line: &str| {
        let (name, value) = line.split_once(": ")?;
        Some((name.to_ascii_lowercase(), value.to_owned()))
    };
    let headers: HashMap<_, _> = lines.filter_map(header).collect();
    let length: usize = headers.get("content-length").map_or(Some(0), |length| length.parse().ok())?;
    let query = target.split_once('?').map(|(_, query)| query).unwrap_or_default();
    let query = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    (body.len() >= length).then(|| Received { is_get: method == "GET", query, headers, body: body.to_owned() })
}
