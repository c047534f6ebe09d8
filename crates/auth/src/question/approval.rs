//! Approvals: the person who is about to make an operation approves it on their own phone. An approval is for exactly what the phone
//! showed, is used by the session that asked, and counts once.

use deskpass_core::{ClientInfo, Digest, Question, QuestionSubject, ScanId, Secret, is_invisible, operation_digest};
use deskpass_store::AuditEvent;

use super::{AskedQuestion, Draft, InvitationTexts};
use crate::audit::Attempt;
use crate::single_use::SingleUse;
use crate::{ActiveUser, Auth, Error, Refusal};

/// The maximum length of a body in bytes. What a phone does not show cannot be approved, so longer ones are not asked about.
pub const MAX_SHOWN_BODY: usize = 4_096;

/// How many approvals an employee may ask for per period.
const MAX_APPROVALS: u32 = 10;

/// An operation, as it will be sent.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The method.
    pub method: String,
    /// The path with the query.
    pub path: String,
    /// The exact body.
    pub body: Vec<u8>,
    /// What it does, in English and Chinese.
    pub summary: [String; 2],
}

impl Auth {
    /// Asks the caller on their own phone whether they are about to make this operation. Refused for people whom the platform
    /// cannot reach.
    pub async fn ask_approval(
        &self,
        caller: &ActiveUser,
        operation: Operation,
        visitor: &ClientInfo,
        link: impl Fn(&Secret<ScanId>) -> Option<String>,
        texts: InvitationTexts,
    ) -> Result<AskedQuestion, Error> {
        if !self.policy.questions.accepts_phone {
            return Err(Refusal::OtpNeeded.into());
        }
        let person = caller.0.person();
        if person.key.corp() != self.policy.home_corp.as_str() {
            return Err(Refusal::CannotAsk.into());
        }
        let detail = format!("{} {}", operation.method, shown(&operation.path));
        let subject = subject(operation)?;
        self.limit_questions(b"approval", &person.key, MAX_APPROVALS).await?;
        let (asked, recipient) = (person.key.clone(), person.employee_id.clone());
        self.ask_phone(caller, Draft { subject, asked, recipient, detail }, visitor, link, texts).await
    }

    /// Uses an approval up, right before its operation. Refused unless this session asked for it, the phone approved exactly this
    /// operation, and it was not used.
    pub async fn use_approval(
        &self,
        caller: &ActiveUser,
        id: &str,
        operation: Digest,
        visitor: &ClientInfo,
    ) -> Result<(), Error> {
        let used = self.use_approval_unaudited(caller, id, operation).await;
        self.audit_outcome(Attempt::in_session(caller.0.session(), AuditEvent::ApprovalRefused, visitor), used).await
    }

    async fn use_approval_unaudited(&self, caller: &ActiveUser, id: &str, operation: Digest) -> Result<(), Error> {
        if !self.policy.questions.accepts_phone {
            return Err(Refusal::OtpNeeded.into());
        }
        let id = Secret::<Question>::parse(id).map_err(|_| Refusal::ApprovalInvalid)?.digest();
        // A session that has ended uses nothing up. The transaction of the operation checks it again.
        self.store.check_author(caller.as_author(self.clock.now())).await?;
        let (now, session) = (self.question_time(), caller.0.digest());
        let used = self.shared.questions.update(&id, now, |question| question.used(session, operation, now)).await?;
        used.and_then(Result::ok).ok_or(Refusal::ApprovalInvalid)?;
        // The record in Redis may have been restored. After a failure here, the approval stays used.
        self.use_once(SingleUse::Approval, &id).await?.ok_or(Refusal::ApprovalInvalid)?;
        Ok(())
    }
}

fn subject(operation: Operation) -> Result<QuestionSubject, Refusal> {
    let digest = operation_digest(&operation.method, &operation.path, &operation.body);
    let Operation { method, path, body, summary } = operation;
    let body = String::from_utf8(body).ok().filter(|body| body.len() <= MAX_SHOWN_BODY).ok_or(Refusal::CannotAsk)?;
    Ok(QuestionSubject::Approval { operation: digest, method, path: shown(&path), body: shown(&body), summary })
}

/// A text in which characters that are invisible, or reorder others, are spelled out: what the phone shows is what is sent.
fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_invisible(character) && character != '\n' {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn operation(body: &[u8]) -> Operation {
        let summary = ["Do it".to_owned(), "执行".to_owned()];
        Operation { method: "POST".into(), path: "/api/admin/x?y".into(), body: body.to_vec(), summary }
    }

    #[test]
    fn a_phone_shows_all_of_a_body_and_nothing_that_hides() {
        let QuestionSubject::Approval { operation: digest, path, body, .. } =
            subject(operation("{\"a\": \"\u{202e}b\u{200b}\",\n\"c\": \"张\"}".as_bytes())).unwrap()
        else {
            unreachable!("an operation was to be approved")
        };
        assert_eq!(path, "/api/admin/x?y");
        assert_eq!(body, "{\"a\": \"\\u{202e}b\\u{200b}\",\n\"c\": \"张\"}");
        let sent = "{\"a\": \"\u{202e}b\u{200b}\",\n\"c\": \"张\"}";
        assert_eq!(digest, operation_digest("POST", "/api/admin/x?y", sent.as_bytes()), "of what is sent");
    }

    #[test]
    fn what_cannot_be_shown_is_not_asked_about() {
        assert!(subject(operation(&[b'x'; MAX_SHOWN_BODY])).is_ok());
        for body in [vec![b'x'; MAX_SHOWN_BODY + 1], vec![0xff]] {
            assert_eq!(subject(operation(&body)), Err(Refusal::CannotAsk));
        }
    }
}
