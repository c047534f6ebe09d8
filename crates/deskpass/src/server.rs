//! The server itself: accepts connections within limits, serves them, and leaves politely.

mod arriving;
mod connections;
mod errands;
mod framing;
mod intake;
mod notices;
mod patience;
mod progress;
mod registry;
mod statistics;
mod switching;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use futures_util::StreamExt as _;
use hyper::body::Body as _;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::config::Settings;
use crate::desk::{CLOCKS_APART, apart};
use crate::http::{Answerer, OnReserve, Onward};
use crate::secret_files::exposed;
use crate::{Desk, StartError};
use arriving::Arriving;
use connections::{Connections, Place};
use framing::{HEAD_BYTES, HEAD_FIELDS};
use intake::{Exchange, Intake};
use patience::{Limits, Patient};
use progress::Serving;
use statistics::Writer;
use switching::Switching;

/// A desk that listens.
#[derive(Debug)]
pub struct Server {
    desk: Desk,
    listener: TcpListener,
    errands: Option<UnixListener>,
}

/// Takes the address that the settings say, and tells the settings which one it is when any free port was asked for.
///
/// # Errors
/// When the address cannot be had.
pub async fn listen(settings: Settings) -> Result<(Settings, TcpListener), StartError> {
    let address = settings.listen;
    let refused = |source| StartError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    Ok((settings.listening_at(address), listener))
}

impl Server {
    /// A desk that is open to whoever comes to `listener`.
    #[must_use]
    pub fn new(desk: Desk, listener: TcpListener) -> Self {
        let errands = errands::open(&desk);
        Self { desk, listener, errands }
    }

    /// Serves until `stop` completes; then says it is not ready, goes on for a while so that balancers notice, takes no
    /// more connections, and finishes what is under way.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { desk, listener, errands, .. } = self;
        let mode = if desk.settings.development { "development" } else { "production" };
        let (address, data) = (desk.settings.listen, desk.settings.data.display());
        tracing::info!(version = env!("CARGO_PKG_VERSION"), mode, %address, %data, "started");
        for caution in desk.settings.cautions() {
            tracing::warn!("{caution}");
        }
        for file in exposed(&desk.settings.secret_files) {
            tracing::warn!("{}", file.caution());
        }
        try_key(&desk).await;
        let mut chores = JoinSet::new();
        chores.spawn(upkeep(desk.clone()));
        chores.spawn(notices::deliver(desk.clone()));
        let (carrier, watcher) = (desk.clone(), desk.clone());
        chores.spawn(async move { carrier.auth.carry_messages().await });
        chores.spawn(async move { watcher.auth.watch_sockets().await });
        if let Some(errands) = errands {
            chores.spawn(errands::take(desk.clone(), errands));
        }
        let (connections, statistics) = (Connections::new(&desk), Writer::start(desk.clone()));
        let settings = &desk.settings.server;
        {
            let mut accepting = pin!(accept(&desk, &listener, &connections));
            tokio::select! {
                () = &mut accepting => {}
                () = stop => {
                    tracing::info!("stopping: no longer ready");
                    desk.drain();
                    // Still accepting: a balancer that has not noticed yet must not see a refused connection.
                    let _ = timeout(settings.settle, &mut accepting).await;
                }
            }
        }
        drop(listener);
        if timeout(settings.drain_timeout, connections.close()).await.is_err() {
            tracing::warn!("connections were still open after the drain time; closing them");
        }
        chores.shutdown().await;
        statistics.finish().await;
        // Nothing is refused any more.
        if timeout(SUMMARY_TIMEOUT, summarise_refusals(&desk)).await.is_err() {
            tracing::warn!("the last summary of anonymous refusals was not written in time");
        }
        tracing::info!("stopped");
    }
}

