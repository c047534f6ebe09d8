//! Open WebSocket connections: one task each, with little more memory than its last message.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::connection::find;
use crate::error::BenchError;
use crate::progress::Progress;
use crate::requests::{WordList, handshake};
use crate::stats::now;

/// The number of local addresses from which sockets connect.
const ADDRESSES: usize = 20;
/// The maximum number of sockets being opened at once.
const MAX_OPENING: usize = 64;
/// The time after which an event counts as lost.
const EVENT_TIMEOUT: Duration = Duration::from_secs(30);
/// The buffer size, which is sufficient for every message.
const BUFFER_BYTES: usize = 1024;

/// An event of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    Ready,
    Message,
    /// The socket was closed with this code; 0 when the connection ended without a close frame.
    Closed(u16),
}

/// The socket, the event and its time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketReport {
    pub(crate) socket: usize,
    pub(crate) what: Received,
    pub(crate) at: Instant,
}

/// Many sockets, each with the number of its token. They close when the pool is dropped.
#[derive(Debug)]
pub(crate) struct SocketPool {
    _listening: JoinSet<()>,
    heard: UnboundedReceiver<SocketReport>,
}

impl SocketPool {
    /// Opens a socket with each of these tokens and waits until all are ready.
    pub(crate) async fn open(address: SocketAddr, tokens: &WordList, progress: &Progress) -> Result<Self, BenchError> {
        let (tell, heard) = unbounded_channel();
        let (mut opening, mut listening, count) = (JoinSet::new(), JoinSet::new(), tokens.len());
        for number in 0..count {
            if opening.len() >= MAX_OPENING {
                start_listening(&mut opening, &mut listening).await?;
            }
            let request = tokens.text(number).map(handshake).ok_or("there are not so many tokens")?;
            opening.spawn(ClientSocket::open(address, number, request, tell.clone()));
            if number % 2_000 == 1_999 {
                progress.at("socket", number + 1, count);
            }
        }
        while !opening.is_empty() {
            start_listening(&mut opening, &mut listening).await?;
        }
        let mut pool = Self { _listening: listening, heard };
        pool.all(Received::Ready, count).await?;
        Ok(pool)
    }

    /// The next event of any socket.
    async fn next(&mut self) -> Result<SocketReport, BenchError> {
        timeout(EVENT_TIMEOUT, self.heard.recv()).await?.ok_or_else(|| "the receiver is gone".into())
    }

    /// Waits for `count` events, which must all be `what`; returns their sockets and the time of the last event.
    pub(crate) async fn all(&mut self, what: Received, count: usize) -> Result<(Vec<usize>, Instant), BenchError> {
        let (mut sockets, mut last) = (Vec::with_capacity(count), now());
        while sockets.len() < count {
            let found = sockets.len();
            let heard =
                self.next().await.map_err(|failed| failed.during(format_args!("{what:?}, {found} of {count}")))?;
            if heard.what != what {
                return Err(format!("a socket heard {:?} instead of {what:?}", heard.what).into());
            }
            sockets.push(heard.socket);
            last = heard.at;
        }
        Ok((sockets, last))
    }
}

/// Starts listening on the next opened socket.
async fn start_listening(
    opening: &mut JoinSet<Result<ClientSocket, BenchError>>,
    listening: &mut JoinSet<()>,
) -> Result<(), BenchError> {
    if let Some(line) = opening.join_next().await {
        listening.spawn(line??.listen());
    }
    Ok(())
}

/// A socket.
#[derive(Debug)]
pub(crate) struct ClientSocket {
    stream: TcpStream,
    socket: usize,
    tell: UnboundedSender<SocketReport>,
    /// The received bytes that have not been parsed yet.
    buffer: Vec<u8>,
}

