//! Direct answers and the responses of the HTTP library, on a connection in memory that is polled by hand.
//!
//! The client accepts exactly as many bytes as a test allows, so where a response blocks does not depend on buffers of the system.

use std::convert::Infallible;
use std::mem::take;
use std::sync::{Mutex, MutexGuard};
use std::task::Waker;
use std::time::Duration;

use axum::body::Body;
use deskpass_core::framing::MAX_HEAD_BYTES;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Instant;

use super::*;
use crate::client_stream::ClientStream;
use crate::server::activity::ConnectionActivity;
use crate::server::checked_reader::{CheckedReader, RequestTracker};
use crate::server::http_builder;
use crate::server::response_body::ResponseBody;
use crate::server::timeouts::{ConnectionTimeouts, TimeoutStream};

/// The size of a large document: several times what the library takes into its buffer before it writes.
const LARGE_BYTES: usize = 4 * MAX_HEAD_BYTES;

/// More bytes than two heads of responses have, and far fewer than a large document.
const FEW_BYTES: usize = 1_000;

/// Two requests for the large document. The body of the first is not read by its handler: the library discards the rest of it, and then
/// begins the second response although the first is not written yet.
const TWO_LARGE: &[u8] =
    b"GET /large HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n\
                           GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// A request that is answered directly if the library is idle.
const ME: &[u8] = b"GET /me HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// The client of a connection.
#[derive(Debug, Default)]
struct Client {
    /// Bytes that the server has not read yet.
    sent: Vec<u8>,
    received: Vec<u8>,
    /// How many more bytes the client accepts.
    accepts: usize,
    /// The same from the next write on that the client does not accept.
    accepts_later: usize,
    /// Bytes that the client sends when the server flushes.
    sent_on_flush: Vec<u8>,
    /// The numbers of bytes that the client had received when the server flushed.
    flushed_at: Vec<usize>,
}

/// The server's end of a connection. It wakes nobody, since the tests poll.
#[derive(Clone, Debug, Default)]
struct MemoryStream(Arc<Mutex<Client>>);

impl MemoryStream {
    fn client(&self) -> MutexGuard<'_, Client> {
        self.0.lock().unwrap()
    }
}

impl AsyncRead for MemoryStream {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let sent = take(&mut self.client().sent);
        if sent.is_empty() {
            return Poll::Pending;
        }
        buffer.put_slice(&sent);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for MemoryStream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut client = self.client();
        let count = client.accepts.min(bytes.len());
        if count == 0 {
            client.accepts = take(&mut client.accepts_later);
            return Poll::Pending;
        }
        client.accepts -= count;
        client.received.extend_from_slice(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut client = self.client();
        let (received, mut sent) = (client.received.len(), take(&mut client.sent_on_flush));
        client.flushed_at.push(received);
        client.sent.append(&mut sent);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A connection as the server makes it, with a service and a direct handler of the test.
struct Connection {
    stream: MemoryStream,
    http: Pin<Box<dyn Future<Output = hyper::Result<()>>>>,
}

impl Connection {
    fn open() -> Self {
        let (stream, tracker) = (MemoryStream::default(), RequestTracker::default());
        let activity = ConnectionActivity::new(Instant::now());
        let timeouts = ConnectionTimeouts { head: Duration::from_mins(1), idle: Duration::from_mins(1) };
        let answer = || DirectAnswer { bytes: response("direct"), ready_at: Instant::now().into_std() };
        let direct = DirectPath::with(move |request| (request == ME).then(answer));
        let reader = CheckedReader::new(ClientStream::Plain(stream.clone()), tracker.clone());
        let checked = TimeoutStream::new(reader, timeouts, activity.clone(), direct);
        let service = service_fn(move |request: Request<Incoming>| {
            let (activity, tracker) = (activity.clone(), tracker.clone());
            // The request, and with it its body, is dropped when the response is there.
            async move { Ok::<_, Infallible>(serve(&request, activity, &tracker)) }
        });
        let http = http_builder().auto_date_header(false).serve_connection(TokioIo::new(checked), service);
        Self { stream, http: Box::pin(http) }
    }

    fn client(&self) -> MutexGuard<'_, Client> {
        self.stream.client()
    }

    fn poll(&mut self) {
        let ended = self.http.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(ended.is_pending(), "the connection ended");
    }

    /// Lets the server do everything that it can do now. The library sometimes asks to be polled again.
    fn settle(&mut self) {
        for _ in 0..4 {
            self.poll();
        }
    }

    /// Checks everything that the client has received, from the first byte on.
    fn assert_received(&self, responses: &[&[u8]]) {
        let (expected, received) = (responses.concat(), take(&mut self.client().received));
        let same = expected.iter().zip(&received).take_while(|(one, other)| one == other).count();
        let rest: Vec<u8> = received.iter().skip(same).take(60).copied().collect();
        let rest = String::from_utf8_lossy(&rest);
        assert!(expected == received, "{same} of {} bytes are right, then: {rest:?}", expected.len());
    }
}

/// Serves a request by the ordinary way, and counts it like the server does.
fn serve(
    request: &Request<Incoming>,
    activity: ConnectionActivity,
    tracker: &RequestTracker,
) -> Response<ResponseBody> {
    activity.toggle();
    assert!(tracker.begin().is_none(), "the head is valid");
    let body = if request.uri().path() == "/large" { large_document() } else { "ordinary".to_owned() };
    tracker.end();
    Response::new(ResponseBody::new(Body::from(body), activity))
}

fn large_document() -> String {
    "x".repeat(LARGE_BYTES)
}

/// The bytes of a response.
fn response(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// The library has flushed since the second response was made, but only its head: the body was still to come, and is now half written.
#[tokio::test]
async fn a_large_response_is_not_interrupted() {
    let (mut connection, large) = (Connection::open(), response(&large_document()));
    connection.client().sent = TWO_LARGE.to_vec();
    connection.client().accepts = FEW_BYTES;
    connection.settle();
    connection.client().accepts = LARGE_BYTES;
    connection.settle();
    // If these fail with another version of the library, the test has to find another way into the middle of a response.
    let second_head = large.len() - LARGE_BYTES;
    assert_eq!(connection.client().flushed_at, [large.len() + second_head]);
    assert_eq!(connection.client().received.len(), FEW_BYTES + LARGE_BYTES);

    connection.client().sent = ME.to_vec();
    connection.settle();
    connection.client().accepts = usize::MAX;
    connection.settle();
    connection.assert_received(&[&large, &large, &response("ordinary")]);

    // Now the library is idle.
    connection.client().sent = ME.to_vec();
    connection.settle();
    connection.assert_received(&[&response("direct")]);
}

/// The client accepts the head of the second response between two attempts of the library to write, and then the library reads before it
/// asks for the body.
#[tokio::test]
async fn a_head_and_its_body_are_not_separated() {
    let (mut connection, large) = (Connection::open(), response(&large_document()));
    connection.client().sent = TWO_LARGE.to_vec();
    connection.client().accepts = FEW_BYTES;
    connection.poll();
    connection.client().accepts_later = usize::MAX;
    connection.client().sent_on_flush = ME.to_vec();
    connection.settle();
    // If this fails with another version of the library, the test has to find another way between a head and its body.
    let second_head = large.len() - LARGE_BYTES;
    assert_eq!(connection.client().flushed_at.first(), Some(&(large.len() + second_head)));
    connection.assert_received(&[&large, &large, &response("ordinary")]);
}