async fn accept(desk: &Desk, listener: &TcpListener, connections: &Connections) {
    let answerer = Arc::new(Answerer::new(desk.clone()));
    let limits = Limits { head: desk.settings.server.header_timeout, idle: desk.settings.server.idle_timeout };
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                if let Some(place) = connections.admit(peer.ip()) {
                    let limits = if place.reserve { limits.of_reserve() } else { limits };
                    drop(tokio::spawn(serve(stream, peer, Arc::clone(&answerer), limits, place)));
                }
            }
            Err(error) => {
                // Usually out of file descriptors: some will come free.
                tracing::warn!(%error, "cannot accept a connection");
                connections.make_room(&error);
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Serves a connection to its end. Its place is free again once this returns.
async fn serve(stream: TcpStream, peer: SocketAddr, answerer: Arc<Answerer>, limits: Limits, mut place: Place) {
    let _ = stream.set_nodelay(true);
    let (serving, switching, reserve) = (place.serving.clone(), Switching::default(), place.reserve);
    let exchange = Exchange::default();
    let stream = Patient::new(Intake::new(stream, exchange.clone()), limits, serving.clone());
    let switched = switching.clone();
    let service = service_fn(move |mut request| {
        let (answerer, serving, switching) = (Arc::clone(&answerer), serving.clone(), switching.clone());
        let exchange = exchange.clone();
        async move {
            serving.turn();
            let malformed = exchange.begin();
            let upgrade = upgrade::on(&mut request);
            if reserve {
                request.extensions_mut().insert(OnReserve);
            }
            let request = request.map(|body| Arriving::new(body, serving.clone()));
            let mut answer = match malformed {
                None => answerer.answer(peer.ip(), request).await,
                Some(malformed) => answerer.refuse(malformed),
            };
            if reserve {
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            if let Some(onward) = answer.extensions_mut().remove::<Onward>() {
                exchange.switch();
                switching.keep(upgrade, onward);
                // What it becomes is not waited for: it stays busy.
                return Ok(answer);
            }
            exchange.end();
            Ok::<_, Infallible>(served(answer, serving))
        }
    });
    let mut http = http1::Builder::new();
    // Patience is the stream's business.
    http.writev(false).header_read_timeout(None).max_headers(HEAD_FIELDS).max_buf_size(HEAD_BYTES);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service).with_upgrades());
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        asked = &mut place.leave => {
            // Another connection has its place now. A request that began in the meantime is answered first.
            if asked.is_ok() && place.serving.waiting_since().is_some() {
                return;
            }
            // Whatever the connection becomes with its last answer is to leave, too.
            place.leave = oneshot::channel().1;
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    match ended {
        Ok(()) => switched.go_on(&mut place.leave).await,
        Err(error) => tracing::debug!(%error, "a connection ended badly"),
    }
}

/// An answer that is whole ends the request. One that is still being written does so when it is through.
fn served(answer: Response, serving: Serving) -> Response {
    if answer.body().size_hint().exact().is_some() {
        serving.turn();
        return answer;
    }
    let end = End(serving);
    answer.map(|body| {
        Body::from_stream(body.into_data_stream().map(move |piece| {
            let _until_the_last = &end;
            piece
        }))
    })
}

/// Ends a request when it is dropped.
#[derive(Debug)]
struct End(Serving);

impl Drop for End {
    fn drop(&mut self) {
        self.0.turn();
    }
}

/// A key that was changed would show when agents need their passwords most; better now.
async fn try_key(desk: &Desk) {
    match desk.auth.knows_key().await {
        Ok(true) => {}
        Ok(false) => tracing::error!(
            "encryption_key is not the one that the log and agents' passwords and devices were written with: put that key back into \
             the settings"
        ),
        Err(error) => tracing::warn!(%error, "whether encryption_key is the right one cannot be told"),
    }
}

/// What has to be done now and then.
async fn upkeep(desk: Desk) {
    let (mut often, mut minute) = (interval(Duration::from_secs(5)), interval(Duration::from_mins(1)));
    // A tick that was missed is not made up for: the clock must follow the machine's slowly.
    minute.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = often.tick() => desk.metrics.tidy(),
            _ = minute.tick() => by_the_minute(&desk).await,
        }
    }
}

/// How long the end of the process waits for the last summary of anonymous refusals.
const SUMMARY_TIMEOUT: Duration = Duration::from_secs(2);

async fn summarise_refusals(desk: &Desk) {
    match desk.auth.summarise_refusals().await {
        Ok(0) => {}
        Ok(refusals) => {
            tracing::warn!(refusals, "anonymous refusals beyond the limit were summarised in one row of the log");
        }
        Err(error) => tracing::warn!(%error, "cannot write the summary of anonymous refusals"),
    }
}

/// How many uses of sessions are written down in a minute at most; the rest wait.
const SEEN: usize = 10_000;

async fn by_the_minute(desk: &Desk) {
    desk.review_clock().await;
    // Puts the time on record, so that a clock that is behind at the next start does not prolong anyone's session.
    if let Err(error) = desk.auth.store.note_time(desk.auth.clock.now()).await {
        tracing::warn!(%error, "cannot write to the store");
    }
    summarise_refusals(desk).await;
    if let Err(error) = desk.auth.store.flush_seen(SEEN).await {
        tracing::warn!(%error, "cannot write down when sessions were used");
    }
    match desk.auth.store.common_time().await {
        Ok(Some(common)) if apart(desk.auth.clock.now(), common.at) > CLOCKS_APART => {
            // What is over by this clock may not be over.
            tracing::error!("this node's clock and the database's are far apart; have both set by NTP");
        }
        Ok(_) => {
            if let Err(error) = desk.auth.sweep_in_turn().await {
                tracing::warn!(%error, "cannot sweep out what has expired");
            }
        }
        Err(error) => tracing::warn!(%error, "cannot read from the store"),
    }
}
