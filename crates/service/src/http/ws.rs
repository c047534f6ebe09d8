//! The routes that open sockets. The traffic on a socket is handled in `connection`.

mod connection;
mod handshake;
mod token;

use axum::response::IntoResponse as _;
use deskpass_auth::Refusal;
use deskpass_core::{MessageId, SocketKind};
use hyper::StatusCode;
use hyper::header::{CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_PROTOCOL, UPGRADE};

pub(crate) use self::connection::PendingUpgrade;

use self::connection::AcceptedSocket;
use self::handshake::Handshake;
use self::token::SocketAuth;
use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{FromFields, Query};
use crate::http::response::described_responses;

/// The message after which to resume.
#[derive(FromFields)]
pub(crate) struct Resume(#[field(name = "last_id")] Option<MessageId>);

described_responses! {
    /// The response that turns the connection into a socket.
    SwitchingProtocols: |spec| spec.switches = true;
}

/// Opens a socket of the employees' client.
pub(crate) async fn employee(
    app: App,
    auth: SocketAuth,
    handshake: Handshake,
    Query(resume): Query<Resume>,
) -> Result<SwitchingProtocols, ApiError> {
    open(app, SocketKind::Employee, auth, handshake, resume).await
}

/// Opens a socket of the agents' client.
pub(crate) async fn agent(
    app: App,
    auth: SocketAuth,
    handshake: Handshake,
    Query(resume): Query<Resume>,
) -> Result<SwitchingProtocols, ApiError> {
    open(app, SocketKind::Agent, auth, handshake, resume).await
}

async fn open(
    app: App,
    kind: SocketKind,
    SocketAuth { caller, from, protocol, reference }: SocketAuth,
    Handshake { accept }: Handshake,
    Resume(last): Resume,
) -> Result<SwitchingProtocols, ApiError> {
    let present = app.socket_limiter.acquire(from).ok_or(Refusal::RateLimited(connection::SOCKET_RETRY_AFTER))?;
    let (socket, resumed) = app.auth.open_socket(&caller, kind, from, last).await?;
    let accepted = AcceptedSocket::new(socket, &caller, resumed, (present, reference));
    let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    if let Some(protocol) = protocol {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    response.extensions_mut().insert(PendingUpgrade::new(accepted));
    Ok(SwitchingProtocols(response))
}
