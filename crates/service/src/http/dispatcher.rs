//! Dispatches every request: finds its route, runs the handler, and renders the response.

mod error_pages;
mod hosts;
pub(super) mod navigation;
mod request_ids;
mod security_headers;

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use axum::BoxError;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use deskpass_auth::Refusal;
use futures_util::FutureExt as _;
use hyper::body::{Body as HttpBody, Bytes};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, StatusCode};
use tracing::Instrument as _;

use self::navigation::{is_foreign, is_navigation, is_prefetch};
use self::request_ids::{REQUEST_ID, RequestIds};
use self::security_headers::add_security_headers;
use crate::App;
use crate::config::Language;
use crate::connection_state::ConnectionState;
use crate::http::error::{ApiError, BadRequest, ErrorInfo};
use crate::http::head_rules::{self, MalformedHead};
use crate::http::request::{RequestContext, RequestTrace, RequiredAccess, X_FORWARDED_FOR, client_address, language};
use crate::http::response::{ClientMistake, ErrorBody, ErrorContext, Outcome, envelope, oauth_body};
use crate::http::route::{RateLimit, Route};
use crate::http::routes::routes;
use crate::http::{admission, api_document, auth::code_claims, held_refusals, high_risk, pages, rate_limit};
use crate::telemetry::{RouteLabels, RouteMetrics, Stopwatch};

/// Responds to all requests. The service is passed with each: a reload replaces it, and a request keeps the one it began with.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    table: Vec<Route>,
    route_metrics: RouteMetrics,
    /// The rows of each path.
    paths: matchit::Router<Vec<usize>>,
    ids: RequestIds,
    /// The headers of every enveloped response; copied, since that is faster than building them.
    headers: HeaderMap,
    /// HSTS, where browsers reach the service by https.
    strict_transport: Option<HeaderValue>,
}

/// For a year. Subdomains are not included, since they belong to other services.
const STRICT_TRANSPORT: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// The paths for OpenID Connect clients, which know the bodies of the standards only.
const OAUTH_ROOTS: [&str; 2] = ["/oidc", "/.well-known"];

impl Dispatcher {
    pub(crate) fn new(app: &App) -> Self {
        Self::with(app, routes())
    }

    fn with(app: &App, table: Vec<Route>) -> Self {
        let mut paths: matchit::Router<Vec<usize>> = matchit::Router::new();
        for (row, route) in table.iter().enumerate() {
            match paths.at_mut(route.path) {
                Ok(found) => found.value.push(row),
                // A path that conflicts with another would be unreachable; tests check every row of the table.
                Err(_) => drop(paths.insert(route.path, vec![row])),
            }
        }
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        add_security_headers(&mut headers);
        // In development mode a browser would require https for everything on localhost, for a year.
        let strict = !app.settings.development.enabled && app.settings.public_url.starts_with("https://");
        let strict_transport = strict.then_some(STRICT_TRANSPORT);
        let route_metrics = app.metrics.for_routes(table.iter().map(|route| RouteLabels {
            method: route.method.to_string(),
            path: route.path,
            is_limited: route.limit != RateLimit::Unlimited,
        }));
        Self { ids: RequestIds::new(app), table, route_metrics, paths, headers, strict_transport }
    }

