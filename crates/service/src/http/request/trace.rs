//! What the lines of a request in the service log say about it: its reference, the caller's trace, and its employee or client once
//! known.

use std::sync::{Arc, OnceLock};

use deskpass_core::{EmployeeKey, Reference, TraceParent};
use hyper::HeaderMap;
use hyper::header::HeaderName;
use tracing::Span;
use tracing::field::Empty;

/// The header in which a caller names its trace.
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

/// The reference of a request, the caller's trace, and its employee or client once known. Clones are about the same request.
#[derive(Clone, Debug)]
pub(crate) struct RequestTrace {
    pub(crate) reference: Reference,
    /// The trace of the caller, if it sent one.
    pub(crate) parent: Option<TraceParent>,
    parties: Arc<Parties>,
}

/// Whom a request is about, once known.
#[derive(Debug, Default)]
struct Parties {
    employee: OnceLock<EmployeeKey>,
    client: OnceLock<String>,
}

impl RequestTrace {
    pub(crate) fn new(reference: Reference) -> Self {
        Self { reference, parent: None, parties: Arc::default() }
    }

    /// The trace of a request with these headers. A header that is sent twice names no trace.
    pub(crate) fn of_request(reference: Reference, headers: &HeaderMap) -> Self {
        let mut given = headers.get_all(TRACE_PARENT).iter();
        let parent = match (given.next(), given.next()) {
            (Some(header), None) => TraceParent::parse(header.as_bytes()),
            _ => None,
        };
        Self { parent, ..Self::new(reference) }
    }

    /// The span of the request: every line of it has the id of the trace. Without a trace there is no span.
    pub(crate) fn span(&self) -> Span {
        match &self.parent {
            Some(parent) => tracing::error_span!("request", trace_id = %parent.trace_id()),
            None => Span::none(),
        }
    }

    /// Records whom the request is about. The first word counts: it comes from the token.
    pub(crate) fn set_employee(&self, employee: &EmployeeKey) {
        // A later one is about the same request.
        let _ = self.parties.employee.set(employee.clone());
    }

    pub(crate) fn employee(&self) -> Option<&EmployeeKey> {
        self.parties.employee.get()
    }

    /// Records the OpenID Connect client that the request names. It exists: any other text may be a secret from the wrong field.
    pub(crate) fn set_client(&self, id: &str) {
        // A request names one client.
        let _ = self.parties.client.set(id.to_owned());
    }

    pub(crate) fn client(&self) -> Option<&str> {
        self.parties.client.get().map(String::as_str)
    }

    /// The span of a sign-in through the platform: every line of it, also of the platform's client, has this reference, and the
    /// employee from the moment the platform names them. It is of the highest level, so that no `log.level` takes it away.
    pub(crate) fn sign_in_span(&self, reference: Reference) -> Span {
        let trace_id = self.parent.as_ref().map(|parent| tracing::field::display(parent.trace_id()));
        // Not inside the span of the request: a line in JSON shows one span only.
        tracing::error_span!(parent: None, "sign_in", %reference, trace_id, employee = Empty)
    }
}
