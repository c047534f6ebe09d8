//! A request that is read from the bytes of its connection, without the HTTP library.

use std::net::IpAddr;

use deskpass_core::framing::PlainRequest;
use deskpass_core::{ClientAddress, unlisted_proxy};

use crate::App;
use crate::http::request::{FromFields, JSON, parse_body};

/// A complete request of the plainest form. Everything unusual is left to the HTTP library and the ordinary handlers.
#[derive(Debug)]
pub(crate) struct DirectRequest<'a> {
    plain: PlainRequest<'a>,
    /// The address that decides about access.
    pub(crate) client: IpAddr,
}

impl<'a> DirectRequest<'a> {
    /// Reads a request whose framing was checked; `None` if it needs more than the plainest treatment.
    pub(crate) fn read(app: &App, peer: IpAddr, bytes: &'a [u8]) -> Option<Self> {
        let plain = PlainRequest::read(bytes)?;
        Some(Self { client: client_address(app, peer, plain.forwarded_for)?, plain })
    }

    /// The host that it names.
    pub(crate) fn host(&self) -> Option<&'a [u8]> {
        self.plain.host
    }

    /// The id that the client chose.
    pub(crate) fn id(&self) -> Option<&'a [u8]> {
        self.plain.request_id
    }

    /// The trace of the caller.
    pub(crate) fn trace_parent(&self) -> Option<&'a [u8]> {
        self.plain.trace_parent
    }

    /// The token in an `Authorization` header of the usual form.
    pub(crate) fn token(&self) -> Option<&'a str> {
        str::from_utf8(self.plain.authorization?).ok()?.strip_prefix("Bearer ")
    }

    /// The JSON body, if it is valid and its type is given in the usual form.
    pub(crate) fn json<T: FromFields>(&self, app: &App) -> Option<T> {
        let is_json = self.plain.content_type?.eq_ignore_ascii_case(JSON.as_bytes());
        let is_small = self.plain.body.len() <= app.settings.server.max_body.bytes();
        (is_json && is_small).then(|| parse_body(self.plain.body).ok()).flatten()
    }

    /// Whether a page of some origin sent it.
    pub(crate) fn has_origin(&self) -> bool {
        self.plain.has_origin
    }

    /// Whether a page of another site sent it.
    pub(crate) fn is_cross_site(&self) -> bool {
        self.plain.is_cross_site
    }

    /// Whether it has no body.
    pub(crate) fn is_without_body(&self) -> bool {
        self.plain.body.is_empty()
    }
}

/// The address of the client; `None` where the admission of the request has to be decided or noted.
fn client_address(app: &App, peer: IpAddr, forwarded_for: Option<&[u8]>) -> Option<IpAddr> {
    // Without the header, it is that of the connection, whether that is a trusted proxy or not.
    let Some(value) = forwarded_for else { return Some(peer.to_canonical()) };
    let text = str::from_utf8(value).ok()?;
    let values = || std::iter::once(text);
    let is_listed = app.trusted.contains(peer) && unlisted_proxy(peer, values(), &app.trusted).is_none();
    is_listed.then(|| ClientAddress::read(peer, values(), &app.trusted).decided)
}
