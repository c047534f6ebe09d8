//! Sockets: how they are asked for. What is said on them is the line's business.

mod handshake;
mod line;
mod token;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use deskpass_core::{MessageId, SocketKind};
use hyper::StatusCode;
use hyper::header::{CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_PROTOCOL, UPGRADE};

use self::handshake::Handshake;
pub(crate) use self::line::Onward;
use self::line::Opened;
use self::token::Connecting;
use super::failure::Failure;
use super::fields::{Ask, Fields};
use super::openapi::{Answers, Asks, Sheet};
use super::query::Query;
use crate::Desk;

/// From where to go on.
pub(super) struct Resume(Option<MessageId>);

impl Ask for Resume {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self(fields.maybe_message("last_id")?))
    }
}

/// Opens a socket of the employees' client.
pub(super) async fn employee(
    State(desk): State<Desk>,
    connecting: Connecting,
    handshake: Handshake,
    Query(resume): Query<Resume>,
) -> Result<Switch, Failure> {
    open(desk, SocketKind::Employee, connecting, handshake, resume).await
}

/// Opens a socket of the agents' client.
pub(super) async fn agent(
    State(desk): State<Desk>,
    connecting: Connecting,
    handshake: Handshake,
    Query(resume): Query<Resume>,
) -> Result<Switch, Failure> {
    open(desk, SocketKind::Agent, connecting, handshake, resume).await
}

async fn open(
    desk: Desk,
    kind: SocketKind,
    Connecting { caller, from, protocol }: Connecting,
    Handshake { accept }: Handshake,
    Resume(last): Resume,
) -> Result<Switch, Failure> {
    let present = desk.connected.enter(from).ok_or(Failure::Limited(line::ROOM))?;
    let (socket, resumed) = desk.auth.open_socket(&caller, kind, from, last).await?;
    let opened = Opened::new(desk, socket, &caller, resumed, present);
    Ok(Switch { accept, protocol, onward: Onward::new(opened) })
}

/// An answer after which the connection is a socket.
pub(super) struct Switch {
    accept: HeaderValue,
    protocol: Option<HeaderValue>,
    onward: Onward,
}

impl IntoResponse for Switch {
    fn into_response(self) -> Response {
        let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_ACCEPT, self.accept);
        if let Some(protocol) = self.protocol {
            headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        response.extensions_mut().insert(self.onward);
        response
    }
}

impl Answers for Switch {
    fn answers(sheet: &mut Sheet) {
        sheet.switches();
    }
}

impl Asks for Handshake {
    fn asks(_: &mut Sheet) {}
}