    /// Responds to a request whose head the HTTP library has read.
    pub(crate) async fn answer<B>(
        &self,
        app: &App,
        peer: IpAddr,
        connection: &ConnectionState,
        request: Request<B>,
    ) -> Response
    where
        B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        match head_rules::check(&request) {
            Ok(()) => self.dispatch(app, peer, connection, request).await,
            Err(malformed) => self.reject_malformed(app, peer, malformed),
        }
    }

    /// Responds to a request. Every response gets its envelope, its headers, and its entry in the metrics here.
    async fn dispatch<B>(&self, app: &App, peer: IpAddr, connection: &ConnectionState, request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let watch = Stopwatch::start();
        let matched = self.match_route(app, peer, &request);
        let span = matched.trace.span();
        let route = matched.route.map(|(_, route)| route);
        let is_accepted = hosts::accepts(app, peer, route, request.headers());
        // Claimed under a refused host, too: the code is in that address.
        let claimed = code_claims::claim_query(app, peer, request.map(Body::new)).instrument(span.clone()).await;
        let unknown_host = ApiError::UnknownHost { development: app.settings.development.enabled };
        let request = match if is_accepted { claimed } else { Err(unknown_host) } {
            Ok(request) => request,
            Err(refused) => {
                self.count_if_limited(&refused, &matched);
                return span.in_scope(|| self.finish(app, refused.into_response(), matched, &watch));
            }
        };
        let running = self.run(app, &matched, peer, connection, request).instrument(span.clone());
        let ran = AssertUnwindSafe(running).catch_unwind().await;
        let response = ran.unwrap_or_else(|panic| ApiError::unexpected(&panic_text(&*panic)).into_response());
        span.in_scope(|| self.finish(app, response, matched, &watch))
    }

    /// Responds to a request with a malformed head. No part of the head is trusted, and the connection is closed.
    fn reject_malformed(&self, app: &App, peer: IpAddr, malformed: MalformedHead) -> Response {
        let (reference, id) = self.ids.next_id();
        let id = request_ids::header(id);
        let (language, trace) = (app.settings.default_language, RequestTrace::new(reference));
        let origin = RequestOrigin { peer, forwarded: Vec::new() };
        let (rows, path_params, route): (&[usize], _, _) = (&[], Vec::new(), None);
        let (is_oauth, visit) = (false, None);
        let matched = MatchedRequest { id, trace, language, origin, rows, path_params, route, is_oauth, visit };
        let failure = ApiError::from(BadRequest::Head(malformed)).into_response();
        let mut response = self.finish(app, failure, matched, &Stopwatch::start());
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        response
    }

    fn count_if_limited(&self, refused: &ApiError, matched: &MatchedRequest<'_>) {
        if let (ApiError::Refused(Refusal::RateLimited(_)), Some((row, _))) = (refused, matched.route) {
            self.route_metrics.count_rate_limited(row);
        }
    }

    /// Adds the envelope, the headers, and the entry in the metrics to a response.
    fn finish(&self, app: &App, mut response: Response, matched: MatchedRequest<'_>, watch: &Stopwatch) -> Response {
        if let Some(error) = response.extensions_mut().remove::<ApiError>() {
            self.fill_error(app, &mut response, &error, &matched);
        } else if let Some(outcome) = response.extensions_mut().remove::<Outcome>() {
            let (Outcome::Success(envelope) | Outcome::Negative(envelope)) = outcome;
            self.set_envelope_headers(&mut response);
            *response.body_mut() = Body::from(envelope::close_envelope(envelope, matched.id()));
        } else {
            if let Some(mistake) = response.extensions_mut().remove::<ClientMistake>() {
                error_pages::log(app, mistake, matched.origin.client(app), matched.trace.reference, matched.id());
            }
            add_security_headers(response.headers_mut());
        }
        self.record(matched.route.map(|(row, _)| row), response.status(), watch.elapsed(), matched.id());
        response.headers_mut().insert(REQUEST_ID, matched.id);
        if let Some(strict) = &self.strict_transport {
            response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, strict.clone());
        }
        if app.is_draining() && response.status() != StatusCode::SWITCHING_PROTOCOLS {
            // Closes the connection with a regular response, so that the client does not see it break later.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// Finds the route of a request.
    fn match_route<B>(&self, app: &App, peer: IpAddr, request: &Request<B>) -> MatchedRequest<'_> {
        let found = self.paths.at(request.uri().path());
        let (rows, path_params) = found.map_or((&[][..], Vec::new()), |found| {
            let path_params = found.params.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
            (found.value, path_params.collect())
        });
        // HEAD is a GET without a body, except on routes whose GET has side effects: HEAD must not have any.
        let head = request.method() == Method::HEAD;
        let method = if head { &Method::GET } else { request.method() };
        let mut routes = rows.iter().filter_map(|row| Some((*row, self.table.get(*row)?)));
        let route = routes.find(|(_, route)| route.method == method && !(head && route.has_side_effects));
        let is_visit = route.is_some_and(|(_, route)| route.is_visited) && pages::prefers_html(request.headers());
        let (reference, id) = self.ids.id_for(request.headers().get(REQUEST_ID).map(HeaderValue::as_bytes));
        let forwarded = request.headers().get_all(X_FORWARDED_FOR).iter().cloned().collect();
        MatchedRequest {
            id: request_ids::header(id),
            origin: RequestOrigin { peer, forwarded },
            trace: RequestTrace::of_request(reference, request.headers()),
            language: language::of_request(request.headers(), app.settings.default_language),
            route,
            rows,
            path_params,
            is_oauth: OAUTH_ROOTS.iter().any(|root| is_below(request.uri().path(), root)),
            visit: is_visit.then(|| request.headers().clone()),
        }
    }

    async fn run(
        &self,
        app: &App,
        matched: &MatchedRequest<'_>,
        peer: IpAddr,
        connection: &ConnectionState,
        request: Request<Body>,
    ) -> Response {
        if let Some(refusal) = admission::check(app, peer, &request) {
            return refusal.into_response();
        }
        match matched.route {
            Some((_, route)) if is_foreign(route, request.headers()) => ApiError::OtherSite.into_response(),
            Some((_, route)) if route.has_side_effects && is_prefetch(request.headers()) => {
                ApiError::from(BadRequest::Prefetch).into_response()
            }
            Some((_, route)) if route.is_visited && !is_navigation(request.headers()) => {
                Box::pin(navigation::answer_other(app, route, request.headers(), request.uri())).await
            }
            Some((row, route)) => {
                let path_params = matched.path_params.clone();
                let (language, development) = (matched.language, app.settings.development.enabled);
                let api_description: fn() -> &'static str =
                    if development { api_document::description } else { api_document::production_description };
                let trace = matched.trace.clone();
                let context = RequestContext {
                    app: app.clone(),
                    peer,
                    connection: connection.clone(),
                    language,
                    trace,
                    path_params,
                    api_description,
                    high_risk: high_risk::operation,
                };
                let limited = rate_limit::run_limited(app, route, request, context).await;
                let response = limited.unwrap_or_else(|wait| {
                    self.route_metrics.count_rate_limited(row);
                    ApiError::from(Refusal::RateLimited(wait)).into_response()
                });
                held_refusals::hold(app, peer, response).await
            }
            None => unmatched(app, matched, &request),
        }
    }

    /// Sets the headers of an enveloped response; headers that the handler set are kept.
    fn set_envelope_headers(&self, response: &mut Response) {
        let mut own = std::mem::replace(response.headers_mut(), self.headers.clone());
        if !own.is_empty() {
            // The length of the empty placeholder body.
            own.remove(header::CONTENT_LENGTH);
            response.headers_mut().extend(own);
        }
    }

    /// Renders an error into its envelope, below the paths of OpenID Connect into the body of OAuth 2.0, and for people there into a
    /// page if it is a failure that will pass.
    fn fill_error(&self, app: &App, response: &mut Response, error: &ApiError, matched: &MatchedRequest<'_>) {
        let mut error_body = render_error(app, error, matched);
        if let Some(page) = matched.failure_page(app, error_body.status) {
            *response = page;
            response.headers_mut().extend(error_body.headers);
            add_security_headers(response.headers_mut());
            return;
        }
        self.set_envelope_headers(response);
        *response.status_mut() = error_body.status;
        response.headers_mut().extend(std::mem::take(&mut error_body.headers));
        if let ApiError::MethodNotAllowed = error {
            response.headers_mut().insert(header::ALLOW, self.allowed_methods(matched));
        }
        *response.body_mut() = Body::from(if matched.is_oauth {
            oauth_body(error, error_body.status, matched.trace.reference)
        } else {
            envelope::error_envelope(&error_body, matched.id()).into()
        });
    }

    fn allowed_methods(&self, matched: &MatchedRequest<'_>) -> HeaderValue {
        let methods = matched.rows.iter().filter_map(|row| self.table.get(*row)).map(|route| route.method.as_str());
        HeaderValue::from_str(&methods.collect::<Vec<_>>().join(", ")).unwrap_or(HeaderValue::from_static(""))
    }

    /// Counts and logs a response under its row of the table. The requested path is not logged, since it may contain a token.
    fn record(&self, row: Option<usize>, status: StatusCode, elapsed: Duration, request_id: &str) {
        self.route_metrics.record_response(row, status, elapsed);
        let route = row.and_then(|row| self.table.get(row)).map_or("other", |route| route.path);
        let micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        tracing::debug!(route, status = status.as_u16(), micros, request_id, "answered");
    }
}

