//! Requests to nodes that may be gone, and what is known about them afterwards.

use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use super::history::Outcome;
use crate::harness::{Client, Response, request};

/// How long a client waits. A service answers sooner, whatever is broken, unless it stands still.
const CALL_TIMEOUT: Duration = Duration::from_secs(6);

/// What came of a request.
#[derive(Debug)]
pub(super) enum Reply {
    /// There was no connection, so it never arrived.
    NotSent,
    /// It may have arrived; an answer did not come.
    Lost,
    Answer(Response),
}

impl Reply {
    pub(super) fn outcome(&self) -> Outcome {
        match self {
            Self::NotSent => Outcome::Refused,
            Self::Lost => Outcome::Unknown,
            Self::Answer(answer) => match answer.status {
                200 => Outcome::Done,
                500.. => Outcome::Unknown,
                _ => Outcome::Refused,
            },
        }
    }

    pub(super) fn status(&self) -> Option<u16> {
        if let Self::Answer(answer) = self { Some(answer.status) } else { None }
    }

    /// The payload of a success.
    pub(super) fn data(&self) -> Option<Value> {
        match self {
            Self::Answer(answer) if answer.status == 200 => Some(answer.data()),
            _ => None,
        }
    }

    /// The value of `#NAME=` in the address to which the answer redirects.
    pub(super) fn fragment(&self, name: &str) -> Option<String> {
        let Self::Answer(answer) = self else { return None };
        let (_, fragment) = answer.header("location")?.split_once('#')?;
        let mut pairs = url::form_urlencoded::parse(fragment.as_bytes());
        pairs.find(|(given, _)| given == name).map(|(_, value)| value.into_owned())
    }
}

/// Sends a request on a connection of its own.
pub(super) async fn send(address: &str, bytes: &[u8]) -> Reply {
    let Ok(Some(mut client)) = timeout(CALL_TIMEOUT, Client::try_connect(address)).await else {
        return Reply::NotSent;
    };
    match timeout(CALL_TIMEOUT, client.try_send(bytes)).await {
        Ok(Some(answer)) => Reply::Answer(answer),
        Ok(None) | Err(_) => Reply::Lost,
    }
}

/// A GET request of a client at this address.
pub(super) fn get(path: &str, from: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    request("GET", path, &[&[("x-forwarded-for", from)], headers].concat(), b"")
}

/// A POST request with JSON of a client at this address, with a token if it has one.
pub(super) fn post(path: &str, from: &str, token: Option<&str>, body: &Value) -> Vec<u8> {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![("x-forwarded-for", from), ("content-type", "application/json")];
    headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
    request("POST", path, &headers, body.to_string().as_bytes())
}
