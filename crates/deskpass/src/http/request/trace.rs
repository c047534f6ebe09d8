//! What the lines of a request in the service log say about it: its reference, and its employee once known.

use std::sync::{Arc, OnceLock};

use deskpass_core::{EmployeeKey, Reference};
use tracing::Span;
use tracing::field::Empty;

/// The reference of a request, and its employee once known. Clones are about the same request.
#[derive(Clone, Debug)]
pub(crate) struct RequestTrace {
    pub(crate) reference: Reference,
    employee: Arc<OnceLock<EmployeeKey>>,
}

impl RequestTrace {
    pub(crate) fn new(reference: Reference) -> Self {
        Self { reference, employee: Arc::default() }
    }

    /// Records whom the request is about. The first word counts: it comes from the token.
    pub(crate) fn set_employee(&self, employee: &EmployeeKey) {
        // A later one is about the same request.
        let _ = self.employee.set(employee.clone());
    }

    pub(crate) fn employee(&self) -> Option<&EmployeeKey> {
        self.employee.get()
    }
}

/// The span of a sign-in through the platform: every line of it, also of the platform's client, has the reference, and the
/// employee from the moment the platform names them. It is of the highest level, so that no `log.level` takes it away.
pub(crate) fn sign_in_span(reference: Reference) -> Span {
    tracing::error_span!("sign_in", %reference, employee = Empty)
}
