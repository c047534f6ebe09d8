//! What the help desk's back end is told about callers, so that a ticket can show whether its caller was verified.

use deskpass_core::{Digest, EmployeeKey, TraceParent};
use futures_util::FutureExt as _;
use serde::Serialize;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::hexadecimal::hexadecimal;
use super::{App, DELIVERY_TIMEOUT, PayloadEmployee, ReplyBackend, ReplyDelivery, ReplyError};
use crate::timestamp::Rfc3339;

/// The bytes of an id.
const ID_BYTES: usize = 16;

/// An employee with the identifier as the corporation writes it, and the name.
type NamedEmployee = (EmployeeKey, String, String);

/// A verification that was answered.
#[derive(Debug)]
pub(crate) struct AnsweredVerification {
    /// The id that the agent's client and the back end know.
    pub(crate) verification: String,
    /// The employee who was asked.
    pub(crate) employee: NamedEmployee,
    /// The employee of IT who asked.
    pub(crate) agent: NamedEmployee,
}

/// The body of a request to the back end.
#[derive(Serialize)]
struct VerificationPayload<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    verification: &'a str,
    status: &'static str,
    employee: PayloadEmployee<'a>,
    agent: PayloadEmployee<'a>,
    at: Rfc3339,
}

/// The id of a verification for the agent's client and the back end. It opens nothing, unlike the id of the question.
pub(crate) fn verification_id(question: &Digest) -> String {
    let id = Digest::of(&[b"deskpass verification", question.bytes()]);
    hexadecimal(id.bytes().iter().take(ID_BYTES))
}

impl App {
    /// Tells the back end, if there is one, what an employee answered. Neither the employee nor the agent waits for it.
    pub(crate) fn tell_verification(
        &self,
        answered: AnsweredVerification,
        status: &'static str,
        trace: Option<TraceParent>,
    ) {
        let Some(backend) = self.reply_backend.clone() else { return };
        let delivery = ReplyDelivery { trace, ..self.verification_delivery(&answered, status) };
        let app = self.clone();
        let telling = async move { app.deliver_verification(&backend, &delivery, &answered.verification).await };
        tokio::spawn(telling.in_current_span().boxed());
    }

    fn verification_delivery(&self, answered: &AnsweredVerification, status: &'static str) -> ReplyDelivery {
        let AnsweredVerification { verification, employee, agent } = answered;
        // A verification is answered once, so its message has one id, however often it arrives.
        let id = Digest::of(&[b"deskpass verification answered", verification.as_bytes()]);
        let id = hexadecimal(id.bytes().iter().take(ID_BYTES));
        let at = Rfc3339(self.auth.clock.now());
        let payload = VerificationPayload {
            id: &id,
            kind: "caller_verification",
            verification,
            status,
            employee: payload_employee(employee),
            agent: payload_employee(agent),
            at,
        };
        // Every member is a text, so it can be written.
        let body = serde_json::to_string(&payload).unwrap_or_default();
        ReplyDelivery { id, body, trace: None }
    }

    async fn deliver_verification(&self, backend: &ReplyBackend, delivery: &ReplyDelivery, verification: &str) {
        match self.send_verification(backend, delivery).await {
            Ok(()) => tracing::info!(verification, delivery = delivery.id, "caller verification delivered"),
            Err(error) => {
                tracing::warn!(verification, ?error, "caller verification not delivered to messages.reply_url");
            }
        }
    }

    async fn send_verification(&self, backend: &ReplyBackend, delivery: &ReplyDelivery) -> Result<(), ReplyError> {
        let _permit = backend.verification_permits.try_acquire().map_err(|_| ReplyError::TooMany)?;
        let deadline = Instant::now() + DELIVERY_TIMEOUT;
        let mut attempt = 1;
        while let Err(error) = backend.post(delivery, self.auth.clock.now(), deadline).await {
            error.wait_to_retry(attempt, deadline).await?;
            attempt += 1;
        }
        Ok(())
    }
}

fn payload_employee((key, employee_id, name): &NamedEmployee) -> PayloadEmployee<'_> {
    PayloadEmployee { corp_id: key.corp(), employee_id, name }
}
