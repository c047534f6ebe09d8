//! The kinds of questions.

use deskpass_core::{PhoneQuestion, QuestionSubject};
use deskpass_store::AuditEvent;
use serde::{Deserialize, Serialize};

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum QuestionKind {
    /// An operation that the asker is about to make.
    Approval,
    /// Whether the employee is the caller on the telephone.
    Caller,
}

impl QuestionKind {
    /// The kind of a question.
    #[must_use]
    pub const fn of(question: &PhoneQuestion) -> Self {
        match question.subject {
            QuestionSubject::Approval { .. } => Self::Approval,
            QuestionSubject::Caller { .. } => Self::Caller,
        }
    }

    /// The audit event of a question that is asked.
    pub(super) const fn asked_event(self) -> AuditEvent {
        match self {
            Self::Approval => AuditEvent::ApprovalAsked,
            Self::Caller => AuditEvent::CallerAsked,
        }
    }

    /// The audit event of an answer that accepts.
    pub(super) const fn accepted_event(self) -> AuditEvent {
        match self {
            Self::Approval => AuditEvent::ApprovalGiven,
            Self::Caller => AuditEvent::CallerVerified,
        }
    }

    /// The audit event of an answer that refuses.
    pub(super) const fn refused_event(self) -> AuditEvent {
        match self {
            Self::Approval => AuditEvent::ApprovalRefused,
            Self::Caller => AuditEvent::CallerRefused,
        }
    }
}
