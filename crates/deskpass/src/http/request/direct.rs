//! A request that is read from the bytes of its connection, without the HTTP library.

use std::net::IpAddr;

use deskpass_core::{ClientAddress, unlisted_proxy};
use httparse::Header;
use hyper::header::{
    AUTHORIZATION, CONNECTION, CONTENT_TYPE, EXPECT, HeaderName, ORIGIN, TRANSFER_ENCODING, UPGRADE,
};

use crate::App;
use crate::http::request::{FromFields, JSON, X_FORWARDED_FOR, parse_body};

/// The most headers of a request that is answered directly.
const MAX_HEADERS: usize = 32;

/// A complete request of the plainest form. Everything unusual is left to the HTTP library and the ordinary handlers.
#[derive(Debug)]
pub(crate) struct DirectRequest<'a> {
    headers: &'a [Header<'a>],
    body: &'a [u8],
    /// The address that decides about access.
    pub(crate) client: IpAddr,
}

impl DirectRequest<'_> {
    /// Reads a request whose framing was checked, and calls `answer` with it; `None` if it needs more than the plainest treatment.
    pub(crate) fn read<T>(
        app: &App,
        peer: IpAddr,
        bytes: &[u8],
        answer: impl FnOnce(&DirectRequest<'_>) -> Option<T>,
    ) -> Option<T> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut head = httparse::Request::new(&mut headers);
        let length = match head.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) | Err(_) => return None,
        };
        let body = bytes.get(length..)?;
        let unread = DirectRequest { headers: head.headers, body, client: peer };
        if !unread.is_plain() {
            return None;
        }
        let client = unread.client_address(app, peer)?;
        answer(&DirectRequest { client, ..unread })
    }

    /// The values of a header.
    pub(crate) fn values(&self, name: &HeaderName) -> impl Iterator<Item = &[u8]> {
        let name = name.as_str();
        let is_named = move |header: &&Header<'_>| header.name.eq_ignore_ascii_case(name);
        self.headers.iter().filter(is_named).map(|header| header.value)
    }

    /// The value of a header that was sent once.
    pub(crate) fn only_value(&self, name: &HeaderName) -> Option<&[u8]> {
        let mut values = self.values(name);
        values.next().filter(|_| values.next().is_none())
    }

    /// Whether a header was sent.
    pub(crate) fn has(&self, name: &HeaderName) -> bool {
        self.values(name).next().is_some()
    }

    /// The token of a request with one `Authorization` header in its usual form.
    pub(crate) fn bearer_token(&self) -> Option<&str> {
        str::from_utf8(self.only_value(&AUTHORIZATION)?).ok()?.strip_prefix("Bearer ")
    }

    /// The JSON body, if it is valid and its type is given in the usual form.
    pub(crate) fn json<T: FromFields>(&self, app: &App) -> Option<T> {
        let is_json = self.only_value(&CONTENT_TYPE)?.eq_ignore_ascii_case(JSON.as_bytes());
        let is_small = self.body.len() <= app.settings.server.max_body.bytes();
        (is_json && is_small).then(|| parse_body(self.body).ok()).flatten()
    }

    /// Whether a page of some origin sent it.
    pub(crate) fn has_origin(&self) -> bool {
        self.has(&ORIGIN)
    }

    /// Whether a request has no body.
    pub(crate) fn is_without_body(&self) -> bool {
        self.body.is_empty()
    }

    /// Whether the connection continues with the next request after the response, and nothing happens in between.
    fn is_plain(&self) -> bool {
        let keeps_alive = |value: &[u8]| value.eq_ignore_ascii_case(b"keep-alive");
        self.values(&CONNECTION).all(keeps_alive)
            && ![UPGRADE, EXPECT, TRANSFER_ENCODING].iter().any(|name| self.has(name))
    }

    /// The address of the client; `None` where the admission of the request has to be decided or noted.
    fn client_address(&self, app: &App, peer: IpAddr) -> Option<IpAddr> {
        if !self.has(&X_FORWARDED_FOR) {
            return Some(ClientAddress::read(peer, std::iter::empty(), &app.trusted).decided);
        }
        let forwarded: Option<Vec<_>> = self.values(&X_FORWARDED_FOR).map(|value| str::from_utf8(value).ok()).collect();
        let values = || forwarded.iter().flatten().copied();
        let is_listed = app.trusted.contains(peer) && unlisted_proxy(peer, values(), &app.trusted).is_none();
        (forwarded.is_some() && is_listed).then(|| ClientAddress::read(peer, values(), &app.trusted).decided)
    }
}
