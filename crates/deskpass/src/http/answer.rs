//! The way of every request: in, through the table, and out in its envelope.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::BoxError;
use axum::body::Body;
use axum::extract::FromRef;
use axum::response::{IntoResponse as _, Response};
use deskpass_core::HostNames;
use futures_util::FutureExt as _;
use hyper::body::{Body as HttpBody, Bytes};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};

use super::envelope::{self, Outcome};
use super::failure::{BadRequest, Failure, Telling, Telltale};
use super::malformed::MalformedHead;
use super::{Route, failure, gate, language, limit, page, routes};
use crate::Desk;
use crate::config::Language;
use crate::telemetry::Stopwatch;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What a handler and its extractors can ask of: the desk, and what the connection and the head say about this request.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(super) desk: Desk,
    pub(super) peer: IpAddr,
    pub(super) language: Language,
    /// What the path has in the places that its row leaves open, by their names.
    pub(super) named: Vec<(String, String)>,
}

impl FromRef<Window> for Desk {
    fn from_ref(window: &Window) -> Self {
        window.desk.clone()
    }
}

/// Answers requests, whatever they are.
#[derive(Debug)]
pub(crate) struct Answerer {
    desk: Desk,
    table: Vec<Route>,
    /// The rows of each path.
    paths: matchit::Router<Vec<usize>>,
    ids: RequestIds,
    /// The hosts that are answered to, in development mode.
    hosts: Option<HostNames>,
    /// What every enveloped answer says in its head; copied, since that is quicker than writing it anew.
    headers: HeaderMap,
    /// Where browsers reach the service by https: that they never use http again.
    strict_transport: Option<HeaderValue>,
}

/// For a year. Subdomains are not the service's business.
const STRICT_TRANSPORT: HeaderValue = HeaderValue::from_static("max-age=31536000");

impl Answerer {
    pub(crate) fn new(desk: Desk) -> Self {
        Self::with(desk, routes())
    }

    fn with(desk: Desk, table: Vec<Route>) -> Self {
        let mut paths: matchit::Router<Vec<usize>> = matchit::Router::new();
        for (row, route) in table.iter().enumerate() {
            match paths.at_mut(route.path) {
                Ok(found) => found.value.push(row),
                // A path that contradicts another one would not be found; the suite walks the table.
                Err(_) => drop(paths.insert(route.path, vec![row])),
            }
        }
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        guard(&mut headers);
        page::prepare();
        // A developer's browser would keep to https for everything on localhost, for a year.
        let strict = !desk.settings.development && desk.settings.public_url.starts_with("https://");
        let strict_transport = strict.then_some(STRICT_TRANSPORT);
        let hosts = desk.settings.development.then(|| desk.settings.hosts());
        Self { ids: RequestIds::new(&desk), hosts, desk, table, paths, headers, strict_transport }
    }

    /// Answers one request. Every way out of here has its envelope, its headers and its line in the metrics.
    pub(crate) async fn answer<B>(&self, peer: IpAddr, request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let watch = Stopwatch::start();
        let asked = self.read(&request);
        if !self.answers_to(&request) {
            return self.finish(Failure::UnknownHost.into_response(), asked, &watch);
        }
        let running = self.run(&asked, peer, request.map(Body::new));
        let ran = AssertUnwindSafe(running).catch_unwind().await;
        let response = ran.unwrap_or_else(|panic| Failure::unexpected(&panic_text(&*panic)).into_response());
        self.finish(response, asked, &watch)
    }

    /// Answers a request whose head HTTP does not allow. Nothing that it says is believed, and the connection ends.
    pub(crate) fn refuse(&self, malformed: MalformedHead) -> Response {
        let (id, language) = (self.ids.another(), self.desk.settings.default_language);
        let asked = Asked { id, language, rows: &[], named: Vec::new(), route: None };
        let failure = Failure::from(BadRequest::Head(malformed)).into_response();
        let mut response = self.finish(failure, asked, &Stopwatch::start());
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        response
    }

