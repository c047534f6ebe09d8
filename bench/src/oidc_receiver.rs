//! The programs that are told of logouts: one that answers at once, and one that never does.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::connection::body_of_complete;
use crate::error::BenchError;
use crate::stats::now;

/// The time after which a notice counts as lost.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(10);

/// A program at a port of its own.
#[derive(Debug)]
pub(crate) struct LogoutReceiver {
    address: SocketAddr,
    arrivals: UnboundedReceiver<Instant>,
    serving: JoinHandle<()>,
}

impl LogoutReceiver {
    /// Starts a program; `answers` says whether it ever does.
    pub(crate) async fn start(answers: bool) -> Result<Self, BenchError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (told, arrivals) = unbounded_channel();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, answers, told.clone()));
            }
        });
        Ok(Self { address, arrivals, serving })
    }

    /// The address that is told.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/backchannel", self.address)
    }

    /// The time at which the next notice was complete.
    pub(crate) async fn arrival(&mut self) -> Result<Instant, BenchError> {
        let arrived = timeout(NOTICE_TIMEOUT, self.arrivals.recv()).await;
        Ok(arrived.map_err(|_| "a program was not told of a logout")?.ok_or("the receiver has ended")?)
    }
}

impl Drop for LogoutReceiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(mut stream: TcpStream, answers: bool, told: UnboundedSender<Instant>) {
    let mut request = Vec::new();
    while stream.read_buf(&mut request).await.is_ok_and(|read| read > 0) {
        if !matches!(body_of_complete(&request), Ok(Some(_))) {
            continue;
        }
        // The measurement may be over.
        let _ = told.send(now());
        if !answers {
            return std::future::pending().await;
        }
        request.clear();
        if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.is_err() {
            return;
        }
    }
}
