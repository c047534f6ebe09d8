//! A connection from its first byte until it ends or becomes a socket.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, HeaderValue, TRANSFER_ENCODING};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::{self, OnUpgrade};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep_until};

use super::body::ResponseBody;
use super::slots::Slot;
use super::tls;
use super::watched::Watched;
use crate::app::current::CurrentApp;
use crate::config::Server;
use crate::connection_state::{ConnectionState, State, Wait};
use crate::http::{Dispatcher, PendingUpgrade, ReserveConnection};

/// The most bytes of a head, which are also the most that the HTTP library keeps of a connection.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// The most fields of a head.
const MAX_HEAD_FIELDS: usize = 64;

/// The size up to which a head is copied before a body that is larger.
const COPIED_HEAD_BYTES: u64 = 4 * 1024;

/// The time of everything on a connection of the reserve.
const RESERVE_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the client of a connection may take.
#[derive(Clone, Copy, Debug)]
struct Timeouts {
    /// For the rest of a request's head, from its first byte.
    head: Duration,
    /// For the first byte of the next request, or to take another byte of a response.
    idle: Duration,
}

impl Timeouts {
    /// The timeouts of a new connection. The place of one of the reserve must become free soon.
    fn new(settings: &Server, reserve: bool) -> Self {
        let longest = if reserve { RESERVE_TIMEOUT } else { Duration::MAX };
        Self { head: settings.header_timeout.min(longest), idle: settings.idle_timeout.min(longest) }
    }

    /// When the client has taken too long. A body has a time of its own, with the request that reads it.
    fn deadline(self, state: State) -> Option<Instant> {
        match state {
            State::Client { what: Wait::Head, since } => Some(since + self.head),
            State::Client { what: Wait::Request | Wait::Reader { .. }, since } => Some(since + self.idle),
            State::Client { what: Wait::Body, .. } | State::Answering | State::Socket => None,
        }
    }
}

/// The deadline of a connection's state.
struct Deadline {
    timeouts: Timeouts,
    state: ConnectionState,
    timer: Pin<Box<Sleep>>,
}

impl Deadline {
    fn new(timeouts: Timeouts, state: ConnectionState) -> Self {
        let timer = Box::pin(sleep_until(Instant::now() + timeouts.head.min(timeouts.idle)));
        Self { timeouts, state, timer }
    }

    /// Completes when the client has taken too long. It is polled after whatever changes the state. The timer moves only to an earlier
    /// time, or when it fires: so most requests do not move it.
    fn poll_passed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let deadline = self.timeouts.deadline(self.state.get());
            if let Some(deadline) = deadline.filter(|deadline| *deadline < self.timer.deadline()) {
                self.timer.as_mut().reset(deadline);
            }
            ready!(self.timer.as_mut().poll(context));
            let now = Instant::now();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Poll::Ready(());
            }
            // No deadline to come is further away than this.
            let latest = now + self.timeouts.idle;
            self.timer.as_mut().reset(deadline.map_or(latest, |deadline| deadline.min(latest)));
        }
    }
}

/// The socket that a connection becomes after its last response.
type Switch = Arc<Mutex<Option<(OnUpgrade, PendingUpgrade)>>>;

/// What the requests of a connection share.
#[derive(Clone)]
struct ConnectionContext {
    dispatcher: Arc<Dispatcher>,
    app: Arc<Mutex<CurrentApp>>,
    peer: IpAddr,
    state: ConnectionState,
    switch: Switch,
    /// Whether the connection is from the reserve for health checks.
    reserve: bool,
}