/// A request and its match in the route table.
#[derive(Debug)]
struct MatchedRequest<'a> {
    id: HeaderValue,
    trace: RequestTrace,
    language: Language,
    origin: RequestOrigin,
    /// The rows with its path.
    rows: &'a [usize],
    /// The parameters of the path.
    path_params: Vec<(String, String)>,
    /// The row that has its method, too.
    route: Option<(usize, &'a Route)>,
    /// Whether its errors have the body of OAuth 2.0 instead of the envelope.
    is_oauth: bool,
    /// The headers of a browser whose user goes to an address for people.
    visit: Option<HeaderMap>,
}

/// Where a request comes from. The address of its client is read only where it is needed.
#[derive(Debug)]
struct RequestOrigin {
    peer: IpAddr,
    /// The values of `X-Forwarded-For`.
    forwarded: Vec<HeaderValue>,
}

impl RequestOrigin {
    fn client(&self, app: &App) -> IpAddr {
        client_address(app, self.peer, self.forwarded.iter()).decided
    }
}

impl MatchedRequest<'_> {
    /// The request id; it is always ASCII, even when the client chose it.
    fn id(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }

    /// The page for a user who can only try again later.
    fn failure_page(&self, app: &App, status: StatusCode) -> Option<Response> {
        let passes = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
        let headers = self.visit.as_ref().filter(|_| passes)?;
        pages::try_later(app, status, self.language, headers)
    }
}

