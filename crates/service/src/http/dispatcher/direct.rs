//! Answers to frequent requests, written as bytes without the HTTP library.
//!
//! A program that serves people asks for the holder of a token again and again: `verify`, `me`, `userinfo`. With everything in
//! memory, reading the request and writing the response by way of the library and of general handlers costs several times what the
//! answer itself costs. So these routes have a second, direct handler, which answers a plain request or leaves it to the ordinary
//! way. Both ways use the same functions, and a test compares their answers.

mod attempts;
mod date;

use std::net::IpAddr;
use std::time::Instant;

use deskpass_core::{Clock, TraceParent, concatenated};
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderValue, STRICT_TRANSPORT_SECURITY};

pub(crate) use self::attempts::DirectAttempts;
use self::date::with_date;
use super::request_ids::REQUEST_ID;
use super::security_headers::add_security_headers;
use super::{Dispatcher, hosts};
use crate::App;
use crate::http::oidc::userinfo;
use crate::http::request::{DirectRequest, trace_span};
use crate::http::response::{DirectReply, envelope};
use crate::http::route::{DirectHandler, Route};
use crate::telemetry::Stopwatch;

/// The routes with a direct handler, and the beginnings of their responses.
#[derive(Debug)]
pub(super) struct DirectRoutes {
    routes: Vec<DirectRoute>,
    /// The head of an enveloped response up to the value of the request id.
    envelope_head: Vec<u8>,
    /// The same for OpenID Connect endpoints.
    oidc_head: Vec<u8>,
}

#[derive(Debug)]
struct DirectRoute {
    /// The first line of a request.
    request_line: Vec<u8>,
    row: usize,
    handler: DirectHandler,
}

/// A response as bytes.
#[derive(Debug)]
pub(crate) struct DirectAnswer {
    pub(crate) bytes: Vec<u8>,
    /// When it was ready. From then on, the connection waits for its client.
    pub(crate) ready_at: Instant,
}

impl DirectRoutes {
    pub(super) fn new(table: &[Route], envelope: &HeaderMap, strict_transport: Option<&HeaderValue>) -> Self {
        let direct = |(row, route): (usize, &Route)| {
            let request_line = format!("{} {} HTTP/1.1\r\n", route.method, route.path).into_bytes();
            Some(DirectRoute { request_line, row, handler: route.direct? })
        };
        let mut oidc = userinfo::headers();
        add_security_headers(&mut oidc);
        Self {
            routes: table.iter().enumerate().filter_map(direct).collect(),
            envelope_head: response_head(envelope.clone(), strict_transport),
            oidc_head: response_head(oidc, strict_transport),
        }
    }

    fn find(&self, request: &[u8]) -> Option<&DirectRoute> {
        self.routes.iter().find(|route| request.starts_with(&route.request_line))
    }
}

/// The head of a successful response up to the value of the request id.
fn response_head(mut headers: HeaderMap, strict_transport: Option<&HeaderValue>) -> Vec<u8> {
    headers.extend(strict_transport.map(|strict| (STRICT_TRANSPORT_SECURITY, strict.clone())));
    let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
    for (name, value) in &headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
    head.extend_from_slice(REQUEST_ID.as_str().as_bytes());
    head.extend_from_slice(b": ");
    head
}

impl Dispatcher {
    /// The response to a complete request whose framing was checked, if its route has a direct handler and that can answer it from
    /// memory. `None` for every other request, which then takes the ordinary way.
    pub(crate) fn answer_directly(
        &self,
        app: &App,
        peer: IpAddr,
        request: &[u8],
        attempts: &mut DirectAttempts,
    ) -> Option<DirectAnswer> {
        let route = self.direct.find(request)?;
        // The last response of a connection has another head.
        if app.is_draining() || !attempts.is_due() {
            return None;
        }
        let answer = self.try_route(route, app, peer, request);
        attempts.record(answer.is_some());
        answer
    }

    fn try_route(&self, route: &DirectRoute, app: &App, peer: IpAddr, request: &[u8]) -> Option<DirectAnswer> {
        let watch = Stopwatch::start();
        let request = DirectRequest::read(app, peer, request)?;
        if !hosts::is_listed(app, request.host()) || request.is_cross_site() {
            return None;
        }
        let parent = request.trace_parent().and_then(TraceParent::parse);
        trace_span(parent.as_ref()).in_scope(|| {
            let reply = (route.handler)(app, &request)?;
            let (_, id) = self.ids.id_for(request.id());
            let (elapsed, ready_at) = watch.stop();
            self.record(Some(route.row), StatusCode::OK, elapsed, &id);
            app.metrics.count_direct_response();
            let bytes = self.direct.render(reply, &id, (&app.auth.clock, ready_at));
            Some(DirectAnswer { bytes, ready_at })
        })
    }
}

impl DirectRoutes {
    /// The bytes of a response.
    fn render(&self, reply: DirectReply, id: &str, now: (&Clock, Instant)) -> Vec<u8> {
        match reply {
            DirectReply::Envelope(open) => {
                let [name, id, end] = envelope::request_id_member(id);
                response(&self.envelope_head, id, now, [&*open, name.as_bytes(), id.as_bytes(), end.as_bytes()])
            }
            DirectReply::Oidc(claims) => response(&self.oidc_head, id, now, [&*claims, b"", b"", b""]),
        }
    }
}

/// The bytes of a response whose body has these parts.
fn response(head: &[u8], id: &str, (clock, now): (&Clock, Instant), body: [&[u8]; 4]) -> Vec<u8> {
    let [first, second, third, fourth] = body;
    let mut length = itoa::Buffer::new();
    let length = length.format(first.len() + second.len() + third.len() + fourth.len()).as_bytes();
    with_date(clock, now, |date| {
        let date = date.as_bytes();
        concatenated(&[
            head,
            id.as_bytes(),
            b"\r\ncontent-length: ",
            length,
            b"\r\ndate: ",
            date,
            b"\r\n\r\n",
            first,
            second,
            third,
            fourth,
        ])
    })
}
