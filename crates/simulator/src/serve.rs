//! Serves a simulator standalone, on its own port.

use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::reply;
use crate::state::MAX_BODY_BYTES;
use crate::{Simulator, SimulatorReply};

const MAX_CONNECTIONS: usize = 1_024;
const MAX_HEAD_BYTES: usize = 64 * 1024;
const HEAD_TIMEOUT: Duration = Duration::from_mins(1);
/// The maximum wait at shutdown for calls that a fault delays.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// Serves a simulator until `stop` completes; requests in progress then have three seconds to finish.
pub async fn serve(listener: TcpListener, simulator: Simulator, stop: impl Future<Output = ()>) {
    let (stay, leave) = watch::channel(());
    let (mut connections, mut stop) = (JoinSet::new(), pin!(stop));
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                Ok((stream, peer)) => {
                    let connection: Pin<Box<dyn Future<Output = ()> + Send>> =
                        Box::pin(handle_connection(stream, peer, simulator.clone(), leave.clone()));
                    drop(connections.spawn(connection));
                }
                Err(error) => {
                    // Usually the process is out of file descriptors; some will become free.
                    tracing::warn!(%error, "cannot accept a connection");
                    sleep(Duration::from_millis(50)).await;
                }
            },
        }
    }
    drop((listener, stay));
    let _ = timeout(SHUTDOWN_TIMEOUT, async { while connections.join_next().await.is_some() {} }).await;
}

async fn handle_connection(stream: TcpStream, peer: SocketAddr, simulator: Simulator, mut leave: watch::Receiver<()>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| handle(simulator.clone(), peer, request));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD_BYTES);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        _ = leave.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "simulated platform: connection error");
    }
}

/// An error: the connection must be closed without a response.
#[derive(Debug, thiserror::Error)]
#[error("hung up")]
struct ConnectionDropped;

async fn handle(
    simulator: Simulator,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, ConnectionDropped> {
    let (head, body) = request.into_parts();
    let body = match Limited::new(body, MAX_BODY_BYTES).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => return Ok(reply::too_large().map(Full::new)),
        Err(_) => return Err(ConnectionDropped),
    };
    match simulator.handle(peer.ip(), Request::from_parts(head, body)).await {
        SimulatorReply::Response(response) => Ok(response.map(Full::new)),
        SimulatorReply::HangUp => Err(ConnectionDropped),
    }
}