impl ClientSocket {
    /// Opens a socket, which reports its events under this number.
    pub(crate) async fn open(
        address: SocketAddr,
        socket: usize,
        request: Vec<u8>,
        tell: UnboundedSender<SocketReport>,
    ) -> Result<Self, BenchError> {
        const END: &[u8] = b"\r\n\r\n";
        let mine = TcpSocket::new_v4()?;
        let from = Ipv4Addr::new(127, 0, 0, u8::try_from(socket % ADDRESSES + 1)?);
        mine.bind(SocketAddrV4::new(from, 0).into())?;
        let mut stream = mine.connect(address).await?;
        stream.set_nodelay(true)?;
        stream.write_all(&request).await?;
        let mut buffer = Vec::with_capacity(BUFFER_BYTES);
        let end = loop {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Err("the server closed the connection before it answered".into());
            }
            if let Some(end) = find(&buffer, END) {
                break end + END.len();
            }
        };
        if !buffer.starts_with(b"HTTP/1.1 101 ") {
            return Err(format!("a socket was refused:\n{}", String::from_utf8_lossy(&buffer)).into());
        }
        buffer.drain(..end);
        Ok(Self { stream, socket, tell, buffer })
    }

    /// Waits for the first frame, which stays in the buffer.
    pub(crate) async fn ready(&mut self) -> Result<(), BenchError> {
        while frame(&self.buffer).is_none() {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err("the server closed a socket before its first frame".into());
            }
        }
        let is_text = frame(&self.buffer).is_some_and(|(kind, ..)| kind == 0x81);
        if is_text { Ok(()) } else { Err("the server closed a socket at once".into()) }
    }

    /// Reports events until the socket is closed.
    pub(crate) async fn listen(mut self) {
        let mut ready = false;
        let code = loop {
            let Some((kind, payload, length)) = frame(&self.buffer) else {
                match self.stream.read_buf(&mut self.buffer).await {
                    Ok(0) | Err(_) => break 0,
                    Ok(_) => continue,
                }
            };
            let about_session = payload.starts_with(b"{\"msg_type\":\"session\"");
            match kind {
                0x81 if !about_session => self.say(Received::Message),
                0x81 if !ready => {
                    ready = true;
                    self.say(Received::Ready);
                }
                0x88 => {
                    let code = payload.first_chunk().map_or(0, |code| u16::from_be_bytes(*code));
                    let [high, low] = code.to_be_bytes();
                    // Masked with zeros, so the payload is unchanged.
                    let _ = self.stream.write_all(&[0x88, 0x82, 0, 0, 0, 0, high, low]).await;
                    break code;
                }
                0x89 => drop(self.stream.write_all(&[0x8a, 0x80, 0, 0, 0, 0]).await),
                _ => {}
            }
            self.buffer.drain(..length);
        };
        self.say(Received::Closed(code));
    }

    fn say(&self, what: Received) {
        // Fails when the run is over, because the receiver is gone.
        let _ = self.tell.send(SocketReport { socket: self.socket, what, at: now() });
    }
}

/// The first frame, once it is complete: its first byte, its payload, and its size in bytes. No frame here is long enough to
/// need an eight-byte length.
fn frame(bytes: &[u8]) -> Option<(u8, &[u8], usize)> {
    let (start, length) = match *bytes.get(1)? {
        126 => (4, usize::from(u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?))),
        short => (2, usize::from(short)),
    };
    Some((*bytes.first()?, bytes.get(start..start + length)?, start + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_there_with_its_last_byte_and_not_before() {
        let mut long = vec![0x81, 126, 1, 0];
        long.extend([b'x'; 256]);
        for (whole, kind, carried) in [(&b"\x89\x00"[..], 0x89, 0), (b"\x81\x02hi", 0x81, 2), (&long, 0x81, 256)] {
            for cut in 0..whole.len() {
                assert_eq!(whole.get(..cut).and_then(frame), None, "{cut}");
            }
            let with_more = [whole, b"\x81"].concat();
            let found = frame(&with_more).map(|(kind, payload, length)| (kind, payload.len(), length));
            assert_eq!(found, Some((kind, carried, whole.len())));
        }
    }
}
