//! The least that could answer the same: axum with one handler for each route, which reads what the service reads and
//! answers the same bytes without looking anything up.

use std::io::{BufRead as _, Read as _};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use axum::http::{StatusCode, response::Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use crate::connection::Answer;
use crate::failed::Failed;

/// What to answer on each route.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Answers {
    pub(crate) verify: Template,
    pub(crate) me: Template,
}

/// An answer to be given again and again.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Template {
    headers: Vec<(String, String)>,
    body: String,
}

impl Template {
    /// The same answer, without what the server writes by itself.
    pub(crate) fn of(answer: Answer<'_>) -> Self {
        let own = |(name, _): &(&str, &str)| !["date", "content-length"].contains(name);
        let headers = answer.headers().filter(own).map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { headers: headers.collect(), body: String::from_utf8_lossy(answer.body()).into_owned() }
    }

    fn ready(self) -> Result<Ready, Failed> {
        // For the life of the process, as a handler would have them as constants; then a copy costs nothing.
        let mut headers = HeaderMap::new();
        for (name, value) in self.headers {
            headers.insert(HeaderName::from_bytes(name.as_bytes())?, HeaderValue::from_static(value.leak()));
        }
        Ok(Ready { headers, body: Bytes::from_static(self.body.leak().as_bytes()) })
    }
}

#[derive(Debug)]
struct Ready {
    headers: HeaderMap,
    body: Bytes,
}

impl Ready {
    fn answer(&self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.body.clone()));
        *response.headers_mut() = self.headers.clone();
        response
    }
}

/// The two answers, where every handler can see them.
#[derive(Clone, Copy, Debug)]
struct Table {
    verify: &'static Ready,
    me: &'static Ready,
}

#[derive(Debug, Deserialize)]
struct Verify {
    token: String,
}

async fn verify(State(table): State<Table>, Json(ask): Json<Verify>) -> Result<Response<Body>, StatusCode> {
    if ask.token.is_empty() { Err(StatusCode::BAD_REQUEST) } else { Ok(table.verify.answer()) }
}

async fn me(State(table): State<Table>, request: Request) -> Result<Response<Body>, StatusCode> {
    let token = request.headers().get(AUTHORIZATION).and_then(|header| header.to_str().ok()?.strip_prefix("Bearer "));
    if token.is_none() { Err(StatusCode::UNAUTHORIZED) } else { Ok(table.me.answer()) }
}

/// Reads the answers from standard input and gives them until that ends.
pub(crate) fn serve() -> Result<(), Failed> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let Answers { verify, me } = serde_json::from_str(&line)?;
    let table = Table { verify: Box::leak(Box::new(verify.ready()?)), me: Box::leak(Box::new(me.ready()?)) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(listen(table))
}

async fn listen(table: Table) -> Result<(), Failed> {
    let routes = Router::new().route("/api/auth/verify", post(verify)).route("/api/auth/me", get(me));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("the bare handler is ready at http://{}", listener.local_addr()?);
    // Whoever started us holds the other end: when it is gone, so are we.
    let alone = tokio::task::spawn_blocking(|| std::io::stdin().lock().read_to_end(&mut Vec::new()));
    tokio::select! {
        served = axum::serve(listener, routes.with_state(table)) => Ok(served?),
        _ = alone => Ok(()),
    }
}