    /// Gives an answer its envelope, its headers and its line in the metrics.
    fn finish(&self, mut response: Response, asked: Asked<'_>, watch: &Stopwatch) -> Response {
        match response.extensions_mut().remove::<Outcome>() {
            Some(outcome) => self.fill(&mut response, outcome, &asked),
            None => guard(response.headers_mut()),
        }
        self.note(&asked, response.status(), watch.elapsed());
        response.headers_mut().insert(REQUEST_ID, asked.id);
        if let Some(strict) = &self.strict_transport {
            response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, strict.clone());
        }
        if self.desk.is_draining() && response.status() != StatusCode::SWITCHING_PROTOCOLS {
            // Whoever holds the connection learns of the end with an answer, not by a connection that breaks.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// Whether the request names a host that we answer to. In production the host decides nothing, since addresses and
    /// origins come from the settings, so that every name will do.
    fn answers_to<B>(&self, request: &Request<B>) -> bool {
        let Some(hosts) = &self.hosts else { return true };
        // Browsers always name a host. Where an absolute target names one, it is the same: others were refused before.
        let host = request.headers().get(header::HOST);
        host.is_none_or(|host| host.to_str().is_ok_and(|host| hosts.contain(host)))
    }

    /// Finds a request's place in the table.
    fn read<B>(&self, request: &Request<B>) -> Asked<'_> {
        let found = self.paths.at(request.uri().path());
        let (rows, named) = found.map_or((&[][..], Vec::new()), |found| {
            let named = found.params.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
            (found.value, named.collect())
        });
        // HEAD is a GET whose body the server leaves out, except where a GET leaves traces: whoever only looks must not.
        let head = request.method() == Method::HEAD;
        let method = if head { &Method::GET } else { request.method() };
        let mut routes = rows.iter().filter_map(|row| Some((*row, self.table.get(*row)?)));
        Asked {
            id: self.ids.of(request.headers()),
            language: language::preferred(request.headers(), self.desk.settings.default_language),
            route: routes.find(|(_, route)| route.method == method && !(head && route.leaves_traces)),
            rows,
            named,
        }
    }

    async fn run(&self, asked: &Asked<'_>, peer: IpAddr, request: Request<Body>) -> Response {
        if let Some(refusal) = gate::refusal(&self.desk, peer, &request) {
            return refusal.into_response();
        }
        match asked.route {
            Some((_, route)) if route.leaves_traces && is_prefetch(request.headers()) => {
                Failure::from(BadRequest::Prefetch).into_response()
            }
            Some((row, route)) => {
                let (desk, named) = (self.desk.clone(), asked.named.clone());
                let window = Window { desk, peer, language: asked.language, named };
                limit::within(&self.desk, route, request, window).await.unwrap_or_else(|wait| {
                    self.desk.metrics.limited(row);
                    Failure::Limited(wait).into_response()
                })
            }
            None => failure::astray(&self.desk, request.uri().path(), !asked.rows.is_empty()).into_response(),
        }
    }

    /// Puts the outcome into its envelope.
    fn fill(&self, response: &mut Response, outcome: Outcome, asked: &Asked<'_>) {
        let mut own = std::mem::replace(response.headers_mut(), self.headers.clone());
        if !own.is_empty() {
            // That of the empty body that the outcome travelled with.
            own.remove(header::CONTENT_LENGTH);
            response.headers_mut().extend(own);
        }
        let body = match outcome {
            Outcome::Data(envelope) | Outcome::No(envelope) => envelope::success(envelope, asked.id()),
            Outcome::Failure(failure) => {
                let mut telling = self.tell(&failure, asked);
                *response.status_mut() = telling.status;
                response.headers_mut().extend(std::mem::take(&mut telling.headers));
                if let Failure::NoSuchMethod = failure {
                    response.headers_mut().insert(header::ALLOW, self.allowed(asked));
                }
                envelope::failure(&telling, asked.id())
            }
        };
        *response.body_mut() = Body::from(body);
    }

    fn tell(&self, failure: &Failure, asked: &Asked<'_>) -> Telling {
        let phrase = asked.route.map_or(["Request failed", "请求失败"], |(_, route)| route.phrase);
        let reference = self.desk.reference();
        let ([what, _], request_id) = (phrase, asked.id());
        match failure {
            Failure::Internal(cause, detail) => {
                tracing::error!(?cause, detail, reference, request_id, what, "a request failed");
            }
            Failure::NotReady(state) => tracing::warn!(?state, reference, request_id, "not ready"),
            _ => {}
        }
        failure.tell(Telltale { language: asked.language, phrase, reference: &reference })
    }

    fn allowed(&self, asked: &Asked<'_>) -> HeaderValue {
        let methods = asked.rows.iter().filter_map(|row| self.table.get(*row)).map(|route| route.method.as_str());
        HeaderValue::from_str(&methods.collect::<Vec<_>>().join(", ")).unwrap_or(HeaderValue::from_static(""))
    }

