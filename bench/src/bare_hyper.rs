//! A second baseline: hyper alone, without a router and without extractors. It parses the same input as the bare handler and returns
//! the same bytes.

use std::convert::Infallible;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::bare_handler::{CannedResponse, CannedResponses, Verify, parent_exited, with_token};
use crate::error::BenchError;

/// Reads the responses from standard input and serves them until it is closed.
pub(crate) fn serve() -> Result<(), BenchError> {
    let table = CannedResponses::read()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(listen(table))
}

async fn listen(table: CannedResponses) -> Result<(), BenchError> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("bare hyper is ready at http://{}", listener.local_addr()?);
    tokio::select! {
        failed = accept(&listener, table) => failed,
        () = parent_exited() => Ok(()),
    }
}

/// Serves connections, each in its own task, until one cannot be accepted.
async fn accept(listener: &TcpListener, table: CannedResponses) -> Result<(), BenchError> {
    loop {
        let (stream, _) = listener.accept().await?;
        let service = service_fn(move |request| respond(table, request));
        // A connection that ends with an error is one whose client is gone.
        drop(tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service)));
    }
}

async fn respond(table: CannedResponses, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let answer = match (request.method(), request.uri().path()) {
        (&Method::POST, "/api/auth/verify") => verify(request, table.verify).await,
        (&Method::GET, "/api/auth/me") => with_token(request.headers(), table.me),
        _ => Err(StatusCode::NOT_FOUND),
    };
    Ok(answer.unwrap_or_else(|status| {
        let mut response = Response::default();
        *response.status_mut() = status;
        response
    }))
}

/// Reads the token in a JSON body.
async fn verify(request: Request<Incoming>, canned: &CannedResponse) -> Result<Response<Full<Bytes>>, StatusCode> {
    if request.headers().get(CONTENT_TYPE).is_none_or(|kind| kind != "application/json") {
        return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    let body = request.into_body().collect().await.map_err(|_| StatusCode::BAD_REQUEST)?.to_bytes();
    let ask: Verify = serde_json::from_slice(&body).map_err(|_| StatusCode::BAD_REQUEST)?;
    if ask.token.is_empty() { Err(StatusCode::BAD_REQUEST) } else { Ok(canned.answer()) }
}
