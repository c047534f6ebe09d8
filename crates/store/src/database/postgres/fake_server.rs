//! A server for tests that speaks the part of PostgreSQL's protocol which a connection without prepared statements uses. Every
//! statement returns one row, except those that are refused or never answered.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

/// The code in the first message of a connection that cancels the statement of another one.
const CANCEL_CODE: i32 = 80_877_102;

/// What every connection sends first, before the test begins: the choice of a server that accepts writes, and the session settings.
const FIRST_STATEMENTS: [&str; 2] = ["SHOW transaction_read_only", "SET statement_timeout"];

/// The server. It ends with this value.
pub(super) struct FakeServer {
    pub(super) url: String,
    statements: UnboundedReceiver<String>,
    cancelled: UnboundedReceiver<i32>,
    _tasks: JoinSet<()>,
}

/// What the tasks of the connections share.
struct ServerState {
    /// Parts of the statements that are never answered.
    unanswered: Vec<&'static str>,
    /// Parts of the statements that fail.
    refused: Vec<&'static str>,
    statements: UnboundedSender<String>,
    cancelled: UnboundedSender<i32>,
}

impl FakeServer {
    pub(super) async fn start(unanswered: &[&'static str]) -> Self {
        Self::start_with(unanswered, &[]).await
    }

    pub(super) async fn start_with(unanswered: &[&'static str], refused: &[&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("postgres://desk@{}/desk", listener.local_addr().unwrap());
        let ((send_statement, statements), (send_cancelled, cancelled)) = (unbounded_channel(), unbounded_channel());
        let (unanswered, refused) = (unanswered.to_vec(), refused.to_vec());
        let state = ServerState { unanswered, refused, statements: send_statement, cancelled: send_cancelled };
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::new(state)));
        Self { url, statements, cancelled, _tasks: tasks }
    }

    /// The next statement that a connection has sent, besides those that every connection sends first.
    pub(super) async fn next_statement(&mut self) -> String {
        self.statements.recv().await.unwrap()
    }

    /// The same, if there is one.
    pub(super) fn try_next_statement(&mut self) -> Option<String> {
        self.statements.try_recv().ok()
    }

    /// The number of the connection whose statement a client has cancelled; the first one is 1.
    pub(super) async fn next_cancelled(&mut self) -> i32 {
        self.cancelled.recv().await.unwrap()
    }
}

async fn accept(listener: TcpListener, state: Arc<ServerState>) {
    let (mut connections, mut number) = (JoinSet::new(), 0);
    while let Ok((mut stream, _)) = listener.accept().await {
        // Read before the next connection is accepted, so that they are numbered in their order.
        let Some(first) = read_frame(&mut stream).await else { continue };
        if read_int(&first, 0) == CANCEL_CODE {
            let _ = state.cancelled.send(read_int(&first, 4));
        } else {
            number += 1;
            connections.spawn(serve(stream, number, Arc::clone(&state)));
        }
    }
}

/// Answers the statements of a connection until it ends.
async fn serve(mut stream: TcpStream, number: i32, state: Arc<ServerState>) {
    // Without a password; then the identity of the connection, for requests to cancel.
    let identity = [number.to_be_bytes(), 0_i32.to_be_bytes()].concat();
    let mut reply = [message(b'R', &0_i32.to_be_bytes()), message(b'K', &identity), ready()].concat();
    loop {
        if stream.write_all(&reply).await.is_err() {
            return;
        }
        let Ok(b'Q') = stream.read_u8().await else { return };
        let Some(text) = read_frame(&mut stream).await else { return };
        let text = String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned();
        let contains_any = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
        let (is_unanswered, is_refused) = (contains_any(&state.unanswered), contains_any(&state.refused));
        if !FIRST_STATEMENTS.iter().any(|first| text.starts_with(first)) {
            let _ = state.statements.send(text);
        }
        if is_unanswered {
            // Until the client leaves.
            let _ = stream.read_u8().await;
            return;
        }
        reply = if is_refused { refusal() } else { one_row() };
    }
}

/// Reads the rest of a message: its length, which counts itself, and its content.
async fn read_frame(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let length = stream.read_u32().await.ok()?;
    let mut content = vec![0; usize::try_from(length).ok()?.checked_sub(4)?];
    stream.read_exact(&mut content).await.ok()?;
    Some(content)
}

fn read_int(content: &[u8], at: usize) -> i32 {
    content.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_be_bytes)
}

fn message(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len() + 4).unwrap();
    [&[kind][..], &length.to_be_bytes(), content].concat()
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

/// The error of a statement that an operator has cancelled.
fn refusal() -> Vec<u8> {
    [message(b'E', b"SERROR\0C57014\0Mcanceling statement\0\0"), ready()].concat()
}

/// A result with one column and one row: `off`, which says that the server accepts writes.
fn one_row() -> Vec<u8> {
    // One column: its name, no table, the type `text` of any length, as text.
    let column = b"\0\x01a\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";
    let row = b"\0\x01\0\0\0\x03off";
    [message(b'T', column), message(b'D', row), message(b'C', b"SELECT 1\0"), ready()].concat()
}