/// Renders an error, and logs it if it is a failure of the service.
fn render_error(app: &App, failure: &ApiError, matched: &MatchedRequest<'_>) -> ErrorBody {
    let error_title = matched.route.map_or(["Request failed", "请求失败"], |(_, route)| route.error_title);
    let reference = matched.trace.reference;
    let ([what, _], request_id) = (error_title, matched.id());
    let is_admitted = || app.failure_log.admits(app.auth.clock.now());
    match failure {
        ApiError::Internal(cause, detail) if is_admitted() => {
            let employee = matched.trace.employee().map(tracing::field::display);
            tracing::error!(%cause, detail, employee, %reference, request_id, what, "request failed");
        }
        ApiError::NotReady(state) if is_admitted() => {
            let [cause, _] = state.cause();
            tracing::warn!(cause, %reference, request_id, "not ready");
        }
        ApiError::Internal(..) | ApiError::NotReady(_) => {}
        refused => log_refusal(app, refused, matched),
    }
    let (language, platform) = (matched.language, app.settings.platform.kind);
    failure.render(ErrorContext { language, platform, error_title, reference })
}

/// Writes a line about a refusal that has none from its flow: the page may have shown its reference.
fn log_refusal(app: &App, refused: &ApiError, matched: &MatchedRequest<'_>) {
    let (employee, reference) = (matched.trace.employee(), matched.trace.reference);
    let (auth, now) = (&app.auth, app.auth.clock.now());
    // An answer with an id that the client chose has no reference: this line has both.
    let is_logged = auth.logged_references.contain(reference) && matched.id().starts_with(&reference.to_string());
    // Where anyone may call, the employee is only claimed.
    let anyone = matched.route.is_none_or(|(_, route)| route.access == RequiredAccess::Anyone);
    if refused.is_self_evident() || is_logged {
        return;
    }
    let is_admitted = if employee.is_some() && !anyone {
        app.failure_log.admits_refusal_of_user(now)
    } else {
        app.failure_log.admits_anonymous_refusal(matched.origin.client(app), now)
    };
    if !is_admitted {
        return;
    }
    // Not the message: it may repeat a text of the client, even a token from the wrong field.
    let ErrorInfo { code, reason, .. } = refused.info();
    let (description, client_id, request_id) = (refused.oauth_description(), matched.trace.client(), matched.id());
    let (employee, route) = (employee.map(tracing::field::display), matched.route.map(|(_, route)| route.path));
    tracing::info!(code, reason, description, client_id, employee, route, %reference, request_id, "refused");
}

/// Responds to a request that matches no route: with a page where a browser goes to an unknown address, else with an error.
fn unmatched(app: &App, matched: &MatchedRequest<'_>, request: &Request<Body>) -> Response {
    let path = request.uri().path();
    let error = unmatched_error(app, path, !matched.rows.is_empty());
    let is_page = request.method() == Method::GET && !["/api", "/assets"].iter().any(|root| is_below(path, root));
    let page = match error {
        ApiError::PathNotFound if is_page => pages::not_found(app, matched.language, request.headers()),
        _ => None,
    };
    page.unwrap_or_else(|| error.into_response())
}

/// The error for a request that matches no row of the table, or none with its method. With development mode off, all paths below
/// /api/dev get the same error, so that it does not reveal which of them exist.
fn unmatched_error(app: &App, path: &str, known: bool) -> ApiError {
    match known {
        _ if is_below(path, "/api/dev") && !app.settings.development.enabled => ApiError::DevelopmentOff,
        true => ApiError::MethodNotAllowed,
        false => ApiError::PathNotFound,
    }
}

/// Whether a path is this one or below it.
fn is_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("a handler panicked: {}", text.unwrap_or_default())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at the first surprise")]
mod tests;
