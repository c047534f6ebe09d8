//! A request that is read from the bytes of its connection, without the HTTP library.

use std::net::IpAddr;

use deskpass_core::{ClientAddress, unlisted_proxy};
use httparse::Header;

use crate::App;
use crate::http::request::{FromFields, JSON, parse_body};

/// The most headers of a request that is answered directly.
const MAX_HEADERS: usize = 32;

/// A complete request of the plainest form. Everything unusual is left to the HTTP library and the ordinary handlers.
#[derive(Debug)]
pub(crate) struct DirectRequest<'a> {
    headers: DirectHeaders<'a>,
    body: &'a [u8],
    /// The address that decides about access.
    pub(crate) client: IpAddr,
}

/// The headers that matter here.
#[derive(Clone, Copy, Debug, Default)]
struct DirectHeaders<'a> {
    host: Option<&'a [u8]>,
    authorization: Option<&'a [u8]>,
    content_type: Option<&'a [u8]>,
    request_id: Option<&'a [u8]>,
    trace_parent: Option<&'a [u8]>,
    forwarded_for: Option<&'a [u8]>,
    content_length: Option<&'a [u8]>,
    has_origin: bool,
}

impl<'a> DirectHeaders<'a> {
    /// Reads the headers; `None` if one of them needs more than the plainest treatment: a repeated one, or one that concerns the
    /// connection.
    fn read(headers: &[Header<'a>]) -> Option<Self> {
        let mut read = Self::default();
        for Header { name, value } in headers {
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            match name.len() {
                4 if is("host") => read.host = Some(value),
                6 if is("origin") => read.has_origin = true,
                6 if is("expect") => return None,
                7 if is("upgrade") => return None,
                10 if is("connection") && !value.eq_ignore_ascii_case(b"keep-alive") => return None,
                11 if is("traceparent") => set_once(&mut read.trace_parent, value)?,
                12 if is("content-type") => set_once(&mut read.content_type, value)?,
                12 if is("x-request-id") => set_once(&mut read.request_id, value)?,
                13 if is("authorization") => set_once(&mut read.authorization, value)?,
                14 if is("content-length") => set_once(&mut read.content_length, value)?,
                15 if is("x-forwarded-for") => set_once(&mut read.forwarded_for, value)?,
                17 if is("transfer-encoding") => return None,
                _ => {}
            }
        }
        Some(read)
    }
}

fn parse_length(value: &[u8]) -> Result<usize, ()> {
    str::from_utf8(value).map_err(drop)?.parse().map_err(drop)
}

fn set_once<'a>(slot: &mut Option<&'a [u8]>, value: &'a [u8]) -> Option<()> {
    slot.replace(value).is_none().then_some(())
}

impl<'a> DirectRequest<'a> {
    /// Reads a request whose framing was checked; `None` if it needs more than the plainest treatment.
    pub(crate) fn read(app: &App, peer: IpAddr, bytes: &'a [u8]) -> Option<Self> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut head = httparse::Request::new(&mut headers);
        let length = match head.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) | Err(_) => return None,
        };
        let (headers, body) = (DirectHeaders::read(head.headers)?, bytes.get(length..)?);
        // The framing has ensured it; nothing but one whole request may ever be answered here.
        if headers.content_length.map_or(Ok(0), parse_length) != Ok(body.len()) {
            return None;
        }
        Some(Self { headers, body, client: client_address(app, peer, headers.forwarded_for)? })
    }

    /// The host that it names.
    pub(crate) fn host(&self) -> Option<&'a [u8]> {
        self.headers.host
    }

    /// The id that the client chose.
    pub(crate) fn id(&self) -> Option<&'a [u8]> {
        self.headers.request_id
    }

    /// The trace of the caller.
    pub(crate) fn trace_parent(&self) -> Option<&'a [u8]> {
        self.headers.trace_parent
    }

    /// The token in an `Authorization` header of the usual form.
    pub(crate) fn token(&self) -> Option<&'a str> {
        str::from_utf8(self.headers.authorization?).ok()?.strip_prefix("Bearer ")
    }

    /// The JSON body, if it is valid and its type is given in the usual form.
    pub(crate) fn json<T: FromFields>(&self, app: &App) -> Option<T> {
        let is_json = self.headers.content_type?.eq_ignore_ascii_case(JSON.as_bytes());
        let is_small = self.body.len() <= app.settings.server.max_body.bytes();
        (is_json && is_small).then(|| parse_body(self.body).ok()).flatten()
    }

    /// Whether a page of some origin sent it.
    pub(crate) fn has_origin(&self) -> bool {
        self.headers.has_origin
    }

    /// Whether it has no body.
    pub(crate) fn is_without_body(&self) -> bool {
        self.body.is_empty()
    }
}

/// The address of the client; `None` where the admission of the request has to be decided or noted.
fn client_address(app: &App, peer: IpAddr, forwarded_for: Option<&[u8]>) -> Option<IpAddr> {
    let Some(value) = forwarded_for else {
        return Some(ClientAddress::read(peer, std::iter::empty(), &app.trusted).decided);
    };
    let text = str::from_utf8(value).ok()?;
    let values = || std::iter::once(text);
    let is_listed = app.trusted.contains(peer) && unlisted_proxy(peer, values(), &app.trusted).is_none();
    is_listed.then(|| ClientAddress::read(peer, values(), &app.trusted).decided)
}