    /// Counts and logs an answer under its row of the table, not under the path asked for: a stranger's words may hold
    /// anything, a token too.
    fn note(&self, asked: &Asked<'_>, status: StatusCode, elapsed: Duration) {
        self.desk.metrics.answered(asked.route.map(|(row, _)| row), status, elapsed);
        let route = asked.route.map_or("other", |(_, route)| route.path);
        tracing::debug!(route, status = status.as_u16(), ?elapsed, request_id = asked.id(), "answered");
    }
}

/// A request, as far as the way through the table needs it.
#[derive(Debug)]
struct Asked<'a> {
    id: HeaderValue,
    language: Language,
    /// The rows with its path.
    rows: &'a [usize],
    /// What the path has in the places that they leave open.
    named: Vec<(String, String)>,
    /// The one of them with its method.
    route: Option<(usize, &'a Route)>,
}

impl Asked<'_> {
    /// The request's name; it is plain text, whoever gave it.
    fn id(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }
}

/// The headers that keep an answer where it belongs.
fn guard(headers: &mut HeaderMap) {
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    let policy = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
}

/// Whether a browser only guesses that somebody might go there.
fn is_prefetch(headers: &HeaderMap) -> bool {
    let says =
        |name: &str, word: &str| headers.get(name).is_some_and(|value| value.as_bytes().starts_with(word.as_bytes()));
    says("sec-purpose", "prefetch") || says("purpose", "prefetch") || says("x-moz", "prefetch")
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("a handler panicked: {}", text.unwrap_or_default())
}

/// Names requests: as the client did, when it did so in plain characters, else by a number of our own.
#[derive(Debug)]
struct RequestIds {
    process: String,
    next: AtomicU64,
}

impl RequestIds {
    fn new(desk: &Desk) -> Self {
        // Two processes should not name their requests alike; nothing depends on it.
        let process = desk.auth.entropy.bytes::<4>().map_or(0, u32::from_be_bytes);
        Self { process: format!("{process:08x}-"), next: AtomicU64::new(1) }
    }

    fn of(&self, headers: &HeaderMap) -> HeaderValue {
        let plain = |id: &&HeaderValue| {
            let id = id.as_bytes();
            (1..=64).contains(&id.len()) && id.iter().all(|c| c.is_ascii_alphanumeric() || b"._-".contains(c))
        };
        match headers.get(&REQUEST_ID).filter(plain) {
            Some(id) => id.clone(),
            None => self.another(),
        }
    }

    fn another(&self) -> HeaderValue {
        let mut digits = itoa::Buffer::new();
        let number = digits.format(self.next.fetch_add(1, Ordering::Relaxed));
        let id = [self.process.as_str(), number].concat();
        HeaderValue::try_from(id).unwrap_or(HeaderValue::from_static("unnamed"))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at the first surprise")]
mod tests {
    use http_body_util::BodyExt as _;

    use super::super::{Limit, Who};
    use super::*;

    /// A desk in a directory of its own, whose table has one more row: a handler that panics.
    async fn panicking(directory: &std::path::Path) -> Answerer {
        let data = directory.display().to_string();
        let overrides = [("data", data), ("development.enabled", "true".into())];
        let overrides = overrides.map(|(key, value)| crate::config::Override { key, value, flag: "a test" }).into();
        let nothing = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
        let sources = crate::config::Sources { file: None, environment: Vec::new(), overrides, read: &nothing };
        let desk = Desk::open(crate::config::load(&sources).unwrap()).await.unwrap();
        #[expect(clippy::panic, reason = "what the test is about")]
        let bang = || async { panic!("dpa_secret in a panic") as Failure };
        let mut table = routes();
        table.push(Route::new(Method::GET, "/api/bang", Who::Anyone, Limit::Free, ["Bang", "砰"], bang));
        Answerer::with(desk, table)
    }

    #[tokio::test]
    async fn a_panic_is_an_answer() {
        let directory = tempfile::tempdir().unwrap();
        let answerer = panicking(directory.path()).await;
        for _ in 0..3 {
            let request = Request::get("/api/bang").header("x-request-id", "r-1").body(Body::empty()).unwrap();
            let response = answerer.answer([127, 0, 0, 1].into(), request).await;
            assert_eq!(response.status(), 500);
            let body = response.into_body().collect().await.unwrap().to_bytes();
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["code"], 1005);
            assert_eq!(body["request_id"], "r-1");
            let message = body["message"].as_str().unwrap();
            assert!(message.starts_with("Bang: unexpected error (ref "), "{message}");
            assert!(!message.contains("secret"));
        }
    }
}