impl ConnectionContext {
    /// Answers a request.
    async fn answer(self, mut request: Request<Incoming>) -> Result<Response<ResponseBody>, Infallible> {
        let Self { dispatcher, app, peer, state, switch, reserve } = self;
        let is_read = state.begin_answer();
        // The whole request uses the settings of this moment.
        let app = app.lock().unwrap_or_else(PoisonError::into_inner).refresh().clone();
        let upgrade = upgrade::on(&mut request);
        // Servers disagree on where such a request ends: nothing after it is read as another one.
        // And the HTTP library keeps the heads of all answers that a client does not take, so that one gets no more of them.
        let is_last = reserve || !is_read || request.headers().contains_key(TRANSFER_ENCODING);
        if reserve {
            request.extensions_mut().insert(ReserveConnection);
        }
        if !request.body().is_end_stream() {
            copy_head(&mut request);
        }
        let mut answer = dispatcher.answer(&app, peer, &state, request).await;
        if is_last {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(pending) = answer.extensions_mut().remove::<PendingUpgrade>() {
            state.become_socket();
            *switch.lock().unwrap_or_else(PoisonError::into_inner) = Some((upgrade, pending));
        }
        Ok(answer.map(|body| ResponseBody { body, state }))
    }
}

/// Copies a small head before a large body, if the body may be slow: the head is a part of the HTTP library's buffer of 8 KiB, which
/// would be kept until the body has arrived.
fn copy_head(request: &mut Request<Incoming>) {
    let body = request.body().size_hint().exact().unwrap_or(u64::MAX);
    let head: usize = request.headers().values().map(HeaderValue::len).sum();
    if body <= COPIED_HEAD_BYTES || head as u64 > COPIED_HEAD_BYTES {
        return;
    }
    for value in request.headers_mut().values_mut() {
        if let Ok(copy) = HeaderValue::from_bytes(value.as_bytes()) {
            *value = copy;
        }
    }
    if let Ok(copy) = request.uri().to_string().parse() {
        *request.uri_mut() = copy;
    }
}

/// Serves a connection until it ends or becomes a socket. If it ends, its slot is free again when this returns.
pub(super) async fn serve(
    stream: TcpStream,
    peer: IpAddr,
    dispatcher: Arc<Dispatcher>,
    app: CurrentApp,
    mut slot: Slot,
) {
    let reserve = slot.place.reserve;
    let timeouts = Timeouts::new(&app.settings.server, reserve);
    let _ = stream.set_nodelay(true);
    // Also after the connection is closed: without progress, what the client does not take stays no longer in the system's buffers.
    let _ = set_tcp_user_timeout(&stream, u32::try_from(timeouts.idle.as_millis()).unwrap_or(u32::MAX));
    let Some(stream) = tls::open(stream, app.tls.as_deref(), timeouts.head, &mut slot.leave).await else { return };
    slot.state.open();
    let app = Arc::new(Mutex::new(app));
    let switch = Switch::default();
    let context = ConnectionContext {
        dispatcher,
        app: Arc::clone(&app),
        peer,
        state: slot.state.clone(),
        switch: Arc::clone(&switch),
        reserve,
    };
    let service = service_fn(move |request| context.clone().answer(request));
    let stream = TokioIo::new(Watched::new(stream, slot.state.clone()));
    let mut connection = pin!(http_builder().serve_connection(stream, service).with_upgrades());
    let mut deadline = Deadline::new(timeouts, slot.state.clone());
    let mut is_leaving = false;
    let ended = loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => break ended,
            asked = &mut slot.leave, if !is_leaving => {
                // Another connection has taken the slot. A request that began in the meantime is still served.
                if asked.is_ok() && slot.state.waiting_since().is_some() {
                    return;
                }
                is_leaving = true;
                // A socket that the last response upgrades to must stop as well.
                slot.leave = oneshot::channel().1;
                connection.as_mut().graceful_shutdown();
            }
            () = poll_fn(|context| deadline.poll_passed(context)) => return,
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection error");
        return;
    }
    let switched = switch.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((connection, pending)) = switched {
        // A socket begins with the settings of this moment, not with those when the connection was accepted. On the heap, since most
        // connections do not switch.
        Box::pin(start_socket(connection, pending, newest(&app), slot)).await;
    }
}

/// Starts the socket, in a task of its own: that of the connection ends, with the memory that HTTP needed.
async fn start_socket(connection: OnUpgrade, pending: PendingUpgrade, app: CurrentApp, slot: Slot) {
    // Ready immediately, since HTTP is over; it fails if the client left before the response was sent.
    let Ok(upgraded) = connection.await else { return };
    let Ok(parts) = upgraded.downcast::<TokioIo<Watched>>() else { return };
    // Copied: the buffer of the HTTP library, which has 8 KB, would stay with the socket.
    let read = parts.read_buf.to_vec();
    let Slot { leave, place, .. } = slot;
    let stream = parts.io.into_inner().into_inner();
    let Some(socket) = pending.open(app, stream, read, leave).await else { return };
    drop(tokio::spawn(async move {
        socket.run().await;
        // The connection is closed, and its place is free.
        drop(place);
    }));
}

/// The settings of the HTTP library.
fn http_builder() -> http1::Builder {
    let mut http = http1::Builder::new();
    // Its own timeout for heads cannot tell an idle client from a slow one.
    http.writev(true).header_read_timeout(None);
    http.max_headers(MAX_HEAD_FIELDS).max_header_size(MAX_HEAD_BYTES).max_buf_size(MAX_HEAD_BYTES);
    http
}

/// The newest service.
fn newest(app: &Mutex<CurrentApp>) -> CurrentApp {
    let mut app = app.lock().unwrap_or_else(PoisonError::into_inner);
    app.refresh();
    app.clone()
}
