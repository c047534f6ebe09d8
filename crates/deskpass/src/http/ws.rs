//! The routes that open sockets. The traffic on a socket is handled in `connection`.

mod connection;
mod handshake;
mod token;

use axum::response::{IntoResponse, Response};
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
use crate::http::response::{DescribeOutput, OutputSpec};

/// The message after which to resume.
#[derive(FromFields)]
pub(crate) struct Resume(#[field(name = "last_id")] Option<MessageId>);

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
    SocketAuth { caller, from, protocol }: SocketAuth,
    Handshake { accept }: Handshake,
    Resume(last): Resume,
) -> Result<SwitchingProtocols, ApiError> {
    let present = app.socket_limiter.acquire(from).ok_or(Refusal::RateLimited(connection::SOCKET_RETRY_AFTER))?;
    let (socket, resumed) = app.auth.open_socket(&caller, kind, from, last).await?;
    let accepted = AcceptedSocket::new(app, socket, &caller, resumed, present);
    Ok(SwitchingProtocols { accept, protocol, upgrade: PendingUpgrade::new(accepted) })
}

/// The response that turns the connection into a socket.
pub(crate) struct SwitchingProtocols {
    accept: HeaderValue,
    protocol: Option<HeaderValue>,
    upgrade: PendingUpgrade,
}

impl IntoResponse for SwitchingProtocols {
    fn into_response(self) -> Response {
        let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_ACCEPT, self.accept);
        if let Some(protocol) = self.protocol {
            headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        response.extensions_mut().insert(self.upgrade);
        response
    }
}

impl DescribeOutput for SwitchingProtocols {
    fn describe_output(spec: &mut OutputSpec) {
        spec.switches = true;
    }
}
