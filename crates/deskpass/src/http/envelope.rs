//! The one shape of every answer under /api.

use axum::response::{IntoResponse, Response};
use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;

use super::failure::{Failure, Telling};

/// A successful answer: what it carries, before it is put into its envelope.
#[derive(Debug)]
pub(crate) struct Reply<T>(pub(crate) T);

/// What a handler ended in. It travels to the top of the floor, where language and request id are known.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Data(Bytes),
    Failure(Failure),
}

impl<T: Serialize> IntoResponse for Reply<T> {
    fn into_response(self) -> Response {
        let mut data = BytesMut::with_capacity(256).writer();
        match serde_json::to_writer(&mut data, &self.0) {
            Ok(()) => Outcome::Data(data.into_inner().freeze()).into_response(),
            Err(error) => Failure::unexpected(&error).into_response(),
        }
    }
}

impl IntoResponse for Outcome {
    fn into_response(self) -> Response {
        let mut response = Response::default();
        response.extensions_mut().insert(self);
        response
    }
}

/// The envelope of a success.
pub(super) fn success(data: &[u8], request_id: &str) -> Bytes {
    const HEAD: &[u8] = b"{\"code\":0,\"message\":\"ok\",\"data\":";
    let mut body = BytesMut::with_capacity(HEAD.len() + data.len() + request_id.len() + 20);
    body.put_slice(HEAD);
    body.put_slice(data);
    // A request id has no character that JSON would quote.
    body.put_slice(b",\"request_id\":\"");
    body.put_slice(request_id.as_bytes());
    body.put_slice(b"\"}");
    body.freeze()
}

/// The envelope of a failure.
pub(super) fn failure(telling: &Telling, request_id: &str) -> Bytes {
    #[derive(Serialize)]
    struct Envelope<'a> {
        code: u16,
        message: &'a str,
        data: &'a serde_json::Value,
        request_id: &'a str,
    }
    let Telling { code, message, data, .. } = telling;
    let envelope = Envelope { code: *code, message, data, request_id };
    serde_json::to_vec(&envelope).map(Bytes::from).unwrap_or_default()
}
