//! A question that the phone of one person answers: to approve an operation, or to verify a caller.
//!
//! Every step is a function from the old state to the new state, and fails where the step does not fit. The store applies a step
//! atomically, so that exactly one of two concurrent steps wins.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::named_enum::named_enum;
use crate::{ClientInfo, Digest, EmployeeKey, MatchNumber, NumberMatch, Timestamp};

/// How long a question can be answered, and how long an approval can be used.
pub const QUESTION_LIFETIME: Duration = Duration::from_mins(2);

/// How long a caller counts as verified.
pub const VERIFIED_PERIOD: Duration = Duration::from_mins(10);

/// A question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhoneQuestion {
    /// What it is about.
    pub subject: QuestionSubject,
    /// The employee who asks.
    pub asker: EmployeeKey,
    /// What the phone shows about the employee who asks.
    pub shown: AskerPreview,
    /// The session that asks.
    pub session: Digest,
    /// The employee whose phone must answer.
    pub asked: EmployeeKey,
    /// The client that asks.
    pub origin: ClientInfo,
    /// The number on the screen, and the choices on the phone.
    pub numbers: NumberMatch,
    /// When it was asked.
    pub created_at: Timestamp,
    /// The end, in every stage.
    pub expires_at: Timestamp,
    /// The current stage.
    pub stage: QuestionStage,
}

/// What a question is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum QuestionSubject {
    /// An operation that the asker is about to make: the asker approves it on their own phone.
    Approval {
        /// The digest of method, path and body, as [`operation_digest`] makes it.
        operation: Digest,
        /// The method.
        method: String,
        /// The path, which has no query and no escapes.
        path: String,
        /// The whole body, as it is spelled. A phone shows the fields instead.
        body: String,
        /// The fields of the body, as the phone shows them.
        fields: Vec<ShownField>,
        /// What the operation does, in English and Chinese.
        summary: [String; 2],
    },
    /// Whether the employee is the caller on the telephone.
    Caller {
        /// The reason that the asker entered.
        reason: Option<String>,
    },
}

/// A field of an operation, as the phone shows it: what it means, not how it is spelled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownField {
    /// The name; below others, with dots between the names.
    pub name: String,
    /// The value. Invisible characters are spelled out.
    pub value: String,
}

/// What the phone shows about the employee who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskerPreview {
    /// The identifier as the corporation writes it.
    pub employee_id: String,
    /// Display name.
    pub name: String,
    /// The name of the department, or empty.
    pub department: String,
    /// The URL of a picture, or empty.
    pub avatar: String,
}

/// The stage of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum QuestionStage {
    /// Not answered.
    Open {
        /// The digest of the secret with which the phone answers, once the phone has opened the question. Opening it again replaces it.
        answer: Option<Digest>,
    },
    /// Answered with the right number.
    Accepted,
    /// Refused.
    Refused(QuestionRefusal),
    /// An approval that was used.
    Used,
}

named_enum! {
    /// How a question was refused.
    QuestionRefusal {
        /// The person refused.
        Refused => "refused",
        /// The person picked another number.
        WrongNumber => "wrong_number",
    }
}

named_enum! {
    /// The status that the asker sees.
    QuestionStatus {
        /// Not answered.
        Pending => "pending",
        /// Answered with the right number: approved, or verified.
        Accepted => "accepted",
        /// Refused.
        Refused => "refused",
        /// Over: not answered in time, or used.
        Expired => "expired",
    }
}

/// An error: the step does not fit the stage, the person or the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this question was answered, is about something else, or is over")]
pub struct InvalidAnswer;

impl PhoneQuestion {
    /// Records that the phone of a person opened the question. Only the phone that opened it last may answer.
    pub fn opened(self, by: &EmployeeKey, answer: Digest, now: Timestamp) -> Result<Self, InvalidAnswer> {
        match self.stage {
            QuestionStage::Open { .. } if *by == self.asked && !self.is_over(now) => {
                Ok(Self { stage: QuestionStage::Open { answer: Some(answer) }, ..self })
            }
            _ => Err(InvalidAnswer),
        }
    }

    /// Whether a phone can open the question now.
    #[must_use]
    pub fn may_open(&self, now: Timestamp) -> bool {
        matches!(self.stage, QuestionStage::Open { .. }) && !self.is_over(now)
    }

    /// Whether the phone with this secret may answer.
    #[must_use]
    pub fn may_answer(&self, answer: Digest, now: Timestamp) -> bool {
        self.stage == QuestionStage::Open { answer: Some(answer) } && !self.is_over(now)
    }

    /// Records the number that the phone picked. A wrong one refuses.
    pub fn answered(self, answer: Digest, picked: MatchNumber, now: Timestamp) -> Result<Self, InvalidAnswer> {
        if !self.may_answer(answer, now) {
            return Err(InvalidAnswer);
        }
        if !self.numbers.is_match(picked) {
            return Ok(Self { stage: QuestionStage::Refused(QuestionRefusal::WrongNumber), ..self });
        }
        // An approval ends when the question would have: it must be used at once.
        let expires_at = match self.subject {
            QuestionSubject::Approval { .. } => self.expires_at,
            QuestionSubject::Caller { .. } => now + VERIFIED_PERIOD,
        };
        Ok(Self { stage: QuestionStage::Accepted, expires_at, ..self })
    }

    /// Records the phone's refusal.
    pub fn refused(self, answer: Digest, now: Timestamp) -> Result<Self, InvalidAnswer> {
        if !self.may_answer(answer, now) {
            return Err(InvalidAnswer);
        }
        Ok(Self { stage: QuestionStage::Refused(QuestionRefusal::Refused), ..self })
    }

    /// Records that an approval is used by the session that asked, for the operation that was shown.
    pub fn used(self, session: Digest, operation: Digest, now: Timestamp) -> Result<Self, InvalidAnswer> {
        let is_same =
            matches!(self.subject, QuestionSubject::Approval { operation: approved, .. } if approved == operation);
        if self.stage == QuestionStage::Accepted && self.session == session && is_same && !self.is_over(now) {
            Ok(Self { stage: QuestionStage::Used, ..self })
        } else {
            Err(InvalidAnswer)
        }
    }

    /// The asker, if that is another employee than the asked one.
    #[must_use]
    pub fn other_asker(&self) -> Option<&EmployeeKey> {
        Some(&self.asker).filter(|asker| **asker != self.asked)
    }

    fn is_over(&self, now: Timestamp) -> bool {
        now >= self.expires_at
    }

    /// The status that the asker sees.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> QuestionStatus {
        match self.stage {
            QuestionStage::Used => QuestionStatus::Expired,
            _ if self.is_over(now) => QuestionStatus::Expired,
            QuestionStage::Open { .. } => QuestionStatus::Pending,
            QuestionStage::Accepted => QuestionStatus::Accepted,
            QuestionStage::Refused(_) => QuestionStatus::Refused,
        }
    }
}

/// The digest of an operation: method, path with query, and the bytes of the body.
#[must_use]
pub fn operation_digest(method: &str, path: &str, body: &[u8]) -> Digest {
    Digest::of(&[b"operation", method.as_bytes(), path.as_bytes(), body])
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
