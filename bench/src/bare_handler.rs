//! The minimal baseline: axum with one handler for each route, which parses the same input as the service and returns the same
//! bytes without a lookup.

use std::io::{BufRead as _, Read as _};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use axum::http::{StatusCode, response::Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use crate::connection::HttpResponse;
use crate::error::BenchError;
use crate::requests::USERINFO;

/// The response on each route; `None` on routes that are not requested.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct ResponseTemplates {
    pub(crate) verify: ResponseTemplate,
    pub(crate) me: ResponseTemplate,
    pub(crate) userinfo: ResponseTemplate,
}

/// A response that is sent repeatedly.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct ResponseTemplate {
    headers: Vec<(String, String)>,
    body: String,
}

impl ResponseTemplate {
    /// Copies a response, without the headers that the server adds by itself.
    pub(crate) fn of(answer: HttpResponse<'_>) -> Self {
        let own = |(name, _): &(&str, &str)| !["date", "content-length"].contains(name);
        let headers = answer.headers().filter(own).map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { headers: headers.collect(), body: String::from_utf8_lossy(answer.body()).into_owned() }
    }

    fn ready(self) -> Result<&'static CannedResponse, BenchError> {
        // Leaked for the life of the process, as a handler would use constants; a copy then costs nothing.
        let mut headers = HeaderMap::new();
        for (name, value) in self.headers {
            headers.insert(HeaderName::from_bytes(name.as_bytes())?, HeaderValue::from_static(value.leak()));
        }
        Ok(Box::leak(Box::new(CannedResponse { headers, body: Bytes::from_static(self.body.leak().as_bytes()) })))
    }
}

/// A response that is ready to be sent.
#[derive(Debug)]
pub(crate) struct CannedResponse {
    headers: HeaderMap,
    body: Bytes,
}

impl CannedResponse {
    pub(crate) fn answer(&self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.body.clone()));
        *response.headers_mut() = self.headers.clone();
        response
    }
}

/// The responses, shared by all handlers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CannedResponses {
    pub(crate) verify: &'static CannedResponse,
    me: &'static CannedResponse,
    userinfo: &'static CannedResponse,
}

impl CannedResponses {
    /// Reads the responses from standard input.
    pub(crate) fn read() -> Result<Self, BenchError> {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line)?;
        let ResponseTemplates { verify, me, userinfo } = serde_json::from_str(&line)?;
        Ok(Self { verify: verify.ready()?, me: me.ready()?, userinfo: userinfo.ready()? })
    }
}

/// The body of a request to verify.
#[derive(Debug, Deserialize)]
pub(crate) struct Verify {
    pub(crate) token: String,
}

async fn verify(State(table): State<CannedResponses>, Json(ask): Json<Verify>) -> Result<Response<Body>, StatusCode> {
    if ask.token.is_empty() { Err(StatusCode::BAD_REQUEST) } else { Ok(table.verify.answer()) }
}

async fn me(State(table): State<CannedResponses>, request: Request) -> Result<Response<Body>, StatusCode> {
    with_token(request.headers(), table.me)
}

async fn userinfo(State(table): State<CannedResponses>, request: Request) -> Result<Response<Body>, StatusCode> {
    with_token(request.headers(), table.userinfo)
}

/// The response to a request with a token in its header.
fn with_token(headers: &HeaderMap, canned: &CannedResponse) -> Result<Response<Body>, StatusCode> {
    let token = headers.get(AUTHORIZATION).and_then(|header| header.to_str().ok()?.strip_prefix("Bearer "));
    if token.is_none() { Err(StatusCode::UNAUTHORIZED) } else { Ok(canned.answer()) }
}

/// Reads the responses from standard input and serves them until it is closed.
pub(crate) fn serve() -> Result<(), BenchError> {
    let table = CannedResponses::read()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(listen(table))
}

async fn listen(table: CannedResponses) -> Result<(), BenchError> {
    let routes = Router::new()
        .route("/api/auth/verify", post(verify))
        .route("/api/auth/me", get(me))
        .route(USERINFO, get(userinfo));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("the bare handler is ready at http://{}", listener.local_addr()?);
    tokio::select! {
        served = axum::serve(listener, routes.with_state(table)) => Ok(served?),
        () = parent_exited() => Ok(()),
    }
}

/// Completes when the parent process has exited, which holds the other end of standard input: then this process exits too.
pub(crate) async fn parent_exited() {
    let closed = tokio::task::spawn_blocking(|| std::io::stdin().lock().read_to_end(&mut Vec::new()));
    drop(closed.await);
}
