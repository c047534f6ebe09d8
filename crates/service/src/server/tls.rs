//! The TLS handshake of a new connection. It has the time of a request's head, and the connection counts as waiting for its client.

use std::time::Duration;

use rustls::server::Acceptor;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;
use tokio_util::either::Either;

use crate::server_tls::{ClientStream, ServerTls};

/// The response to a request without TLS. The library for TLS would only close the connection.
const NOT_TLS: &str = "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 54\r\n\
                       connection: close\r\n\r\nThis service speaks TLS at this address: use https://\n";

/// The most bytes of a request without TLS that are read: closing a connection with unread bytes may discard the response.
const MAX_DISCARDED_BYTES: usize = 4 * 1024;

/// Performs the handshake, if the service speaks TLS. `None` if it fails, takes too long, or the connection is asked to close.
pub(super) async fn open(
    stream: TcpStream,
    tls: Option<&ServerTls>,
    limit: Duration,
    leave: &mut oneshot::Receiver<()>,
) -> Option<ClientStream> {
    let Some(tls) = tls else { return Some(Either::Left(stream)) };
    // On the heap, so that connections without TLS do not reserve the space.
    let handshake = Box::pin(timeout(limit, accept(stream, tls)));
    tokio::select! {
        biased;
        _ = leave => None,
        opened = handshake => opened.ok().flatten(),
    }
}

async fn accept(mut stream: TcpStream, tls: &ServerTls) -> Option<ClientStream> {
    let mut first = [0];
    let peeked = stream.peek(&mut first).await.ok()?;
    // Every method of HTTP begins with a letter, and no record of TLS does.
    if peeked > 0 && first.iter().all(u8::is_ascii_alphabetic) {
        let _ = stream.try_read(&mut [0; MAX_DISCARDED_BYTES]);
        let _ = stream.write_all(NOT_TLS.as_bytes()).await;
        let _ = stream.shutdown().await;
        return None;
    }
    let opened = async {
        let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
        tls.handshake(hello).await
    };
    match opened.await {
        Ok(stream) => Some(Either::Right(Box::new(stream))),
        Err(error) => {
            tracing::debug!(%error, "TLS handshake failed");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_the_response_is_right() {
        let (head, body) = NOT_TLS.split_once("\r\n\r\n").unwrap_or_default();
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{}", body.len());
    }
}
