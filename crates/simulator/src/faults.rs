//! Fault injection.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::kind::Kind;
use crate::reply;

/// The maximum number of queued faults, and the maximum delay of a fault.
const MAX_FAULTS: usize = 100;
const MAX_DELAY_MILLIS: u64 = 600_000;

/// A fault of the next calls: first a delay, then no response or this response.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fault {
    /// The affected API; all APIs if `None`.
    api: Option<String>,
    /// The error that the platform reports.
    pub(crate) errcode: Option<FaultCode>,
    http_status: Option<u16>,
    body: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) delay_ms: u64,
    #[serde(default)]
    pub(crate) drop: bool,
    /// The number of calls that it still affects; zero means until it is removed.
    #[serde(default = "once")]
    times: u32,
}

fn once() -> u32 {
    1
}

/// An error code of a platform.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(untagged, expecting = "invalid type: errcode must be a number, or a word where the platform uses words")]
pub(crate) enum FaultCode {
    Number(i64),
    Word(String),
}

impl FaultCode {
    /// The number; a word counts as the platform's general failure.
    pub(crate) fn number(&self) -> i64 {
        match self {
            Self::Number(number) => *number,
            Self::Word(_) => -1,
        }
    }
}

impl Fault {
    /// Whether the fault replaces the response; otherwise it only delays the call.
    pub(crate) fn answers(&self) -> bool {
        self.errcode.is_some() || self.http_status.is_some() || self.body.is_some() || !self.headers.is_empty()
    }

    /// The faulty response; `refusal` is the platform's response with the error code.
    pub(crate) fn answer(&self, refusal: Option<Response<Bytes>>) -> Response<Bytes> {
        let status = self.status().unwrap_or(StatusCode::OK);
        let mut response = match (&self.body, refusal) {
            (Some(body), _) => reply::respond(status, reply::JSON, body.clone()),
            (None, Some(mut refusal)) => {
                *refusal.status_mut() = self.status().unwrap_or(refusal.status());
                refusal
            }
            // The response of a gateway when the platform behind it is down.
            (None, None) => reply::respond(status, reply::HTML, format!("<html><h1>{status}</h1></html>")),
        };
        for (name, value) in &self.headers {
            if let Ok((name, value)) = header(name, value) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }

    fn status(&self) -> Option<StatusCode> {
        // A status below 200 would not be a final response.
        self.http_status.and_then(|status| StatusCode::from_u16(status).ok()).filter(|status| status.as_u16() >= 200)
    }

    fn check(&self, kind: Kind, apis: &[&str]) -> Result<(), String> {
        if let Some(name) = self.api.as_deref().filter(|name| !apis.contains(name)) {
            return Err(format!("unknown api {name:?}, expected one of {}", apis.join(", ")));
        }
        if matches!(self.errcode, Some(FaultCode::Word(_))) && !kind.has_error_words() {
            return Err("invalid type: string, errcode must be a number on this platform".to_owned());
        }
        if self.http_status.is_some() && self.status().is_none() {
            return Err("http_status must be from 200 to 999".to_owned());
        }
        if self.delay_ms > MAX_DELAY_MILLIS {
            return Err(format!("delay_ms must be at most {MAX_DELAY_MILLIS}"));
        }
        if !self.answers() && !self.drop && self.delay_ms == 0 {
            return Err("the fault is empty: set errcode, http_status, body, headers, delay_ms or drop".to_owned());
        }
        self.headers.iter().try_for_each(|(name, value)| header(name, value).map(|_| ()))
    }
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let bad = || format!("headers: {name:?} cannot be sent");
    let (name, value) = (name.parse::<HeaderName>().map_err(|_| bad())?, value.parse().map_err(|_| bad())?);
    if [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING].contains(&name) {
        return Err(format!("headers: {name} is set by the server"));
    }
    Ok((name, value))
}

/// The queued faults.
#[derive(Debug, Default)]
pub(crate) struct Faults(VecDeque<Fault>);

impl Faults {
    /// Adds a fault of a platform with these APIs, or returns what is wrong with it.
    pub(crate) fn add(&mut self, fault: Fault, kind: Kind, apis: &[&str]) -> Result<(), String> {
        fault.check(kind, apis)?;
        if self.0.len() >= MAX_FAULTS {
            return Err(format!("{MAX_FAULTS} faults are already waiting"));
        }
        self.0.push_back(fault);
        Ok(())
    }

    /// Takes the first fault for this call.
    pub(crate) fn take(&mut self, api: &str) -> Option<Fault> {
        let at = self.0.iter().position(|fault| fault.api.as_deref().is_none_or(|wanted| wanted == api))?;
        let waiting = self.0.get_mut(at)?;
        let fault = waiting.clone();
        match waiting.times {
            0 => {}
            1 => drop(self.0.remove(at)),
            _ => waiting.times -= 1,
        }
        Some(fault)
    }

    pub(crate) fn show(&self) -> Value {
        json!({ "faults": self.0 })
    }
}
